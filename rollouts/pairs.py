"""Preference pairs: play a policy and have its candidates labelled, or label recorded data; then make the tables.

Playing is an ordinary run of the agent ``pairs`` (`thinktwice.agents.pairs.collector`): parallel, supervised,
resumable.  Its traces are folded into ``states/``, one file per episode, and the tables are made of those.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from ..agents.catalog import build_policy
from ..agents.pairs.collector import COMMITTED, EXTRA, FACT, FEATURE, PHASE, CollectorOptions
from ..agents.pairs.contract import LabelOptions
from ..agents.pairs.labelling import Counts, label
from ..agents.pairs.offline import OfflineOptions, Recordings, label_recorded, third
from ..agents.pairs.states import STATES, StoredStates, write_states
from ..agents.policy import Policy
from ..agents.training.demonstrations import SUFFIX
from ..envs import Array, World
from ..envs.split import check_split
from ..errors import RecordError, UsageError, WorldError
from .config import RunConfig, make_plan, plain
from .files import TEMPORARY, write_atomically
from .fresh import fresh_options, open_with
from .progress import Progress
from .records import Run, open_run
from .runner import run
from .traces import Trace, TracedDecision

RUN, REQUEST = "run", "request.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairOptions:
    """Options of collecting pairs besides the source's."""

    out: Path
    """The folder of the pair set: a new one, or with --resume the one to continue."""
    tasks: str = "all"
    """'all', or places in the world's list (from 0), ranges and names, such as 0,2,5-7."""
    episodes: int = 20
    """Episodes per task, from fresh placements."""
    seed: int = 0
    """Draws every placement; another seed gives other episodes."""
    workers: int = 1
    """Processes at once; what is recorded does not depend on it."""
    threads: int = 1
    """Threads of the numeric libraries per worker."""
    resume: bool = False
    """Continue the pair set in --out; labels are made anew with the options that are given now."""
    size: int = 96
    """Pixels of each side of the images, as the policy was trained."""
    rendering: str = "fast"
    """How pixels are made: fast or faithful, as the policy was trained."""
    cameras: tuple[str, ...] = ("agentview", "wrist")
    """Cameras to show."""


def collect_pairs(
    world: str,
    options: PairOptions,
    collector: CollectorOptions,
    labels: LabelOptions,
    *,
    progress: Progress | None = None,
) -> Counts:
    """Play a policy from fresh placements, label its candidates on the way, and make the tables.

    Args:
        world: its name.
        options: what to play, and where to keep it.
        collector: policy, source, and how candidates are labelled.
        labels: how facts become labels.
        progress: told of the episodes.

    Raises:
        UsageError: a name or number makes no sense, an episode would begin in a stored initial state, or no pair is
            left.
        RecordError: the folder cannot be written or resumed.
        WorldError: the world could not be built.
    """
    shown = fresh_options(world, size=options.size, rendering=options.rendering, cameras=options.cameras)
    config = RunConfig(
        out=options.out / RUN,
        world=world,
        world_options=shown,
        tasks=options.tasks,
        episodes=options.episodes,
        seed=options.seed,
        agent="pairs",
        agent_options=collector,
        workers=options.workers,
        threads=options.threads,
        report=False,
        resume=options.resume and (options.out / RUN).exists(),
    )
    plan = make_plan(config)
    check_split(plan.episodes, "training", purpose="preference pairs")
    run(config, progress=progress)
    played = open_run(config.out)
    fold_run(played, options.out, bounds=_bounds(plan.world))
    manifest = {name: value for name, value in played.manifest.items() if name != "episodes"}
    status = [record.status for record in played.episodes]
    episodes = {name: status.count(name) for name in ("success", "failure", "error")}
    return label(options.out, labels, provenance={"episodes": episodes, "run": manifest})


def fold_run(played: Run, out: Path, *, bounds: tuple[Array, Array]) -> None:
    """Write the labelled decisions of every judged episode that has no file yet.

    Args:
        played: a run of the agent ``pairs``.
        out: the pair set's folder.
        bounds: ``float32[A]`` each: what the world limits actions to.

    Raises:
        RecordError: a trace is damaged, or a file cannot be written.
    """
    _clear(out)
    policy = played.agent["policy"]
    source = str(played.agent["source"]["source"])
    for record in played.episodes:
        path = out / STATES / f"{record.key}{SUFFIX}"
        if record.status == "error" or path.exists():
            continue
        states = states_of(played.trace(record.key), policy=policy, source=source, bounds=bounds)
        if states is not None:
            _store(path, states)


def states_of(
    trace: Trace, *, policy: Mapping[str, Any], source: str, bounds: tuple[Array, Array]
) -> StoredStates | None:
    """The labelled decisions of an episode, or None where none was labelled.

    Args:
        trace: of an episode that the agent ``pairs`` played.
        policy: its policy's own description.
        source: its label source.
        bounds: as for `fold_run`.
    """
    labelled = [
        decision for decision in trace.decisions if any(name.startswith((EXTRA, FACT)) for name in decision.notes)
    ]
    if not labelled:
        return None
    states = trace.states if trace.states is not None else np.zeros((len(trace.decisions), 0), np.float32)
    chunks = np.stack([np.asarray(decision.candidates, np.float32) for decision in labelled])
    tails = [decision.notes.get(COMMITTED) for decision in labelled]
    length = max((len(tail) for tail in tails if tail is not None), default=0)
    committed = np.zeros((len(labelled), length, chunks.shape[-1]), np.float32)
    for row, tail in zip(committed, tails, strict=True):
        if tail is not None:
            row[: len(tail)] = tail
    return StoredStates(
        episode=trace.episode,
        instruction=trace.instruction,
        source=source,
        policy=policy,
        phases=tuple(
            str(decision.notes.get(PHASE) or third(decision.index, len(trace.decisions))) for decision in labelled
        ),
        low=bounds[0],
        high=bounds[1],
        decision=np.array([decision.index for decision in labelled], np.int64),
        chunks=chunks,
        extra=_stacked(labelled, EXTRA),
        facts=_stacked(labelled, FACT),
        features=_stacked(labelled, FEATURE),
        state=np.stack([np.asarray(states[decision.index], np.float32) for decision in labelled]),
        committed=committed,
        committed_length=np.array([0 if tail is None else len(tail) for tail in tails], np.int64),
    )


