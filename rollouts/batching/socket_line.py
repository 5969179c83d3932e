"""A worker's line to a policy process of its own machine."""

from __future__ import annotations

import dataclasses
import socket
import time
from multiprocessing.connection import Connection
from pathlib import Path

from .line import About, Answer, Call, PolicyLost, Unbuilt

_PAUSE = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class SocketAddress:
    """Where a policy process listens.

    Attributes:
        path: of its socket.
        patience: seconds to wait until it is there and has built its policy.
    """

    path: Path
    patience: float

    def connect(self) -> SocketLine:
        """A line that is opened when it is first used."""
        return SocketLine(self)


class SocketLine:
    """A line that finds the successor of a policy process that died while it was not asked anything.

    Args:
        address: of the policy process.
    """

    def __init__(self, address: SocketAddress) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._about: About | Unbuilt | None = None

    def about(self) -> About | Unbuilt:
        """What is held; see `thinktwice.rollouts.batching.line.Line`."""
        about = self._about or self._open()
        self._about = about
        return about

    def ask(self, call: Call) -> Answer:
        """Ask and wait; see `thinktwice.rollouts.batching.line.Line`."""
        try:
            self._connected().send(call)
        except OSError:
            # It died before this question, to which nothing has happened: its successor proposes the same.
            self._reopen()
            self._connected().send(call)
        try:
            return self._connected().recv()
        except (EOFError, OSError) as error:
            raise PolicyLost("the policy process went away while it was asked") from error

    def _connected(self) -> Connection:
        if self._connection is None:
            self.about()
        if self._connection is None:
            raise PolicyLost("there is no policy process")
        return self._connection

    def _reopen(self) -> None:
        before = self._about
        self._about = self._open()
        if self._about != before:
            raise PolicyLost("the policy process was replaced by one with another policy")

    def _open(self) -> About | Unbuilt:
        """Connect, and hear what is held: again until it is built, as long as patience lasts."""
        until = time.monotonic() + self._address.patience
        while time.monotonic() < until:
            opened = socket.socket(socket.AF_UNIX)
            try:
                opened.connect(str(self._address.path))
                self._connection = Connection(opened.detach())
                return self._connection.recv()
            except (EOFError, OSError):
                opened.close()
                time.sleep(_PAUSE)
        raise PolicyLost(f"no policy process came up within {self._address.patience:g} s")
