"""The time of one VLA-ATTC decision: what the clutch costs while it stays closed, and what every selector costs.

The policy and the critic have their full sizes and random weights (time does not depend on them), on one CPU thread or
on ``DEVICE=cuda``.  Every row is a whole ``AttcAgent.act``; ``times_reflex`` is its median against the plain reflex's.
The goal: a decision with the clutch, at a fifth of them deliberating, takes at most 1.3 times a reflex.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch

from thinktwice.agents.attc import AttcAgent, AttcOptions, build_attc
from thinktwice.agents.policies.bundled import build_bundled
from thinktwice.critics import Binding, CriticSpec, Feature, save_critic
from thinktwice.critics.network import CriticNetwork
from thinktwice.envs.libero.conventions import libero_conventions

from .machine import machine, write
from .proposing import CAMERAS, PIXELS, REPEATS, measured, observation, random_checkpoint

ROWS: Mapping[str, dict[str, Any]] = {
    "reflex": {"gate": "never"},
    "dtw, closed": {"gate": "dtw", "observe": True},
    "temporal, closed": {"gate": "temporal", "observe": True},
    "velocity, closed": {"gate": "velocity", "observe": True},
    "dtw, open, medoid of 16": {"gate": "dtw", "threshold": -1.0, "selector": "medoid"},
    "dtw, open, copeland of 16": {"gate": "dtw", "threshold": -1.0, "selector": "copeland"},
    "dtw, open, knockout of 16": {"gate": "dtw", "threshold": -1.0, "selector": "knockout"},
    "dtw, open, medoid-veto of 16": {"gate": "dtw", "threshold": -1.0, "selector": "medoid-veto"},
}
RATE = 0.2
"""The share of decisions that deliberates, for the clutch's mean: the 80th percentile of doubt."""


class Look(gym.Env[Any, Any]):
    """What the agent's builder reads of a LIBERO environment."""

    conventions = libero_conventions(CAMERAS, height=PIXELS, width=PIXELS, rendering="fast")


def random_critic(folder: Path, checkpoint: Path) -> None:
    """A full-size Relative Action Critic with random weights, for the policy in a folder."""
    policy = build_bundled(f"{checkpoint}?device=cpu", gym.Env())
    features = policy.propose(observation(), 1, seed=0).features
    seen = (
        Feature(name="summary", kind="vector", shape=features["summary"].shape),
        Feature(name="tokens", kind="tokens", shape=features["tokens"].shape),
    )
    spec = CriticSpec(kind="relative", chunk=16, action=7, state=8, features=seen, horizon=16)
    described = policy.describe()
    save_critic(
        CriticNetwork(spec), folder, binding=Binding(policy_sha256=described["sha256"], policy=described["policy"])
    )


def agent(checkpoint: Path, critic: Path, device: str, row: Mapping[str, Any]) -> AttcAgent:
    """The agent of one row."""
    judged = row.get("selector") in ("copeland", "knockout", "medoid-veto")
    options = AttcOptions(
        policy=f"bundled:{checkpoint}?device={device}", execute=8, critic=str(critic) if judged else None, **row
    )
    return build_attc(options, Look())


def main() -> None:
    """Measure and write the table."""
    device, threads = os.environ.get("DEVICE", "cpu"), int(os.environ.get("THREADS", "1"))
    torch.set_num_threads(threads)
    seen, rows = observation(), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, critic = Path(folder, "policy"), Path(folder, "critic")
        checkpoint.mkdir()
        random_checkpoint(checkpoint)
        random_critic(critic, checkpoint)
        for name, settings in ROWS.items():
            acting = agent(checkpoint, critic, device, settings)
            acting.reset(seed=0)
            rows[name] = measured(lambda acting=acting: acting.act(seen))
            stages = [acting.act(seen).cost.seconds for _ in range(REPEATS)]
            rows[name]["stages_ms"] = {
                stage: round(1e3 * sum(cost[stage] for cost in stages) / len(stages), 3) for stage in stages[0]
            }
    for name, row in rows.items():
        row["times_reflex"] = round(row["median_ms"] / rows["reflex"]["median_ms"], 3)
        sys.stdout.write(f"{name:<30} {row['median_ms']:>8.2f} ms  {row['times_reflex']:>6.2f} x\n")
    closed, opened = rows["dtw, closed"]["median_ms"], rows["dtw, open, copeland of 16"]["median_ms"]
    mean = round(((1 - RATE) * closed + RATE * opened) / rows["reflex"]["median_ms"], 3)
    results = {
        "machine": machine(),
        "torch": torch.__version__,
        "device": device,
        "threads": threads,
        "rows": rows,
        "clutch_times_reflex": {"rate": RATE, "mean": mean},
    }
    path = write("deliberating", results)
    sys.stdout.write(f"the clutch at {RATE:.0%} takes {mean} times a reflex. Wrote {path}\n")


if __name__ == "__main__":
    main()
