"""Worker processes under supervision: one that dies or hangs is replaced, and its episode is tried again.

Every worker has its own socket and at most one episode, so nothing that a killed worker may have held is shared: no
queue can be left locked or half written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, cast

from ..envs import EpisodeId, World
from ..errors import ContractError, WorldError
from .records import AttemptRecord, Ending, EpisodeRecord
from .worker import Assignment, Attempted, Ready, Setup, Stopped

LOGS = "logs"
_GRACE = 10.0
_PROGRAM = f"from {__package__}.worker import main; main()"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """How the episodes are played; nothing here changes what is recorded of them.

    Attributes:
        world: pickles; every worker makes its own environment of it.
        agent: the agent's name in the catalogue.
        agent_options: an instance of its options.
        folder: the run folder.
        workers: how many processes at most.
        threads: threads of the numeric libraries in each.
        timeout: seconds that one attempt at an episode may take.
        build_timeout: seconds that building the world and the agent may take.
        max_tries: how often an episode, or a build, is tried when the process dies or hangs.
    """

    world: World
    agent: str
    agent_options: Any
    folder: Path
    workers: int
    threads: int
    timeout: float
    build_timeout: float
    max_tries: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ended:
    """An attempt ended.

    Attributes:
        attempt: how.
        record: the episode's record, or None when the episode will be tried again.
    """

    attempt: AttemptRecord
    record: EpisodeRecord | None


@dataclasses.dataclass(kw_only=True)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    log: Path
    deadline: float
    state: Literal["building", "idle", "playing"] = "building"
    assignment: Assignment | None = None
    started: str = ""
    since: float = 0.0

    def kill(self) -> None:
        """End the process and whatever it started, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.connection.close()


def play_all(episodes: Sequence[EpisodeId], options: PoolOptions) -> Generator[Ready | Ended]:
    """Play the episodes, yielding what happens.  Close the iterator to stop the workers at once.

    A worker's `Ready` is yielded before it is given its first episode, so that a caller can refuse it by closing.

    Raises:
        ThinkTwiceError: the world or the agent cannot be built, because the call is wrong or, as `WorldError`,
            because it failed ``max_tries`` times in a row.
    """
    pool = _Pool(episodes, options)
    try:
        yield from pool.events()
    finally:
        pool.stop()


