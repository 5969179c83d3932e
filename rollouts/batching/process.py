"""The policy process: holds one policy and answers the workers over sockets of the file system.

While it computes, the questions of other workers gather; they are answered together next.  Nothing waits for a batch
to fill, so a lone worker is answered at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import pickle
import signal
import socket
import sys
from multiprocessing.connection import Connection, wait
from pathlib import Path

from ...envs import World
from ..processes import die_with_parent
from .answering import Holder, hold
from .line import Answer, Call, Unbuilt

_BACKLOG = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class Held:
    """What a policy process is told first.

    Attributes:
        world: for its conventions and spaces; nothing is simulated.
        policy: the ``--policy`` value.
        path: of the socket that workers connect to.
        timeout: seconds that one answer may take before the process counts as hung and ends itself.
        parent: the driver's process id.
    """

    world: World
    policy: str
    path: Path
    timeout: float
    parent: int


def serve(connection: Connection) -> None:
    """Build the policy, then answer until the driver sends None or goes away."""
    held: Held = pickle.loads(connection.recv_bytes())  # noqa: S301 - the parent's bytes
    die_with_parent(held.parent, connection)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(held.path))
        server.listen(_BACKLOG)
        holder = hold(held.world, held.policy)
        connection.send("built")
        _Desk(holder, server, held.timeout).work(connection)
    if isinstance(holder, Holder):
        sys.stderr.write(f"{holder.proposals} proposals in {holder.calls} calls of the policy\n")


class _Desk:
    """The workers that are connected, and their questions."""

    def __init__(self, holder: Holder | Unbuilt, server: socket.socket, timeout: float) -> None:
        self._holder, self._server, self._timeout = holder, server, timeout
        self._about = holder.about() if isinstance(holder, Holder) else holder
        self._workers: list[Connection] = []

    def work(self, driver: Connection) -> None:
        """Answer until the driver says something, or the policy is in a state that nobody knows."""
        while not isinstance(self._holder, Holder) or self._holder.sound:
            talking = wait([driver, self._server, *self._workers])
            if driver in talking:
                return
            if self._server in talking:
                self._greet()
            asked = [worker for worker in self._workers if worker in talking]
            received = [(worker, self._receive(worker)) for worker in asked]
            self._answer([(worker, call) for worker, call in received if call is not None])

    def _greet(self) -> None:
        accepted, _ = self._server.accept()
        worker = Connection(accepted.detach())
        self._workers.append(worker)
        self._send(worker, self._about)

    def _receive(self, worker: Connection) -> Call | None:
        try:
            return worker.recv()
        except (EOFError, OSError):
            self._drop(worker)
            return None

    def _answer(self, asked: list[tuple[Connection, Call]]) -> None:
        if not asked or isinstance(self._holder, Unbuilt):
            return
        # Works in native code too, where a signal or a thread of Python's own would wait for the interpreter's lock.
        faulthandler.dump_traceback_later(self._timeout, exit=True)
        answers = self._holder.answer([call for _, call in asked])
        faulthandler.cancel_dump_traceback_later()
        for (worker, _), answer in zip(asked, answers, strict=True):
            self._send(worker, answer)

    def _send(self, worker: Connection, message: object) -> None:
        try:
            worker.send(message)
        except OSError:
            self._drop(worker)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            worker.send(Answer(error=RuntimeError(f"the policy's answer cannot be sent: {error}")))

    def _drop(self, worker: Connection) -> None:
        """A worker went away: nobody waits for its answer any more."""
        with contextlib.suppress(ValueError):
            self._workers.remove(worker)
        worker.close()


def main() -> None:
    """The whole process; the descriptor of the driver's socket is the only argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, OSError):
        # The driver went away.
        sys.exit(1)
