"""LIBERO beside LIBERO: control steps per second, reset seconds and memory, with and without two 128-pixel cameras.

Each variant runs in a process of its own, all in one run and by turns, ``ROUNDS`` times (3); the table has medians.
``libero`` is LIBERO's own `OffScreenRenderEnv` with its defaults, ``libero-blind`` its `ControlEnv` without cameras.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .machine import machine, resident_mib, write

TASKS = ("libero_object/0", "libero_spatial/0", "libero_10/0")
VARIANTS = ("libero-blind", "blind", "libero", "faithful", "fast")
BASELINE = {"blind": "libero-blind", "faithful": "libero", "fast": "libero"}
ROUNDS = int(os.environ.get("ROUNDS", "3"))
RESETS, WARM_UP, STEPS, PIXELS = 3, 5, 40, 128


def measure(variant: str, task: str) -> dict[str, float]:
    """Build one environment, reset and step it."""
    began = time.perf_counter()
    reset, step = _libero(variant, task) if variant.startswith("libero") else _ours(variant, task)
    reset()
    first = time.perf_counter() - began
    resets = [_seconds(reset) for _ in range(RESETS)]
    moves = np.random.default_rng(0).uniform(-1, 1, (WARM_UP + STEPS, 7)).astype(np.float32)
    for move in moves[:WARM_UP]:
        step(move)
    began, cpu = time.perf_counter(), time.process_time()
    for move in moves[WARM_UP:]:
        step(move)
    return {
        "steps_per_second": STEPS / (time.perf_counter() - began),
        "cpu_ms_per_step": 1000 * (time.process_time() - cpu) / STEPS,
        "build_and_first_reset_seconds": first,
        "reset_seconds": statistics.median(resets),
        "resident_mib": resident_mib(),
    }


def measured_apart(variant: str, task: str) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.libero_env", variant, task]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _ours(variant: str, task: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    from thinktwice.envs.libero.env import LiberoEnv

    cameras = () if variant == "blind" else ("agentview", "wrist")
    rendering = "faithful" if variant == "faithful" else "fast"
    env = LiberoEnv(task=task, cameras=cameras, height=PIXELS, width=PIXELS, rendering=rendering)
    return lambda: env.reset(seed=0, options={"init_state": 0}), env.step


def _libero(variant: str, task: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    from thinktwice.envs.libero.install import import_libero
    from thinktwice.envs.libero.simulator import SETTLE_ACTION, SETTLE_STEPS
    from thinktwice.envs.libero.suites import find_task, stored_states

    import_libero()
    from libero.libero.envs.env_wrapper import ControlEnv, OffScreenRenderEnv

    found = find_task(task)
    if variant == "libero":
        env = OffScreenRenderEnv(bddl_file_name=str(found.bddl), camera_heights=PIXELS, camera_widths=PIXELS)
    else:
        env = ControlEnv(str(found.bddl), use_camera_obs=False, has_offscreen_renderer=False)

    def reset() -> None:
        env.seed(0)
        env.reset()
        env.set_init_state(stored_states(found)[0])
        for _ in range(SETTLE_STEPS):
            env.step(SETTLE_ACTION)

    return reset, lambda move: env.step(move.astype(np.float64))


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    """Measure every variant on every task, print a table and write it as JSON."""
    before = machine()
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for turn in range(ROUNDS):
        for task in TASKS:
            for variant in VARIANTS:
                found.setdefault((task, variant), []).append(measured_apart(variant, task))
                sys.stderr.write(f"round {turn + 1} of {ROUNDS}: {task} {variant}\n")
    rows = [_row(task, variant, rounds) for (task, variant), rounds in found.items()]
    for row in rows:
        base = next((b for b in rows if (b["task"], b["variant"]) == (row["task"], BASELINE.get(row["variant"]))), row)
        row["times_libero"] = row["steps_per_second"] / base["steps_per_second"]
    columns = list(rows[0])
    widths = [max(len(name), 16) for name in columns]
    lines = [columns, *([_text(row[name]) for name in columns] for row in rows)]
    for line in lines:
        sys.stdout.write("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) + "\n")
    settings = {"rounds": ROUNDS, "resets": RESETS, "steps": STEPS, "pixels": PIXELS}
    path = write("libero_env", {"machine": before, "settings": settings, "rows": rows})
    sys.stdout.write(f"wrote {path}\n")


def _row(task: str, variant: str, rounds: list[dict[str, float]]) -> dict[str, Any]:
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    return {"task": task, "variant": variant, **medians}


def _text(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("task")
    given = parser.parse_args()
    sys.stdout.write(json.dumps(measure(given.variant, given.task)) + "\n")
