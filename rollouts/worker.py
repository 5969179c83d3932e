"""The worker process: builds the world and the agent once, then plays one episode at a time.

It is a new interpreter: nothing of the parent is copied (a forked GL context hangs), and a user's script needs no
``__main__`` guard, which multiprocessing's spawn would ask for.  It dies with its parent, also when the parent is
killed with signal 9.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pickle
import random
import select
import signal
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ..agents import Agent
from ..agents.catalog import agent_entry
from ..envs import DeclaresConventions, EpisodeId, MultiStep, World
from ..errors import ContractError, RecordError, ThinkTwiceError, WorldError
from .playing import Recording, play
from .records import TRACES, AttemptRecord, EpisodeRecord
from .traces import write_trace

_MAX_ERROR = 20_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker needs to begin.

    Attributes:
        world: opened in the parent; `World.make` is called in the worker.
        agent: the agent's name in the catalogue.
        agent_options: an instance of its options.
        folder: the run folder.
        parent: the parent's process id.
    """

    world: World
    agent: str
    agent_options: Any
    folder: Path
    parent: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Assignment:
    """One episode to play, and which try it is."""

    episode: EpisodeId
    attempt: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ready:
    """The world and the agent are built.

    Attributes:
        agent: `Agent.describe`.
        conventions: the world's conventions as plain data.
    """

    agent: dict[str, Any]
    conventions: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stopped:
    """The worker cannot go on: nothing was built, or a trace could not be written.

    Attributes:
        error: the exception where another try cannot help (the call is wrong, the disk is full), else None.
        report: the traceback.
    """

    error: ThinkTwiceError | None
    report: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attempted:
    """An attempt came to an end in the worker.  After an exception the worker leaves.

    Attributes:
        record: the episode's record.
        attempt: the attempt's.
    """

    record: EpisodeRecord
    attempt: AttemptRecord


def serve(connection: Connection) -> None:
    """Build, then play what the parent assigns until it sends None or goes away."""
    setup: Setup = pickle.loads(connection.recv_bytes())  # noqa: S301 - the parent's bytes
    _die_with_parent(setup.parent, connection)
    try:
        env, agent = _build(setup)
        described = Ready(agent=agent.describe(), conventions=_conventions(env))
    except Exception as error:  # noqa: BLE001 - whatever a simulator raises is reported, with its traceback
        connection.send(Stopped(error=_portable(error), report=traceback.format_exc()[-_MAX_ERROR:]))
        return
    connection.send(described)
    while (assignment := connection.recv()) is not None:
        try:
            attempted = _attempt(env, agent, assignment, setup)
        except RecordError as error:
            # A full disk is no error of the episode: the run stops and can be continued.
            connection.send(Stopped(error=error, report=traceback.format_exc()[-_MAX_ERROR:]))
            return
        connection.send(attempted)
        if attempted.attempt.ending == "exception":
            # A world or agent that raised may be in any state; the next episode gets a new process.
            return
    env.close()


def _build(setup: Setup) -> tuple[gym.Env[Any, Any], Agent]:
    env = MultiStep(setup.world.make())
    _, build = agent_entry(setup.agent).load()
    return env, build(setup.agent_options, env)


def _conventions(env: gym.Env[Any, Any]) -> dict[str, Any]:
    world = env.unwrapped
    if not isinstance(world, DeclaresConventions):
        raise ContractError(f"{world} declares no conventions; a world must offer the property `conventions`.")
    return world.conventions.to_json()


def _attempt(env: gym.Env[Any, Any], agent: Agent, assignment: Assignment, setup: Setup) -> Attempted:
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    recording = Recording(episode=assignment.episode)
    seconds: dict[str, float] = {}
    report: str | None = None
    _seed_globals(assignment.episode.seed)
    try:
        seconds = play(env, agent, recording)
        record = recording.record()
    except Exception as error:  # noqa: BLE001 - an episode that breaks is an error in the record, whatever it raised
        report = traceback.format_exc()[-_MAX_ERROR:]
        record = recording.record(error=_one_line(error))
    played = time.perf_counter()
    trace = recording.trace()
    try:
        if trace is not None:
            write_trace(setup.folder / TRACES, trace)
    except ContractError as error:
        report = (report or "") + traceback.format_exc()[-_MAX_ERROR:]
        record = recording.record(error=record.error or _one_line(error))
    seconds["record"] = time.perf_counter() - played
    seconds["total"] = time.perf_counter() - began
    return Attempted(
        record=record,
        attempt=AttemptRecord(
            key=assignment.episode.key,
            attempt=assignment.attempt,
            ending="exception" if report else "finished",
            worker=os.getpid(),
            started=started,
            seconds={stage: round(spent, 6) for stage, spent in seconds.items()},
            latency=recording.latency(),
            error=report,
        ),
    )


def _seed_globals(seed: int) -> None:
    """Seed the process-wide generators.

    This library draws from none of them.  Simulators and model code underneath may, and would make an episode depend
    on those that the worker played before.
    """
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the legacy global generator is exactly what is meant
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def _portable(error: Exception) -> ThinkTwiceError | None:
    """The error when it says that the call is wrong and survives being sent."""
    if not isinstance(error, ThinkTwiceError) or isinstance(error, WorldError):
        return None
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - its own bytes
    except (pickle.PickleError, TypeError, AttributeError):
        return ThinkTwiceError(_one_line(error))
    return error


def _die_with_parent(parent: int, connection: Connection) -> None:
    """End this process when the parent ends, however it ends."""
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG (1), see prctl(2): works even while native code holds the interpreter's lock.
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(connection.fileno(),), daemon=True).start()


def _watch(descriptor: int) -> None:
    # The hang-up of the other end is reported without asking for it, and reads nothing.
    poll = select.poll()
    poll.register(descriptor, 0)
    poll.poll()
    os._exit(1)


def main() -> None:
    """The whole process; the descriptor of its socket is the only argument.  Called by the pool, never by a person."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    try:
        serve(connection)
    except (EOFError, OSError):
        # The parent went away; what it had not recorded will be played again.
        sys.exit(1)
