"""Rooms beside MiniWorld: CPU milliseconds per step, with RGB, depth and ids here and RGB alone there.

    python -m benchmarks.rooms_speed

MiniWorld (``pip install miniworld``) is left out where it is not installed.
"""

from __future__ import annotations

import os

os.environ.setdefault("LP_NUM_THREADS", "1")
os.environ.setdefault("MUJOCO_GL", "egl")

import dataclasses
import importlib.util
import json
import sys
import time
from typing import Any

import numpy as np
import tyro

from thinktwice.envs.rooms.env import RoomsEnv


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the benchmark."""

    steps: int = 300
    """Steps per house."""
    houses: int = 6
    """Houses per size, two of each difficulty."""


def drive(env: Any, steps: int, actions: list[int], seed: int) -> tuple[float, float]:
    """CPU and wall seconds of a seeded random drive."""
    rng = np.random.default_rng(seed)
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(steps):
        env.step(int(rng.choice(actions)))
    return time.process_time() - cpu, time.perf_counter() - wall


def rooms(size: int, options: Options) -> dict[str, float]:
    """Milliseconds per step of the rooms, and of a reset."""
    env = RoomsEnv(size=size, max_steps=10**9)
    cpu = wall = resets = 0.0
    for index in range(options.houses):
        task = f"val/{('easy', 'medium', 'hard')[index % 3]}"
        began = time.process_time()
        env.reset(seed=index, options={"task": task, "init_state": index})
        resets += time.process_time() - began
        spent = drive(env, options.steps, [1, 1, 1, 2, 3, 4, 5], index)
        cpu, wall = cpu + spent[0], wall + spent[1]
    env.close()
    steps = options.steps * options.houses
    return {
        "cpu_ms": 1e3 * cpu / steps,
        "steps_per_cpu_second": steps / cpu,
        "steps_per_second": steps / wall,
        "reset_cpu_s": resets / options.houses,
    }


def miniworld(size: int, options: Options) -> dict[str, float] | None:
    """The same of MiniWorld's FourRooms, RGB alone; None where it is not installed."""
    if importlib.util.find_spec("miniworld") is None:
        return None
    import gymnasium as gym

    importlib.import_module("miniworld")
    env = gym.make("MiniWorld-FourRooms-v0", obs_width=size, obs_height=size, max_episode_steps=10**9)
    env.reset(seed=0)
    cpu, wall = drive(env, options.steps * 2, [0, 1, 2, 2, 2], 0)
    env.close()
    steps = options.steps * 2
    return {"cpu_ms": 1e3 * cpu / steps, "steps_per_cpu_second": steps / cpu, "steps_per_second": steps / wall}


def main() -> None:
    """Measure both at 256 and 128 pixels."""
    options = tyro.cli(Options, description=__doc__)
    result = {
        f"{name}_{size}": measure(size, options)
        for size in (256, 128)
        for name, measure in (("rooms", rooms), ("miniworld", miniworld))
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
