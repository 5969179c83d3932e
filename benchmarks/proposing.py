"""The time of N candidates: one shared prefix, against N separate calls and against N copies of the observation.

It measures the bundled policy, or the checkpoint that ``POLICY=FOLDER`` names, on one CPU thread or on ``DEVICE=cuda``.
The goal: 16 candidates in at most 3 times one.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from thinktwice.agents.policies.bundled import BundledPolicy, build_bundled
from thinktwice.envs import derive_seed

from .machine import machine, write

REPEATS = 30
PIXELS = 96
CAMERAS = ("agentview", "wrist")


def observation() -> dict[str, Any]:
    """One look at nothing."""
    random = np.random.default_rng(0)
    images = {f"images.{name}": random.integers(0, 255, (PIXELS, PIXELS, 3), np.uint8) for name in CAMERAS}
    return {**images, "state": np.zeros(8, np.float32), "task": "pick up the milk and place it in the basket"}


def replicated(policy: BundledPolicy, seen: dict[str, Any], n: int) -> None:
    """What a policy without shared prefixes does in one batch: N copies of the observation, LeRobot's own call."""
    checkpoint: Any = policy._checkpoint
    one = checkpoint.preprocessor(policy._batch(seen))
    copies = {key: value.repeat_interleave(n, 0) for key, value in one.items() if isinstance(value, torch.Tensor)}
    noise = torch.randn(n, 16, 7, device=checkpoint.device)
    with torch.inference_mode():
        summaries = checkpoint.policy.network.encode_batch(copies).summary
        chunks = noise
        for step in range(policy.steps):
            times = torch.full((n,), 1 - step / policy.steps, device=checkpoint.device)
            chunks = chunks - checkpoint.policy.network.velocity(chunks, times, summaries) / policy.steps
        checkpoint.postprocessor(chunks)


def measured(action: Callable[[], Any]) -> dict[str, float]:
    """Median, 5th and 95th percentile, milliseconds."""
    for _ in range(3):
        action()
    spent: list[float] = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        action()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        spent.append(1e3 * (time.perf_counter() - began))
    low, high = np.percentile(spent, [5, 95])
    return {"median_ms": round(statistics.median(spent), 2), "p5_ms": round(low, 2), "p95_ms": round(high, 2)}


def main() -> None:
    """Measure and write the table."""
    device, threads = os.environ.get("DEVICE", "cpu"), int(os.environ.get("THREADS", "1"))
    torch.set_num_threads(threads)
    policy = build_bundled(f"{os.environ.get('POLICY', '')}?device={device}", gym.Env())
    seen, rows = observation(), dict[str, Any]()
    for n in (1, 2, 16):
        rows[f"shared prefix, N={n}"] = measured(lambda n=n: policy.propose(seen, n, seed=0))
        stages = [policy.propose(seen, n, seed=0).cost.seconds for _ in range(REPEATS)]
        split = {stage: round(1e3 * statistics.median(cost[stage] for cost in stages), 2) for stage in stages[0]}
        rows[f"shared prefix, N={n}"]["stages_ms"] = split
    pair = policy.propose(seen, 2, seed=0)
    rows["extend 2 to 16"] = measured(lambda: policy.extend(pair, 16, seed=0))
    for n in (2, 16):
        calls = [derive_seed(0, index) for index in range(n)]
        rows[f"separate calls, N={n}"] = measured(lambda c=calls: [policy.propose(seen, 1, seed=seed) for seed in c])
        rows[f"replicated observations, N={n}"] = measured(lambda n=n: replicated(policy, seen, n))
    one = rows["shared prefix, N=1"]["median_ms"]
    for name, row in rows.items():
        row["times_one"] = round(row["median_ms"] / one, 2)
        sys.stdout.write(f"{name:<32} {row['median_ms']:>8.1f} ms  {row['times_one']:>6.2f} x\n")
    path = write(
        "proposing",
        {"machine": machine(), "torch": torch.__version__, "device": device, "threads": threads, "rows": rows},
    )
    sys.stdout.write(f"16 candidates take {rows['shared prefix, N=16']['times_one']} times one. Wrote {path}\n")


if __name__ == "__main__":
    main()
