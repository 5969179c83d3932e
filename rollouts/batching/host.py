"""The policy processes of a run, seen from its driver: started, replaced when they die, and stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from ...envs import World
from ...errors import WorldError
from .. import processes
from .process import Held
from .socket_line import SocketAddress

_MODULE = f"{__package__}.process"
_GRACE = 5.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Holding:
    """What is held and how.

    Attributes:
        world: for its conventions and spaces.
        policy: the ``--policy`` value.
        devices: one process each: what ``CUDA_VISIBLE_DEVICES`` says in it, or None to leave that as it is.
        logs: folder of their logs.
        threads: of the numeric libraries.
        timeout: seconds that one answer may take.
        build_timeout: seconds that workers wait for a process to come up.
        max_tries: how often in a row a process may die before it has built its policy.
    """

    world: World
    policy: str
    devices: Sequence[str | None]
    logs: Path
    threads: int
    timeout: float
    build_timeout: float
    max_tries: int


@dataclasses.dataclass(kw_only=True)
class _Process:
    device: str | None
    path: Path
    log: Path
    process: subprocess.Popen[bytes]
    connection: Connection
    deaths: int = 0
    died: float = float("-inf")
    cause: str = ""


class PolicyHost:
    """Starts a process per device, and replaces one that ends.

    Args:
        holding: what they hold.
    """

    def __init__(self, holding: Holding) -> None:
        self._holding = holding
        # Readable by this user alone: whoever can write to a socket in it runs code, because messages are pickles.
        self._folder = Path(tempfile.mkdtemp(prefix="thinktwice-"))
        self._processes: list[_Process] = []
        for number, device in enumerate(holding.devices):
            path, log = self._folder / f"policy-{number}", holding.logs / f"policy-{number}.log"
            process, connection = self._start(device, path, log)
            self._processes.append(_Process(device=device, path=path, log=log, process=process, connection=connection))

    @property
    def connections(self) -> list[Connection]:
        """One per process; it can be read when that process ended."""
        return [held.connection for held in self._processes]

    def address(self, worker: int) -> SocketAddress:
        """Where the worker of this number asks."""
        return SocketAddress(path=self._of(worker).path, patience=self._holding.build_timeout)

    def hear(self, connections: Sequence[object]) -> None:
        """Hear the processes at these connections, and start those anew that ended.

        Raises:
            WorldError: one ended ``max_tries`` times in a row before its policy was built.
        """
        for held in self._processes:
            if held.connection in connections:
                self._hear(held)

    def why_lost(self, worker: int, since: float) -> tuple[str, str]:
        """What became of the process that the worker of this number asked, and the end of its log.

        Args:
            worker: its number.
            since: when the worker's episode began, on the monotonic clock; a death before it does not matter.
        """
        held = self._of(worker)
        if held.died < since and held.connection.poll(_GRACE):
            self._hear(held)
        cause = held.cause if held.died >= since else "the policy process hung up"
        return cause, f"{held.log}:\n{processes.tail(held.log)}"

    def dismiss(self) -> None:
        """Let them say what they did, for a while."""
        until = time.monotonic() + _GRACE
        for held in self._processes:
            with contextlib.suppress(OSError):
                held.connection.send(None)
        for held in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                held.process.wait(max(0.0, until - time.monotonic()))

    def stop(self) -> None:
        """End all of them at once."""
        for held in self._processes:
            processes.kill(held.process)
            held.connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _of(self, worker: int) -> _Process:
        return self._processes[worker % len(self._processes)]

    def _hear(self, held: _Process) -> None:
        try:
            held.connection.recv()
        except (EOFError, OSError):
            self._replace(held)
        else:
            # All that it ever says is that its policy is built.
            held.deaths = 0

    def _replace(self, held: _Process) -> None:
        processes.kill(held.process)
        held.connection.close()
        held.cause = f"the policy process died ({processes.how_it_ended(held.process.returncode)})"
        held.died, held.deaths = time.monotonic(), held.deaths + 1
        if held.deaths >= self._holding.max_tries:
            raise WorldError(
                f"{held.cause} {held.deaths} times in a row before it had built {self._holding.policy!r}; nothing was "
                f"recorded of the episodes that are left. The end of {held.log}:\n{processes.tail(held.log)}"
            )
        held.path.unlink(missing_ok=True)
        held.process, held.connection = self._start(held.device, held.path, held.log)

    def _start(self, device: str | None, path: Path, log: Path) -> tuple[subprocess.Popen[bytes], Connection]:
        holding = self._holding
        environment = processes.environment(threads=holding.threads, sharing=1)
        if device is not None:
            environment["CUDA_VISIBLE_DEVICES"] = device
        process, connection = processes.start(_MODULE, log=log, environment=environment)
        held = Held(world=holding.world, policy=holding.policy, path=path, timeout=holding.timeout, parent=os.getpid())
        with contextlib.suppress(OSError):
            # Where it died at once, the end of its stream is read next.
            connection.send_bytes(pickle.dumps(held))
        return process, connection
