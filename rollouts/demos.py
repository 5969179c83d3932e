"""Demonstrations: play them without cameras, then replay the successes with cameras and keep every frame.

A folder of demonstrations holds

| file | content |
| --- | --- |
| ``run/`` | an ordinary run of the agent ``demonstrator``: every attempt with its labels, failures and errors too |
| ``frames/<key>.safetensors`` | one success, replayed with cameras (`thinktwice.agents.training.demonstrations`) |
| ``provenance.json`` | what was asked for, what was played, what was kept |
| ``dataset/`` | the same frames as a LeRobotDataset, when asked for |

Playing is blind and fast, a failure is never rendered, and the replay proves that each kept episode repeats.  A kill at
any moment loses at most the episodes in work.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np

from ..agents.demonstrator import LABEL, DemonstratorOptions
from ..agents.training.demonstrations import SUFFIX, Demonstration, write_demonstration
from ..envs import DeclaresConventions, World
from ..envs.observations import IMAGES, STATE, TASK
from ..envs.split import check_split
from ..errors import RecordError, UsageError, WorldError
from .config import RunConfig, make_plan, plain
from .files import TEMPORARY, write_atomically
from .fresh import fresh_options, open_with
from .progress import Progress
from .records import EpisodeRecord, Run, open_run
from .replay import replay
from .runner import run
from .traces import Trace

RUN, FRAMES, PROVENANCE = "run", "frames", "provenance.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of the demonstrations besides the expert's."""

    out: Path
    """The folder of the demonstrations: a new one, or with --resume the one to continue."""
    tasks: str = "all"
    """'all', or places in the world's list (from 0), ranges and names, such as 0,2,5-7."""
    episodes: int = 50
    """Attempts per task; only successes are kept."""
    seed: int = 0
    """Draws every placement and disturbance; another seed gives other episodes."""
    workers: int = 1
    """Processes at once; what is recorded does not depend on it."""
    resume: bool = False
    """Continue the demonstrations in --out."""
    size: int = 96
    """Pixels of each side of the images."""
    rendering: str = "fast"
    """How pixels are made: fast or faithful."""
    cameras: tuple[str, ...] = ("agentview", "wrist")
    """Cameras to keep."""
    lerobot: bool = False
    """Write a LeRobotDataset too."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collected:
    """What a folder of demonstrations holds.

    Attributes:
        kept: successes with frames.
        failures: attempts that failed the task; they are counted and not kept.
        errors: attempts that broke.
        frames: frames of the kept ones.
        dataset: the LeRobotDataset, or None.
    """

    kept: int
    failures: int
    errors: int
    frames: int
    dataset: Path | None = None


def collect(
    world: str,
    options: DemoOptions,
    demonstrator: DemonstratorOptions,
    *,
    progress: Progress | None = None,
    rendered: Callable[[int, int], None] | None = None,
) -> Collected:
    """Make demonstrations of a world's tasks.

    Args:
        world: its name.
        options: what to make, and where.
        demonstrator: the expert and its disturbances.
        progress: told of the attempts.
        rendered: told of the replays: how many are done, of how many.

    Raises:
        UsageError: a name or number makes no sense, or an episode would begin in a stored initial state.
        RecordError: the folder cannot be written or resumed, or a replay differs from its record.
        WorldError: the world could not be built.
    """
    # A learner looks at every step; the expert alone needs no cameras.
    pictures = fresh_options(world, size=options.size, rendering=options.rendering, cameras=options.cameras)
    blind = {"cameras": ()} if not demonstrator.learner and "cameras" in pictures else {}
    config = RunConfig(
        out=options.out / RUN,
        world=world,
        world_options=pictures | blind,
        tasks=options.tasks,
        episodes=options.episodes,
        seed=options.seed,
        agent="demonstrator",
        agent_options=demonstrator,
        workers=options.workers,
        resume=options.resume and (options.out / RUN).exists(),
    )
    check_split(make_plan(config).episodes, "training", purpose="demonstrations")
    run(config, progress=progress)
    played = open_run(config.out)
    shown = open_with(world, pictures)
    frames = render(played, shown, options.out / FRAMES, workers=options.workers, rendered=rendered)
    collected = _counted(played, frames)
    _write_provenance(options, played, shown, collected)
    return collected


def render(
    played: Run, world: World, out: Path, *, workers: int, rendered: Callable[[int, int], None] | None = None
) -> int:
    """Replay every success of a run that has no frames yet, with cameras.

    Args:
        played: a run of the demonstrator.
        world: the run's world, with cameras.
        out: the folder of the demonstrations.
        workers: processes at once.
        rendered: told how many are done, of how many.

    Returns:
        How many frames the folder holds.

    Raises:
        RecordError: a replay differs from its record, or a file cannot be written.
        WorldError: a process died; what was finished is kept.
    """
    successes = [record for record in played.episodes if record.status == "success"]
    out.mkdir(parents=True, exist_ok=True)
    for unfinished in out.glob(f"{TEMPORARY}*"):
        unfinished.unlink()
    missing = [record for record in successes if not (out / f"{record.key}{SUFFIX}").exists()]
    done = len(successes) - len(missing)
    # Spawned, not forked: a fork of a process with a GL context hangs.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(
            max(1, min(workers, len(missing))), mp_context=context, initializer=_open_world, initargs=(world,)
        ) as pool:
            waiting = [pool.submit(_render_one, played.path, record, out) for record in missing]
            for future in as_completed(waiting):
                future.result()
                done += 1
                if rendered is not None:
                    rendered(done, len(successes))
    except BrokenProcessPool as error:
        raise WorldError(
            f"a process that rendered demonstrations died. {done} of {len(successes)} are kept; continue with --resume."
        ) from error
    return sum(record.steps for record in successes)


def demonstration_of(env: gym.Env[Any, Any], trace: Trace) -> Demonstration:
    """Replay a recorded episode of the demonstrator in a world with cameras.

    Raises:
        RecordError: the replay differs from the record, or the trace has no labels.
    """
    frames = list(replay(env, trace))
    labels = [decision.notes.get(LABEL) for decision in trace.decisions]
    if len(labels) != len(frames) or any(label is None for label in labels):
        raise RecordError(f"{trace.episode.key} was not played by the agent 'demonstrator': a step has no label.")
    shown = [frame.observation for frame in frames]
    return Demonstration(
        episode=trace.episode,
        instruction=str(shown[0][TASK]),
        conventions=cast("DeclaresConventions", env.unwrapped).conventions,
        images={
            key.removeprefix(IMAGES): np.stack([seen[key] for seen in shown])
            for key in shown[0]
            if key.startswith(IMAGES)
        },
        state=np.stack([seen[STATE] for seen in shown]),
        label=np.stack([np.asarray(label, np.float32) for label in labels]),
        executed=np.asarray(trace.actions, np.float32),
    )


_env: gym.Env[Any, Any] | None = None
"""A rendering process's own environment: it lives as long as the process does."""


