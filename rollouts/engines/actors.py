"""What runs in a Ray cluster: workers that play, and holders of a policy that they share."""

from __future__ import annotations

import asyncio
import dataclasses
import faulthandler
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...envs import World
from ..batching.answering import Holder, hold
from ..batching.line import About, Answer, Call, PolicyLost, Unbuilt
from ..messages import Assignment, Attempted, Ready, Setup, Stopped, Unserved
from ..records import TRACES
from ..traces import trace_files
from ..worker import Built, attempt, build


@dataclasses.dataclass(frozen=True, kw_only=True)
class Where:
    """Where an actor runs."""

    process: int
    node: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Played:
    """How an episode went, with its trace: the run folder may be on another machine.

    Attributes:
        came: what a worker of this machine would say.
        files: the trace's files by their names.
    """

    came: Attempted | Stopped | Unserved
    files: dict[str, bytes]


class EnvActor:
    """Plays episodes, one at a time.

    Args:
        setup: its folder is replaced by one of this actor's own.
    """

    def __init__(self, setup: Setup) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="thinktwice-")
        self._setup = dataclasses.replace(setup, folder=Path(self._folder.name))
        self._built: Built | None = None

    def where(self) -> Where:
        """Answered as soon as the actor has found its place."""
        import ray

        return Where(process=os.getpid(), node=ray.get_runtime_context().get_node_id())

    def build(self) -> Ready | Stopped | Unserved:
        """Make the world and the agent."""
        came = build(self._setup)
        if not isinstance(came, Built):
            return came
        self._built = came
        return came.ready

    def play(self, assignment: Assignment) -> Played:
        """Play an episode; `build` came before."""
        if self._built is None:
            raise RuntimeError("an actor was asked to play before it had built its world")
        came = attempt(self._built, assignment, self._setup)
        files: dict[str, bytes] = {}
        for path in trace_files(self._setup.folder / TRACES, assignment.episode.key):
            if path.exists():
                files[path.name] = path.read_bytes()
                path.unlink()
        return Played(came=came, files=files)

    def close(self) -> None:
        """Close the world."""
        if self._built is not None:
            self._built.env.close()
        self._folder.cleanup()


class PolicyActor:
    """Holds a policy and answers what has gathered while it computed.

    Args:
        world: for its conventions and spaces.
        policy: the ``--policy`` value.
        timeout: seconds that one answer may take before the actor counts as hung and ends itself.
    """

    def __init__(self, world: World, policy: str, timeout: float) -> None:
        self._world, self._policy, self._timeout = world, policy, timeout
        self._holder: Holder | None = None
        self._asked: list[tuple[Call, asyncio.Future[Answer]]] = []
        # One thread for everything that computes; the actor's own goes on receiving questions.
        self._thread = ThreadPoolExecutor(1, "policy")
        self._turn = asyncio.Lock()

    async def about(self) -> About | Unbuilt:
        """What is held; builds it when it is first asked."""
        holder = await self._held()
        return holder.about() if isinstance(holder, Holder) else holder

    async def ask(self, call: Call) -> Answer:
        """The policy's answer."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((call, answer))
        holder = await self._held()
        async with self._turn:
            if self._asked and isinstance(holder, Holder):
                asked, self._asked = self._asked, []
                answers = await self._compute(self._answered, holder, [one for one, _ in asked])
                for (_, future), given in zip(asked, answers, strict=True):
                    future.set_result(given)
        return await answer

    async def _held(self) -> Holder | Unbuilt:
        async with self._turn:
            if self._holder is not None:
                return self._holder
            built: Holder | Unbuilt = await self._compute(hold, self._world, self._policy)
            if isinstance(built, Holder):
                self._holder = built
            return built

    def _answered(self, holder: Holder, calls: list[Call]) -> list[Answer]:
        if not holder.sound:
            # Nobody knows its state; Ray starts the actor anew and asks again.
            os._exit(1)
        faulthandler.dump_traceback_later(self._timeout, exit=True)
        try:
            return holder.answer(calls)
        finally:
            faulthandler.cancel_dump_traceback_later()

    async def _compute(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ActorAddress:
    """A policy actor.

    Attributes:
        handle: Ray's.
    """

    handle: Any

    def connect(self) -> ActorLine:
        """A line to it."""
        return ActorLine(self.handle)


class ActorLine:
    """A worker's line to a policy actor.

    Args:
        handle: Ray's.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def about(self) -> About | Unbuilt:
        """What is held; see `thinktwice.rollouts.batching.line.Line`."""
        return self._get(self._handle.about.remote())

    def ask(self, call: Call) -> Answer:
        """Ask and wait; see `thinktwice.rollouts.batching.line.Line`."""
        return self._get(self._handle.ask.remote(call))

    def _get(self, reference: Any) -> Any:
        import ray
        from ray.exceptions import RayActorError

        try:
            return ray.get(reference)
        except RayActorError as error:
            raise PolicyLost(f"the policy actor is gone: {error}") from error