class _Pool:
    def __init__(self, episodes: Sequence[EpisodeId], options: PoolOptions) -> None:
        self._options = options
        self._setup = _pickled_setup(options)
        self._waiting = deque(Assignment(episode=episode, attempt=1) for episode in episodes)
        self._workers: list[_Worker] = []
        self._failed_builds = 0

    def events(self) -> Iterator[Ready | Ended]:
        while self._waiting or any(worker.state == "playing" for worker in self._workers):
            self._fill()
            self._assign()
            soonest = min(worker.deadline for worker in self._workers)
            talking = wait([worker.connection for worker in self._workers], max(0.0, soonest - time.monotonic()))
            for worker in [worker for worker in self._workers if worker.connection in talking]:
                yield from self._listen(worker)
            now = time.monotonic()
            for worker in [worker for worker in self._workers if worker.deadline <= now]:
                yield from self._lost(worker, "timeout")
        self._dismiss()

    def stop(self) -> None:
        """Kill every worker that is left."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _fill(self) -> None:
        busy = sum(worker.state == "playing" for worker in self._workers)
        wanted = min(self._options.workers, len(self._waiting) + busy)
        while len(self._workers) < wanted:
            taken = {worker.log for worker in self._workers}
            logs = (self._options.folder / LOGS / f"worker-{number}.log" for number in range(self._options.workers))
            self._workers.append(_start(self._options, self._setup, next(log for log in logs if log not in taken)))

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.state == "idle" and self._waiting:
                worker.assignment = self._waiting.popleft()
                worker.state, worker.since = "playing", time.monotonic()
                worker.deadline = worker.since + self._options.timeout
                worker.started = datetime.now(UTC).isoformat(timespec="seconds")
                with contextlib.suppress(OSError):
                    # Where it died while idle, the end of its stream is read next and the episode is tried again.
                    worker.connection.send(worker.assignment)

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
            self._count_failed_build(worker, message.report)
        elif isinstance(message, Ready):
            self._failed_builds = 0
            worker.state, worker.deadline = "idle", float("inf")
            yield message
        else:
            attempted = cast("Attempted", message)
            if attempted.attempt.ending == "exception":
                self._remove(worker)
            worker.state, worker.deadline, worker.assignment = "idle", float("inf"), None
            yield Ended(attempt=attempted.attempt, record=attempted.record)

    def _lost(self, worker: _Worker, ending: Ending) -> Iterator[Ended]:
        """A worker died or hung: remove it, and try its episode again or record the error."""
        self._remove(worker)
        cause = (
            f"nothing came back within {self._limit(worker):g} s, so the worker was killed"
            if ending == "timeout"
            else f"the worker process died ({_exit(worker.process.returncode)})"
        )
        if worker.state == "building":
            self._count_failed_build(worker, cause)
            return
        assignment = worker.assignment
        if assignment is None:
            return
        last_try = assignment.attempt >= self._options.max_tries
        attempt = AttemptRecord(
            key=assignment.episode.key,
            attempt=assignment.attempt,
            ending=ending,
            worker=worker.process.pid,
            started=worker.started,
            seconds={"total": round(time.monotonic() - worker.since, 6)},
            error=f"{cause}; the end of its log:\n{_tail(worker.log)}",
        )
        if last_try:
            error = f"{cause}, in each of {assignment.attempt} tries"
            yield Ended(attempt=attempt, record=EpisodeRecord(episode=assignment.episode, status="error", error=error))
        else:
            self._waiting.append(dataclasses.replace(assignment, attempt=assignment.attempt + 1))
            yield Ended(attempt=attempt, record=None)

    def _limit(self, worker: _Worker) -> float:
        return self._options.build_timeout if worker.state == "building" else self._options.timeout

    def _count_failed_build(self, worker: _Worker, report: str) -> None:
        self._failed_builds += 1
        if self._failed_builds >= self._options.max_tries:
            raise WorldError(
                f"the world or the agent could not be built in {self._failed_builds} tries in a row; nothing was "
                f"recorded of the episodes that are left. The last try: {report}\n"
                f"The end of {worker.log}:\n{_tail(worker.log)}"
            )

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


def _pickled_setup(options: PoolOptions) -> bytes:
    setup = Setup(
        world=options.world,
        agent=options.agent,
        agent_options=options.agent_options,
        folder=options.folder.absolute(),
        parent=os.getpid(),
    )
    try:
        return pickle.dumps(setup)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ContractError(
            f"world {options.world.name} cannot be sent to a worker process: {error}. A world must pickle; what it "
            "simulates is made in `make`."
        ) from error


def _start(options: PoolOptions, setup: bytes, log: Path) -> _Worker:
    log.parent.mkdir(parents=True, exist_ok=True)
    ours, theirs = socket.socketpair()
    with theirs, log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-X", "faulthandler", "-c", _PROGRAM, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[theirs.fileno()],
            env=_environment(options),
            # Its own group: Ctrl-C reaches the parent alone, and killing the group reaches the worker's children.
            process_group=0,
        )
    connection = Connection(ours.detach())
    worker = _Worker(process=process, connection=connection, log=log, deadline=time.monotonic() + options.build_timeout)
    with contextlib.suppress(OSError):
        # Where it died at once, the end of its stream is read next.
        connection.send_bytes(setup)
    return worker


def _environment(options: PoolOptions) -> dict[str, str]:
    environment = dict(os.environ)
    # Read when numpy, torch and Mesa are first loaded.  The number of threads changes the last bits of a matrix
    # product, so it is fixed by the run and not by how many workers happen to share the machine.
    environment.update(dict.fromkeys(_THREADS, str(options.threads)))
    environment["TOKENIZERS_PARALLELISM"] = "false"
    environment["PYTHONHASHSEED"] = "0"
    environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    environment["LP_NUM_THREADS"] = render_threads(options.workers)
    return environment


def render_threads(workers: int) -> str:
    """Threads of Mesa's software rasteriser per worker, which draws the same pixels with any number of them.

    ``LP_NUM_THREADS`` where that is set, else the machine's cores shared out, at most 8.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return os.environ.get("LP_NUM_THREADS") or str(max(1, min(8, cores // workers)))


def _exit(code: int) -> str:
    if code < 0:
        try:
            return f"signal {-code}, {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _tail(log: Path, size: int = 2000) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read().decode(errors="replace").strip() or "(nothing)"
    except OSError as error:
        return f"(unreadable: {error})"
