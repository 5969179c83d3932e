"""What every runner is given, what it gives back, and how its command is timed."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SUITE, TASK = "libero_object", 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """The same episodes for everybody: one task's stored states from 0 on, one policy, one horizon.

    Attributes:
        policy: a LeRobot checkpoint that reads ``image`` and ``image2``, upright and mirrored.
        folder: where a runner may write.
        episodes: how many.
        steps: the horizon of each; the policy never succeeds, so every episode has as many.
        pixels: of the images.
        processes: simulators at a time.
    """

    policy: Path
    folder: Path
    episodes: int
    steps: int
    pixels: int
    processes: int


def played(task: Task, seconds: float, **more: Any) -> dict[str, Any]:
    """A runner's row.

    Args:
        task: what was played.
        seconds: from the command's start to its end.
        more: what else is worth a column.
    """
    return {
        "episodes": task.episodes,
        "steps_per_episode": task.steps,
        "processes": task.processes,
        "wall_seconds": round(seconds, 1),
        "episodes_per_hour": round(3600 * task.episodes / seconds, 1),
        "env_steps_per_second": round(task.episodes * task.steps / seconds, 2),
        **more,
    }


def environment(**more: str) -> dict[str, str]:
    """The environment variables of every runner: EGL, and no look at a hub."""
    return {**os.environ, "MUJOCO_GL": "egl", "HF_HUB_OFFLINE": "1", **more}


def run_timed(command: Sequence[str], log: Path, env: Mapping[str, str]) -> float:
    """Run a command to its end.

    Returns:
        Seconds.

    Raises:
        RuntimeError: it failed; with the end of what it printed.
    """
    began = time.perf_counter()
    with log.open("w") as file:
        done = subprocess.run(command, check=False, stdout=file, stderr=subprocess.STDOUT, env=dict(env))
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}:\n{ending(log)}")
    return seconds


def ending(log: Path) -> str:
    """The last lines of what a process printed."""
    return log.read_text(errors="replace")[-2000:]
