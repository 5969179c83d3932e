"""The worker process: builds the world and the agent once, then plays one episode at a time.

It is a new interpreter: nothing of the parent is copied (a forked GL context hangs), and a user's script needs no
``__main__`` guard, which multiprocessing's spawn would ask for.  It dies with its parent, also when the parent is
killed with signal 9.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import random
import signal
import sys
import time
import traceback
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

import gymnasium as gym
import numpy as np

from ..agents import Agent
from ..agents.catalog import agent_entry, sharing
from ..envs import DeclaresConventions, MultiStep
from ..errors import ContractError, RecordError
from .batching.line import PolicyLost
from .batching.remote import remote_policy
from .messages import Assignment, Attempted, Ready, Setup, Stopped, Unserved, one_line, portable
from .playing import Recording, play
from .processes import die_with_parent
from .records import TRACES, AttemptRecord
from .traces import write_trace

_MAX_ERROR = 20_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Built:
    """What a worker plays with.

    Attributes:
        env: the world, wrapped in `thinktwice.envs.MultiStep`.
        agent: acts in it.
        ready: what is said of both.
    """

    env: gym.Env[Any, Any]
    agent: Agent
    ready: Ready


def serve(connection: Connection) -> None:
    """Build, then play what the parent assigns until it sends None or goes away."""
    setup: Setup = pickle.loads(connection.recv_bytes())  # noqa: S301 - the parent's bytes
    if setup.parent is not None:
        die_with_parent(setup.parent, connection)
    built = build(setup)
    if not isinstance(built, Built):
        connection.send(built)
        return
    connection.send(built.ready)
    while (assignment := connection.recv()) is not None:
        came = attempt(built, assignment, setup)
        connection.send(came)
        if not isinstance(came, Attempted) or came.attempt.ending == "exception":
            # A world or agent that raised may be in any state; the next episode gets a new process.
            return
    built.env.close()


def build(setup: Setup) -> Built | Stopped | Unserved:
    """Make the world and the agent, or say why not."""
    try:
        env = MultiStep(setup.world.make())
        _, builder = agent_entry(setup.agent).load()
        held = {spec: remote_policy(address.connect()) for spec, address in setup.policies.items()}
        with sharing(held) if held else contextlib.nullcontext():
            agent = builder(setup.agent_options, env)
        return Built(env=env, agent=agent, ready=Ready(agent=agent.describe(), conventions=_conventions(env)))
    except PolicyLost as error:
        return Unserved(report=one_line(error))
    except Exception as error:  # noqa: BLE001 - whatever a simulator raises is reported, with its traceback
        return Stopped(error=portable(error), report=traceback.format_exc()[-_MAX_ERROR:])


def _conventions(env: gym.Env[Any, Any]) -> dict[str, Any]:
    world = env.unwrapped
    if not isinstance(world, DeclaresConventions):
        raise ContractError(f"{world} declares no conventions; a world must offer the property `conventions`.")
    return world.conventions.to_json()


def attempt(built: Built, assignment: Assignment, setup: Setup) -> Attempted | Stopped | Unserved:
    """Play one episode.

    Returns:
        How it went; or, with nothing recorded of it, that its trace cannot be written or that its policy is gone.
    """
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    recording = Recording(episode=assignment.episode)
    seconds: dict[str, float] = {}
    report: str | None = None
    _seed_globals(assignment.episode.seed)
    try:
        seconds = play(built.env, built.agent, recording)
        record = recording.record()
    except PolicyLost as error:
        return Unserved(report=one_line(error))
    except Exception as error:  # noqa: BLE001 - an episode that breaks is an error in the record, whatever it raised
        report = traceback.format_exc()[-_MAX_ERROR:]
        record = recording.record(error=one_line(error))
    played = time.perf_counter()
    trace = recording.trace()
    try:
        if trace is not None:
            write_trace(setup.folder / TRACES, trace)
    except ContractError as error:
        report = (report or "") + traceback.format_exc()[-_MAX_ERROR:]
        record = recording.record(error=record.error or one_line(error))
    except RecordError as error:
        # A full disk is no error of the episode: the run stops and can be continued.
        return Stopped(error=error, report=traceback.format_exc()[-_MAX_ERROR:])
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


def main() -> None:
    """The whole process; the descriptor of its socket is the only argument.  Called by the pool, never by a person."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    try:
        serve(connection)
    except (EOFError, OSError):
        # The parent went away; what it had not recorded will be played again.
        sys.exit(1)
