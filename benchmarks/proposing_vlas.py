"""The time of N candidates of π0.5 and SmolVLA: one shared prefix, separate calls, copies of the observation.

LeRobot's real classes at their published sizes with random weights (time does not depend on them), in bfloat16 on
``DEVICE=cuda``.  The goal there: 16 candidates in at most 1.5 times one.  ``SIZE=tiny DEVICE=cpu`` tries the script
itself in seconds, and its times say nothing.  ``KINDS=pi05,smolvla`` chooses.
"""

from __future__ import annotations

import os
import sys
from typing import Any, cast

import torch

from thinktwice.agents.policies.lerobot_samplers import SeededSampler, make_sampler
from thinktwice.agents.policies.random_vlas import Kind, Size, build_random_vla, random_observation

from .machine import machine, write
from .proposing import measured


def replicated(policy: Any, seen: dict[str, Any], n: int) -> None:
    """What a policy without shared prefixes does in one batch: N copies of the observation."""
    policy.reset()
    with torch.inference_mode():
        policy.predict_action_chunk({key: value.repeat_interleave(n, 0) for key, value in seen.items()})


def rows_of(policy: Any, seen: dict[str, Any]) -> dict[str, Any]:
    """Each way of drawing N candidates, with its time against the shared prefix's one."""
    shared, separate = make_sampler(policy), SeededSampler(policy, queued=False)
    rows: dict[str, Any] = {}
    for n in (1, 2, 16):
        rows[f"shared prefix, N={n}"] = measured(lambda n=n: shared.sample(seen, n, seed=0))
    for n in (2, 16):
        rows[f"separate calls, N={n}"] = measured(lambda n=n: separate.sample(seen, n, seed=0))
        rows[f"replicated observations, N={n}"] = measured(lambda n=n: replicated(policy, seen, n))
    one = rows["shared prefix, N=1"]["median_ms"]
    for row in rows.values():
        row["times_one"] = round(row["median_ms"] / one, 2)
    return rows


def split(policy: Any, seen: dict[str, Any], n: int) -> dict[str, float]:
    """Prefix and denoising of N candidates, ms: what ten Euler steps take beyond one, and what is left."""
    name = "num_steps" if hasattr(policy.config, "num_steps") else "num_inference_steps"
    spent: dict[int, float] = {}
    for steps in (1, 10):
        setattr(policy.config, name, steps)
        sampler = make_sampler(policy)
        spent[steps] = measured(lambda s=sampler: s.sample(seen, n, seed=0))["median_ms"]
    step = (spent[10] - spent[1]) / 9
    return {"prefix_ms": round(spent[1] - step, 2), "denoising_step_ms": round(step, 2)}


def main() -> None:
    """Measure and write the table."""
    size, device = cast("Size", os.environ.get("SIZE", "full")), os.environ.get("DEVICE", "cuda")
    kinds = os.environ.get("KINDS", "pi05,smolvla").split(",")
    results: dict[str, Any] = {"machine": machine(), "torch": torch.__version__, "device": device, "size": size}
    if device == "cuda":
        results["gpu"] = torch.cuda.get_device_name()
    for kind in kinds:
        policy = build_random_vla(cast("Kind", kind), size, device=device, bfloat16=device == "cuda")
        seen = random_observation(policy)
        rows = rows_of(policy, seen)
        results[kind] = {"rows": rows, "split": {f"N={n}": split(policy, seen, n) for n in (1, 16)}}
        if device == "cuda":
            results[kind]["peak_memory_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        for name, row in rows.items():
            sys.stdout.write(f"{kind:<8} {name:<32} {row['median_ms']:>8.1f} ms  {row['times_one']:>6.2f} x\n")
        write("proposing_vlas", results)  # each family as it ends: a lent machine may be taken back
        del policy


if __name__ == "__main__":
    main()
