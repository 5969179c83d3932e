"""Our own runner, by its command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Literal

from .task import SUITE, TASK, Task, environment, played, run_timed

MORE = os.environ.get("OURS", "")
"""More options of the command, such as ``--batching on``."""

_IMAGES = "images.image=agentview:mirrored&images.image2=wrist:mirrored"
"""What the policy's two images are among our cameras."""


def play(task: Task, rendering: Literal["faithful", "fast"]) -> dict[str, Any]:
    """All episodes, with the report that every run ends with."""
    out = task.folder / f"ours-{rendering}"
    command = [
        str(Path(sys.executable).with_name("thinktwice")),
        "rollout",
        SUITE,
        *("--tasks", str(TASK)),
        *("--episodes", str(task.episodes)),
        *("--policy", f"lerobot:{task.policy}?{_IMAGES}"),
        *("--rendering", rendering),
        *("--height", str(task.pixels)),
        *("--width", str(task.pixels)),
        *("--max-steps", str(task.steps)),
        *("--workers", str(task.processes)),
        *("--out", str(out)),
        *shlex.split(MORE),
    ]
    seconds = run_timed(command, task.folder / f"ours-{rendering}.log", environment())
    overall = json.loads((out / "summary.json").read_text())["overall"]
    if overall["judged"] != task.episodes or overall["steps"] != task.episodes * task.steps:
        raise RuntimeError(f"thinktwice judged {overall['judged']} episodes of {overall['steps']} steps.")
    return played(task, seconds, succeeded=overall["successes"])
