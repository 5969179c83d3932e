"""``--engine ray``: workers and policies as actors of a Ray cluster, under the same account as local processes.

Ray decides where an actor runs and starts machines where its autoscaler can.  What becomes of an episode is decided
here: an actor whose process, node or machine is lost is replaced, and its episode is tried again.  Records and traces
come back to the driver, which alone writes the run folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Literal

from ...envs import EpisodeId
from ...errors import ContractError, WorldError
from .. import processes
from ..engine import PoolOptions
from ..files import write_atomically
from ..messages import Attempted, Ready, Setup, Stopped, Unserved, pickled
from ..records import TRACES, Ending
from ..schedule import Ended, Playing, Schedule
from .actors import ActorAddress, EnvActor, Played, PolicyActor, Where
from .cluster import connected

_GRACE = 10.0
_LOOK = 1.0
"""Seconds between two looks at deadlines, at most."""


@dataclasses.dataclass(kw_only=True)
class _Worker:
    """An actor and what it is doing.

    Attributes:
        number: its place among the workers.
        handle: Ray's.
        result: of what it is doing.
        deadline: on the monotonic clock; none while it waits for room in the cluster, which may have to grow.
    """

    number: int
    handle: Any
    result: Any
    where: Where | None = None
    state: Literal["waiting", "building", "idle", "playing"] = "waiting"
    deadline: float = float("inf")
    playing: Playing | None = None


def play_all(episodes: Sequence[EpisodeId], options: PoolOptions) -> Generator[Ready | Ended]:
    """Play the episodes in a cluster; see `thinktwice.rollouts.engine.Engine`.

    Raises:
        MissingDependency: ray is not installed.
        UsageError: there is no cluster at the address.
    """
    with connected(options.address) as ray:
        pool = _Pool(ray, episodes, options)
        try:
            yield from pool.events()
        finally:
            pool.stop()


class _Pool:
    def __init__(self, ray: Any, episodes: Sequence[EpisodeId], options: PoolOptions) -> None:
        self._ray, self._options = ray, options
        setup = Setup(
            world=options.world, agent=options.agent, agent_options=options.agent_options, folder=options.folder
        )
        pickled(setup)  # before anything is started
        self._schedule = Schedule(episodes, max_tries=options.max_tries)
        self._workers: list[_Worker] = []
        self._alone_since = time.monotonic()
        self._policies = self._hold()
        self._setup = setup

    def events(self) -> Iterator[Ready | Ended]:
        while self._schedule.waiting or any(worker.playing for worker in self._workers):
            self._fill()
            self._assign()
            self._check_room()
            busy = {worker.result: worker for worker in self._workers if worker.result is not None}
            done, _ = self._ray.wait(list(busy), timeout=self._pause(busy.values()))
            for result in done:
                yield from self._listen(busy[result])
            now = time.monotonic()
            for worker in [worker for worker in self._workers if worker.deadline <= now]:
                limit = self._options.timeout if worker.playing else self._options.build_timeout
                yield from self._lost(
                    worker, "timeout", f"nothing came back within {limit:g} s, so the worker was killed"
                )
        self._dismiss()

    def stop(self) -> None:
        """Kill every actor that is left."""
        for handle in [*(worker.handle for worker in self._workers), *self._policies]:
            self._kill(handle)
        self._workers.clear()

    def _pause(self, busy: Iterable[_Worker]) -> float:
        """Until the next deadline."""
        soonest = min((worker.deadline for worker in busy), default=float("inf"))
        return min(_LOOK, max(0.0, soonest - time.monotonic()))

    def _hold(self) -> list[Any]:
        options = self._options
        if options.shared is None:
            return []
        holder = self._ray.remote(PolicyActor).options(
            num_cpus=options.threads,
            num_gpus=1 if options.shared.gpu else 0,
            # A policy is pure: whoever waits for an answer when it dies is answered by its successor.
            max_restarts=-1,
            max_task_retries=max(1, options.max_tries - 1),
            runtime_env=self._environment(),
        )
        return [holder.remote(options.world, options.shared.policy, options.timeout) for _ in options.shared.devices]

    def _environment(self) -> dict[str, Any]:
        threads = self._options.threads
        return {"env_vars": {**processes.numeric_environment(threads), "LP_NUM_THREADS": str(threads)}}

    def _fill(self) -> None:
        wanted = min(
            self._options.workers,
            self._schedule.waiting + sum(worker.playing is not None for worker in self._workers),
        )
        while len(self._workers) < wanted:
            taken = {worker.number for worker in self._workers}
            self._workers.append(self._start(next(n for n in range(self._options.workers) if n not in taken)))

    def _start(self, number: int) -> _Worker:
        options, setup = self._options, self._setup
        if options.shared is not None:
            handle = self._policies[number % len(self._policies)]
            setup = dataclasses.replace(setup, policies={options.shared.policy: ActorAddress(handle=handle)})
        actor = self._ray.remote(EnvActor).options(
            num_cpus=options.threads, scheduling_strategy="SPREAD", runtime_env=self._environment()
        )
        handle = actor.remote(setup)
        return _Worker(number=number, handle=handle, result=handle.where.remote())

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.state == "idle" and self._schedule.waiting and worker.where is not None:
                worker.playing = self._schedule.next(worker.where.process)
                worker.state, worker.deadline = "playing", worker.playing.since + self._options.timeout
                worker.result = worker.handle.play.remote(worker.playing.assignment)

    def _check_room(self) -> None:
        """Raise `WorldError` when nothing has found room in the cluster for as long as building may take."""
        if any(worker.state != "waiting" for worker in self._workers):
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > self._options.build_timeout:
            free = {name: value for name, value in self._ray.available_resources().items() if name in ("CPU", "GPU")}
            raise WorldError(
                f"no node of the cluster had {self._options.threads} CPUs for a worker within "
                f"{self._options.build_timeout:g} s; free now: {free}. Add nodes, or let --build-timeout give an "
                "autoscaler more time."
            )

    def _listen(self, worker: _Worker) -> Iterator[Ready | Ended]:
        from ray.exceptions import RayError

        try:
            message = self._ray.get(worker.result)
        except RayError as error:
            yield from self._lost(worker, "died", _cause(error))
            return
        worker.result = None
        match message:
            case Where():
                worker.where, worker.state = message, "building"
                worker.deadline = time.monotonic() + self._options.build_timeout
                worker.result = worker.handle.build.remote()
            case Ready():
                self._schedule.built()
                worker.state, worker.deadline = "idle", float("inf")
                yield message
            case Played(came=Attempted() as attempted, files=files):
                for name, content in files.items():
                    write_atomically(
                        self._options.folder / TRACES / name, lambda file, content=content: file.write(content)
                    )
                if attempted.attempt.ending == "exception":
                    self._remove(worker)
                worker.state, worker.deadline, worker.playing = "idle", float("inf"), None
                yield Ended(attempt=attempted.attempt, record=attempted.record)
            case Played(came=Stopped() | Unserved() as came) | (Stopped() | Unserved() as came):
                yield from self._gave_up(worker, came)
            case _:
                raise ContractError(f"an actor answered {type(message).__name__}.")

    def _gave_up(self, worker: _Worker, message: Stopped | Unserved) -> Iterator[Ended]:
        if isinstance(message, Stopped) and message.error is not None:
            self._remove(worker)
            raise message.error
        yield from self._lost(worker, "died", message.report)

    def _lost(self, worker: _Worker, ending: Ending, cause: str) -> Iterator[Ended]:
        """An actor died or hung: remove it, and try its episode again or record the error."""
        self._remove(worker)
        log = f"(in the logs of Ray, on node {worker.where.node if worker.where else 'unknown'})"
        if worker.playing is not None:
            yield self._schedule.lost(worker.playing, ending, cause=cause, log=log)
        elif worker.state == "building":
            self._schedule.build_failed(cause, log=log)

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._kill(worker.handle)

    def _kill(self, handle: Any) -> None:
        # What a lost actor may still finish on a node that nobody reaches is never fetched, so it counts once.
        with contextlib.suppress(Exception):
            self._ray.kill(handle, no_restart=True)

    def _dismiss(self) -> None:
        """Let the workers close their worlds, for a while."""
        closing = [worker.handle.close.remote() for worker in self._workers if worker.state == "idle"]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=_GRACE)


def _cause(error: Exception) -> str:
    """What happened to an actor, in one line."""
    text = " ".join(str(error).split())
    return f"the worker actor was lost ({type(error).__name__}: {text[:300]})"
