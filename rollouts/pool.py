"""Worker processes under supervision: one that dies or hangs is replaced, and its episode is tried again.

Every worker has its own socket and at most one episode, so nothing that a killed worker may have held is shared: no
queue can be left locked or half written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Literal, cast

from ..envs import EpisodeId
from . import processes
from .batching.host import Holding, PolicyHost
from .engine import PoolOptions
from .messages import Attempted, Ready, Setup, Stopped, Unserved, pickled
from .records import Ending
from .schedule import Ended, Playing, Schedule

LOGS = "logs"
_GRACE = 10.0
_MODULE = f"{__package__}.worker"


@dataclasses.dataclass(kw_only=True)
class _Worker:
    number: int
    process: subprocess.Popen[bytes]
    connection: Connection
    log: Path
    deadline: float
    state: Literal["building", "idle", "playing"] = "building"
    playing: Playing | None = None

    def kill(self) -> None:
        """End the process and whatever it started, and wait until it is gone."""
        processes.kill(self.process)
        self.connection.close()


def play_all(episodes: Sequence[EpisodeId], options: PoolOptions) -> Generator[Ready | Ended]:
    """Play the episodes on this machine; see `thinktwice.rollouts.engine.Engine`."""
    pool = _Pool(episodes, options)
    try:
        yield from pool.events()
    finally:
        pool.stop()


class _Pool:
    def __init__(self, episodes: Sequence[EpisodeId], options: PoolOptions) -> None:
        self._options = options
        self._setup = Setup(
            world=options.world,
            agent=options.agent,
            agent_options=options.agent_options,
            folder=options.folder.absolute(),
            parent=os.getpid(),
        )
        pickled(self._setup)  # before anything is started
        self._schedule = Schedule(episodes, max_tries=options.max_tries)
        self._workers: list[_Worker] = []
        self._host = _host(options)

    def events(self) -> Iterator[Ready | Ended]:
        while self._schedule.waiting or any(worker.playing for worker in self._workers):
            self._fill()
            self._assign()
            soonest = min(worker.deadline for worker in self._workers)
            holders = self._host.connections if self._host else []
            connections = [*holders, *(worker.connection for worker in self._workers)]
            talking = wait(connections, max(0.0, soonest - time.monotonic()))
            if self._host:
                self._host.hear(talking)
            for worker in [worker for worker in self._workers if worker.connection in talking]:
                yield from self._listen(worker)
            now = time.monotonic()
            for worker in [worker for worker in self._workers if worker.deadline <= now]:
                yield from self._lost(worker, "timeout")
        self._dismiss()

    def stop(self) -> None:
        """Kill every process that is left."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        if self._host:
            self._host.stop()

    def _fill(self) -> None:
        busy = sum(worker.playing is not None for worker in self._workers)
        wanted = min(self._options.workers, self._schedule.waiting + busy)
        while len(self._workers) < wanted:
            taken = {worker.number for worker in self._workers}
            self._workers.append(self._start(next(n for n in range(self._options.workers) if n not in taken)))

    def _start(self, number: int) -> _Worker:
        options, setup = self._options, self._setup
        if self._host and options.shared:
            setup = dataclasses.replace(setup, policies={options.shared.policy: self._host.address(number)})
        log = options.folder / LOGS / f"worker-{number}.log"
        environment = processes.environment(threads=options.threads, sharing=options.workers)
        process, connection = processes.start(_MODULE, log=log, environment=environment)
        with contextlib.suppress(OSError):
            # Where it died at once, the end of its stream is read next.
            connection.send_bytes(pickled(setup))
        deadline = time.monotonic() + options.build_timeout
        return _Worker(number=number, process=process, connection=connection, log=log, deadline=deadline)

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.state == "idle" and self._schedule.waiting:
                worker.playing = self._schedule.next(worker.process.pid)
                worker.state, worker.deadline = "playing", worker.playing.since + self._options.timeout
                with contextlib.suppress(OSError):
                    # Where it died while idle, the end of its stream is read next and the episode is tried again.
                    worker.connection.send(worker.playing.assignment)

    def _listen(self, worker: _Worker) -> Iterator[Ready | Ended]:
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._lost(worker, "died")
            return
        if isinstance(message, Stopped):
            self._remove(worker)
            if message.error is not None:
                raise message.error
            self._schedule.build_failed(message.report, log=_end(worker))
        elif isinstance(message, Unserved):
            yield from self._unserved(worker, message)
        elif isinstance(message, Ready):
            self._schedule.built()
            worker.state, worker.deadline = "idle", float("inf")
            yield message
        else:
            attempted = cast("Attempted", message)
            if attempted.attempt.ending == "exception":
                self._remove(worker)
            worker.state, worker.deadline, worker.playing = "idle", float("inf"), None
            yield Ended(attempt=attempted.attempt, record=attempted.record)

    def _lost(self, worker: _Worker, ending: Ending) -> Iterator[Ended]:
        """A worker died or hung: remove it, and try its episode again or record the error."""
        self._remove(worker)
        limit = self._options.build_timeout if worker.state == "building" else self._options.timeout
        cause = (
            f"nothing came back within {limit:g} s, so the worker was killed"
            if ending == "timeout"
            else f"the worker process died ({processes.how_it_ended(worker.process.returncode)})"
        )
        if worker.state == "building":
            self._schedule.build_failed(cause, log=_end(worker))
        elif worker.playing is not None:
            yield self._schedule.lost(worker.playing, ending, cause=cause, log=processes.tail(worker.log))

    def _unserved(self, worker: _Worker, message: Unserved) -> Iterator[Ended]:
        """The process that held the policy died while it had a worker's question: as if that had died itself."""
        self._remove(worker)
        if worker.playing is None or self._host is None:
            self._schedule.build_failed(message.report, log=_end(worker))
            return
        cause, log = self._host.why_lost(worker.number, worker.playing.since)
        yield self._schedule.lost(worker.playing, "died", cause=cause, log=log)

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.kill()

    def _dismiss(self) -> None:
        """Let the workers close their worlds, for a while."""
        until = time.monotonic() + _GRACE
        idle = [worker for worker in self._workers if worker.state == "idle"]
        for worker in idle:
            with contextlib.suppress(OSError):
                worker.connection.send(None)
        for worker in idle:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, until - time.monotonic()))
        if self._host:
            self._host.dismiss()


def _host(options: PoolOptions) -> PolicyHost | None:
    if options.shared is None:
        return None
    return PolicyHost(
        Holding(
            world=options.world,
            policy=options.shared.policy,
            devices=options.shared.devices,
            logs=options.folder.absolute() / LOGS,
            threads=options.threads,
            timeout=options.timeout,
            build_timeout=options.build_timeout,
            max_tries=options.max_tries,
        )
    )


def _end(worker: _Worker) -> str:
    return f"The end of {worker.log}:\n{processes.tail(worker.log)}"
