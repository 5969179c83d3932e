"""Where the time of a LIBERO control step goes, without cameras: stock and exact stepping under Python's profiler.

Each stepping plays the same random actions in a process of its own.  Own time is summed by who spends it; shares are of
the whole step.  The profiler slows Python code and leaves C code as it is, so shares of Python are too large here.
Functions that numba compiled are invisible to it: the controller's count for whoever calls them.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
from collections import Counter

import numpy as np

from .machine import machine, write

STEPPINGS = ("stock", "exact")
WARM_UP, STEPS = 5, 100
PARTS = {
    "MuJoCo's own functions": ("mj_",),
    "robosuite's controller": (
        "robosuite/controllers",
        "control_utils",
        "transform_utils",
        "_modern_controller_update",
    ),
    "robosuite's observables": ("observables", "_get_observations"),
    "looking names and fields up": ("binding_utils",),
    "the rest of robosuite and LIBERO": ("robosuite/", "libero/libero"),
    "thinktwice's stepper, with the controller": ("envs/libero",),
    "numpy": ("numpy",),
}
"""What a function belongs to: the first part with a word that stands in its file or name."""
OTHER = "Python itself"


def profile(stepping: str, task: str) -> dict[str, float]:
    """Seconds of own time by part, over ``STEPS`` control steps."""
    from thinktwice.envs.libero.env import LiberoEnv

    env = LiberoEnv(task=task, cameras=(), stepping=stepping)
    env.reset(seed=0, options={"init_state": 0})
    moves = np.random.default_rng(0).uniform(-1, 1, (WARM_UP + STEPS, 7)).astype(np.float32)
    for move in moves[:WARM_UP]:
        env.step_blind(move)
    profiler = cProfile.Profile()
    profiler.enable()
    for move in moves[WARM_UP:]:
        env.step_blind(move)
    profiler.disable()
    env.close()
    spent: Counter[str] = Counter()
    for (file, _, function), (_, _, own, _, _) in pstats.Stats(profiler).stats.items():
        spent[part_of(f"{file} {function}")] += own
    return dict(spent)


def part_of(place: str) -> str:
    """The part that a function's file and name belong to."""
    return next((part for part, words in PARTS.items() if any(word in place for word in words)), OTHER)


def main() -> None:
    """Profile both steppings on one task, print the shares and write them as JSON."""
    before, task = machine(), "libero_object/0"
    found: dict[str, dict[str, float]] = {}
    for stepping in STEPPINGS:
        command = [sys.executable, "-m", "benchmarks.step_profile", stepping, task]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[stepping] = json.loads(done.stdout.splitlines()[-1])
    stock = sum(found["stock"].values())
    sys.stdout.write(f"{task}, {STEPS} steps; share of the stock step's time\n{'':<42}{'stock':>8}{'exact':>8}\n")
    for part in (*PARTS, OTHER):
        shares = "".join(f"{100 * found[stepping].get(part, 0.0) / stock:>7.1f}%" for stepping in STEPPINGS)
        sys.stdout.write(f"{part:<42}{shares}\n")
    whole = "".join(f"{100 * sum(found[stepping].values()) / stock:>7.1f}%" for stepping in STEPPINGS)
    sys.stdout.write(f"{'together':<42}{whole}\n")
    path = write("step_profile", {"machine": before, "task": task, "steps": STEPS, "seconds": found})
    sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("stepping", choices=STEPPINGS)
    parser.add_argument("task")
    given = parser.parse_args()
    sys.stdout.write(json.dumps(profile(given.stepping, given.task)) + "\n")
