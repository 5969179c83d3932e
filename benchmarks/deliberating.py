"""The time of one VLA-ATTC decision: what a clutch costs while it stays closed, and what every selector costs.

The policy and the critic are the bundled ones, on one CPU thread or on ``DEVICE=cuda``.  Every row is a whole
``AttcAgent.act``; ``times_reflex`` is its median against the plain reflex's.  The goal: a decision with a clutch, at a
fifth of them deliberating, takes at most 1.3 times a reflex.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch

from thinktwice.agents.attc import AttcAgent, AttcOptions, build_attc
from thinktwice.envs.libero.conventions import libero_conventions

from .machine import machine, write
from .proposing import CAMERAS, PIXELS, REPEATS, measured, observation

ROWS: Mapping[str, dict[str, Any]] = {
    "reflex": {"gate": "never"},
    "dtw, closed": {"gate": "dtw", "observe": True},
    "temporal, closed": {"gate": "temporal", "observe": True},
    "velocity, closed": {"gate": "velocity", "observe": True},
    "critic, closed": {"gate": "critic", "observe": True, "critic": "bundled"},
    "dtw, open, medoid of 16": {"gate": "dtw", "threshold": -1.0, "selector": "medoid"},
    "dtw, open, copeland of 16": {"gate": "dtw", "threshold": -1.0, "selector": "copeland", "critic": "bundled"},
    "critic, open, copeland of 16": {"gate": "critic", "threshold": -1.0, "selector": "copeland", "critic": "bundled"},
    "dtw, open, knockout of 16": {"gate": "dtw", "threshold": -1.0, "selector": "knockout", "critic": "bundled"},
    "dtw, open, medoid-veto of 16": {"gate": "dtw", "threshold": -1.0, "selector": "medoid-veto", "critic": "bundled"},
}
RATE = 0.2
"""The share of decisions that deliberates, for a clutch's mean: the 80th percentile of doubt."""


class Look(gym.Env[Any, Any]):
    """What the agent's builder reads of a LIBERO environment."""

    conventions = libero_conventions(CAMERAS, height=PIXELS, width=PIXELS, rendering="fast")


def agent(device: str, row: Mapping[str, Any]) -> AttcAgent:
    """The agent of one row."""
    return build_attc(AttcOptions(policy=f"bundled:?device={device}", execute=8, **row), Look())


def main() -> None:
    """Measure and write the table."""
    device, threads = os.environ.get("DEVICE", "cpu"), int(os.environ.get("THREADS", "1"))
    torch.set_num_threads(threads)
    seen, rows = observation(), dict[str, Any]()
    for name, settings in ROWS.items():
        acting = agent(device, settings)
        acting.reset(seed=0)
        rows[name] = measured(lambda acting=acting: acting.act(seen))
        stages = [acting.act(seen).cost.seconds for _ in range(REPEATS)]
        rows[name]["stages_ms"] = {
            stage: round(1e3 * sum(cost[stage] for cost in stages) / len(stages), 3) for stage in stages[0]
        }
    reflex = rows["reflex"]["median_ms"]
    for name, row in rows.items():
        row["times_reflex"] = round(row["median_ms"] / reflex, 3)
        sys.stdout.write(f"{name:<30} {row['median_ms']:>8.2f} ms  {row['times_reflex']:>6.2f} x\n")
    means: dict[str, float] = {}
    for gate in ("dtw", "critic"):
        closed, opened = rows[f"{gate}, closed"]["median_ms"], rows[f"{gate}, open, copeland of 16"]["median_ms"]
        means[gate] = round(((1 - RATE) * closed + RATE * opened) / reflex, 3)
        sys.stdout.write(f"the {gate} clutch at {RATE:.0%} takes {means[gate]} times a reflex\n")
    results = {
        "machine": machine(),
        "torch": torch.__version__,
        "device": device,
        "threads": threads,
        "rows": rows,
        "clutch_times_reflex": {"rate": RATE, "mean": means},
    }
    sys.stdout.write(f"wrote {write('deliberating', results)}\n")


if __name__ == "__main__":
    main()