def label_folder(
    world: str,
    data: Path,
    options: PairOptions,
    offline: OfflineOptions,
    labels: LabelOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """Label recorded data by Euler steps, without playing anything.

    Args:
        world: for which the policy is built; it says the actions' bounds.
        data: ``frames/`` of `thinktwice demos`, or a LeRobotDataset.
        options: where to keep the pair set; what belongs to playing is not read.
        offline: policy, and how often it samples.
        labels: how facts become labels.
        progress: told how many episodes are done, of how many.

    Raises:
        UsageError: the folder holds no such data, an episode began in a stored initial state, the policy's steps cannot
            be chosen, or no pair is left.
        RecordError: the folder holds something else, or a file is damaged.
        WorldError: a process died; what was finished is kept.
    """
    episodes = Recordings(data).episodes
    if not options.resume and (options.out / STATES).exists():
        raise RecordError(f"{options.out} holds a pair set. Continue it with --resume, or give another --out.")
    _clear(options.out)
    _check_request(options.out / REQUEST, {"data": data.name, **plain(dataclasses.asdict(offline))})
    paths = {index: options.out / STATES / f"{episode.key}{SUFFIX}" for index, episode in enumerate(episodes)}
    missing = [index for index, path in paths.items() if not path.exists()]
    shown = open_with(
        world, fresh_options(world, size=options.size, rendering=options.rendering, cameras=options.cameras)
    )
    done = len(paths) - len(missing)
    # Spawned, not forked: a fork of a process with a GL context or with torch's threads hangs.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(
            max(1, min(options.workers, len(missing))),
            mp_context=context,
            initializer=_open_recordings,
            initargs=(shown, data, offline, options.threads),
        ) as pool:
            waiting = [pool.submit(_label_one, index, paths[index]) for index in missing]
            for future in as_completed(waiting):
                future.result()
                done += 1
                if progress is not None:
                    progress(done, len(paths))
    except BrokenProcessPool as error:
        raise WorldError(
            f"a process that labelled episodes died. {done} of {len(paths)} are kept; continue with --resume."
        ) from error
    return label(
        options.out,
        labels,
        provenance={"data": data.name, "episodes": len(paths), "options": plain(dataclasses.asdict(offline))},
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Labeller:
    recordings: Recordings
    policy: Policy
    options: OfflineOptions
    bounds: tuple[Array, Array]


_labeller: _Labeller | None = None
"""A labelling process's own policy and data: they live as long as the process does."""


def _open_recordings(world: World, data: Path, options: OfflineOptions, threads: int) -> None:
    global _labeller  # noqa: PLW0603  an executor's initialiser has no other way to hand something to its tasks
    import torch

    torch.set_num_threads(threads)
    env = world.make()
    policy = build_policy(options.policy, env)
    bounds = _box(env.action_space)
    _labeller = _Labeller(recordings=Recordings(data), policy=policy, options=options, bounds=bounds)


def _label_one(index: int, path: Path) -> None:
    if _labeller is None:
        raise WorldError("the labelling process has no policy.")
    recorded = _labeller.recordings.open(index)
    states = label_recorded(recorded, _labeller.policy, _labeller.options, bounds=_labeller.bounds)
    if states is not None:
        _store(path, states)


def _store(path: Path, states: StoredStates) -> None:
    write_atomically(path, lambda file: write_states(file, states))


def _check_request(path: Path, asked: Mapping[str, Any]) -> None:
    """Write down what was asked for, or refuse to continue something else."""
    text = json.dumps(asked, sort_keys=True)
    if path.exists() and path.read_text() != text:
        raise RecordError(
            f"{path.parent} holds pairs of other data or with other options: {path.read_text()}. Continue those, or "
            "give another --out."
        )
    write_atomically(path, lambda file: file.write(text.encode()))


def _clear(out: Path) -> None:
    """Remove what a kill left unfinished."""
    for unfinished in (out / STATES).glob(f"{TEMPORARY}*"):
        unfinished.unlink()


def _stacked(decisions: list[TracedDecision], prefix: str) -> dict[str, Array]:
    names = [name for name in decisions[0].notes if name.startswith(prefix)]
    return {name.removeprefix(prefix): np.stack([decision.notes[name] for decision in decisions]) for name in names}


def _bounds(world: World) -> tuple[Array, Array]:
    env = world.make()
    try:
        return _box(env.action_space)
    finally:
        env.close()


def _box(space: Any) -> tuple[Array, Array]:
    if not isinstance(space, spaces.Box):
        raise UsageError(f"pairs are of chunks of vectors; this world's actions are {space}.")
    return np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)
