"""Every LIBERO task: builds, takes each stored initial state, settles and steps (hours on a busy machine).

For each task: the simulator is built, put into stored states without settling, and compared with them value by value;
then an episode is reset with settling and stepped. A task that fails is listed with its error, and the exit status
says so. ``LIBERO_SUITES=libero_goal_swap,libero_goal_lan`` chooses other suites than the five.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from thinktwice.envs.libero.simulator import Simulator
from thinktwice.envs.libero.suites import STEP_CAPS, LiberoTask, stored_states, suite_tasks

from .machine import machine, write

STEPS = 3


def check(task: LiberoTask) -> dict[str, Any]:
    """Build a task and put it through its stored states."""
    began = time.perf_counter()
    simulator = Simulator(task)
    built = time.perf_counter() - began
    states = stored_states(task)
    differing: list[int] = []
    for index, state in enumerate(states):
        if index in (0, len(states) - 1):
            simulator.reset(seed=index, init_state=index, settle_steps=0)
            now = np.concatenate([[simulator.data.time], simulator.data.qpos, simulator.data.qvel])
            differing += [] if np.array_equal(now, state) else [index]
    simulator.reset(seed=0, init_state=0)
    drift = float(np.abs(simulator.data.qpos - states[0][1 : 1 + simulator.model.nq]).max())
    successes = [simulator.step(np.zeros(7)) for _ in range(STEPS)]
    finite = bool(np.isfinite(simulator.data.qpos).all())
    simulator.close()
    return {
        "task": task.name,
        "stored_states": len(states),
        "states_that_differ": differing,
        "solved_at_once": any(successes),
        "finite": finite,
        "largest_change_while_settling": round(drift, 5),
        "build_seconds": round(built, 2),
        "ok": not differing and finite and not any(successes),
    }


def main() -> None:
    """Check every task of the chosen suites and write what was found."""
    suites = os.environ.get("LIBERO_SUITES", ",".join(STEP_CAPS)).split(",")
    before = machine()
    rows: list[dict[str, Any]] = []
    for task in (task for suite in suites for task in suite_tasks(suite)):
        try:
            rows.append(check(task))
        except Exception as error:  # noqa: BLE001  one broken task must not hide the others
            rows.append({"task": task.name, "ok": False, "error": repr(error)})
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    bad = [row["task"] for row in rows if not row["ok"]]
    path = write("libero_all_tasks", {"machine": before, "suites": suites, "tasks": rows})
    sys.stdout.write(f"{len(rows) - len(bad)} of {len(rows)} tasks are in order; not: {bad or 'none'}. Wrote {path}\n")
    if bad:
        sys.exit(1)