def _open_world(world: World) -> None:
    global _env  # noqa: PLW0603  an executor's initialiser has no other way to hand something to its tasks
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _env = world.make()


def _leave_with_parent() -> None:
    """End this process when its parent is gone: an executor's process would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _render_one(run_folder: Path, record: EpisodeRecord, out: Path) -> None:
    if _env is None:
        raise WorldError("the rendering process has no environment.")
    demonstration = demonstration_of(_env, open_run(run_folder).trace(record.key))
    write_atomically(out / f"{record.key}{SUFFIX}", lambda file: write_demonstration(file, demonstration))


def _counted(played: Run, frames: int) -> Collected:
    status = [record.status for record in played.episodes]
    if "success" not in status:
        raise UsageError(
            f"the expert solved none of {len(status)} attempts in {played.path}, so nothing was kept. "
            "Look at the run's summary, and try another task or less --perturb."
        )
    return Collected(
        kept=status.count("success"), failures=status.count("failure"), errors=status.count("error"), frames=frames
    )


def _write_provenance(options: DemoOptions, played: Run, world: World, collected: Collected) -> None:
    """Where the demonstrations come from, for model cards."""
    tasks = list(dict.fromkeys(episode.task for episode in played.planned))
    counts = {
        task: {
            status: sum(r.status == status for r in played.episodes if r.episode.task == task)
            for status in ("success", "failure", "error")
        }
        for task in tasks
    }
    manifest = {name: value for name, value in played.manifest.items() if name != "episodes"}
    provenance = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "split": "training: fresh placements alone",
        "options": plain({**dataclasses.asdict(options), "out": options.out.name}),
        "kept": collected.kept,
        "failures": collected.failures,
        "errors": collected.errors,
        "frames": collected.frames,
        "tasks": counts,
        "pictures": plain(world.describe()),
        "run": manifest,
    }
    text = json.dumps(provenance, indent=2, default=str) + "\n"
    write_atomically(options.out / PROVENANCE, lambda file: file.write(text.encode()))
