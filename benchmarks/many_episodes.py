"""Hundreds of episodes in one worker: resident memory, open files, and the same results as fresh processes.

``EPISODES=500 python -m benchmarks many_episodes`` plays them in libero_goal, whose ten tasks share a scene: the worker
builds the simulator anew for each task, and memory should stay level across all of them.  Random actions, 64 pixels,
``fast`` rendering at every step, ``STEPS=30`` each.  After every episode the worker's and the runner's resident memory
and open files are read.  The slope is a line's through means of ten episodes, the first 20 episodes left out, with its
95% interval.  Then ``SAMPLE=5`` of the episodes are played again, each in a new process, and compared bit by bit.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from thinktwice.envs.libero.suites import suite_tasks
from thinktwice.rollouts import EpisodeRecord, RunConfig, open_run, run
from thinktwice.rollouts.progress import Progress
from thinktwice.rollouts.schedule import Ended

from .machine import RESULTS, machine, resident_mib, write

SUITE = "libero_goal"
EPISODES, STEPS = int(os.environ.get("EPISODES", "500")), int(os.environ.get("STEPS", "30"))
SAMPLE = int(os.environ.get("SAMPLE", "5"))
WARM_UP, BLOCK = 20, 10
FOLDER = RESULTS / "many_episodes"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    """What was read after an episode: MiB and counts."""

    worker: int
    worker_mib: float
    worker_files: int
    runner_mib: float
    runner_files: int


class Sampler(Progress):
    """Reads memory and files whenever an episode ends."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def ended(self, event: Ended) -> None:
        """Read both processes; the worker waits for its next episode, or has one already."""
        worker, runner = event.attempt.worker, os.getpid()
        self.samples.append(
            Sample(
                worker=worker,
                worker_mib=resident_mib(worker),
                worker_files=_files(worker),
                runner_mib=resident_mib(runner),
                runner_files=_files(runner),
            )
        )
        if len(self.samples) % 50 == 0:
            sys.stderr.write(f"{len(self.samples)} of {EPISODES}: {self.samples[-1]}\n")


def main() -> None:
    """Play, fit, compare, print and write the figures."""
    before, tasks = machine(), len(suite_tasks(SUITE))
    if EPISODES % tasks:
        sys.exit(f"EPISODES must be a multiple of {tasks}, the tasks of {SUITE}, not {EPISODES}.")
    shutil.rmtree(FOLDER, ignore_errors=True)
    sampler = Sampler()
    run(_config(FOLDER / "row", "all", EPISODES // tasks), progress=sampler)
    records = open_run(FOLDER / "row").episodes
    workers = sorted({sample.worker for sample in sampler.samples})
    figures: dict[str, Any] = {
        "episodes": len(records),
        "errors": sum(record.status == "error" for record in records),
        "steps": sum(record.steps for record in records),
        "workers": len(workers),
        "simulators_built": tasks,
        "steps_per_episode": STEPS,
    }
    for name in ("worker_mib", "worker_files", "runner_mib", "runner_files"):
        values = [float(getattr(sample, name)) for sample in sampler.samples]
        figures[name] = {"first": values[0], "last": values[-1], "most": max(values), **_slope(values)}
    figures["fresh_processes"] = _compare(records)
    for name, value in figures.items():
        sys.stdout.write(f"{name:<20} {value}\n")
    path = write("many_episodes", {"command": "python -m benchmarks many_episodes", "machine": before, **figures})
    sys.stdout.write(f"wrote {path}\n")
    if figures["workers"] != 1 or figures["errors"] or figures["fresh_processes"]["different"]:
        sys.exit("the episodes were not played in one worker, had errors, or differ from fresh processes")


def _config(out: Path, tasks: str, episodes: int, init_states: str = "stored") -> RunConfig:
    world = {"rendering": "fast", "height": 64, "width": 64, "max_steps": STEPS, "init_states": init_states}
    return RunConfig(
        out=out,
        world=SUITE,
        world_options=world,
        tasks=tasks,
        episodes=episodes,
        workers=1,
        agent_options={"policy": "random"},
        report=False,
    )


def _slope(values: Sequence[float]) -> dict[str, Any]:
    """The line's slope per 100 episodes and its 95% interval; neighbours are alike, so it goes through means."""
    kept = np.array(values[WARM_UP:])
    blocks = kept[: len(kept) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
    if len(blocks) < 3:
        return {"slope_per_100_episodes": None, "ci95": None}
    line = stats.linregress(np.arange(len(blocks)) * BLOCK, blocks)
    half = float(stats.t.ppf(0.975, len(blocks) - 2) * line.stderr)
    return {
        "slope_per_100_episodes": round(100 * float(line.slope), 4),
        "ci95": [round(100 * (float(line.slope) + sign * half), 4) for sign in (-1, 1)],
    }


def _compare(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Some of the episodes, evenly spread to the last one, each played again in a new process."""
    chosen = [records[round(place)] for place in np.linspace(0, len(records) - 1, min(SAMPLE, len(records)))]
    different: list[str] = []
    for record in chosen:
        place, state = record.episode.task.partition("/")[2], str(record.episode.init_state)
        folder = FOLDER / f"fresh-{place}-{state}"
        run(_config(folder, place, 1, init_states=state))
        (fresh,) = open_run(folder).episodes
        if fresh != record:
            different.append(record.key)
    return {"compared": len(chosen), "different": different}


def _files(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


if __name__ == "__main__":
    main()
