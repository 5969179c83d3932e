"""The operator's keyboard: keys act at once, in a thread of their own."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self


class Keyboard:
    """Reads single keys of the terminal and calls what they mean.

    Without a terminal it reads nothing, and only a program can arm.

    Args:
        actions: key to function; called in the keyboard's thread.  Capital letters mean the same.
        armed: the answer of the first `wants_to_arm`: a program's word instead of an operator's key.
    """

    def __init__(self, actions: Mapping[str, Callable[[], object]], *, armed: bool = False) -> None:
        self._actions = {"a": self._ask_to_arm, "q": self.stop, **actions}
        self._arm = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._settings: list[object] | None = None
        self._word = armed

    @property
    def stopping(self) -> bool:
        """Whether the operator ends the deployment."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End the deployment."""
        self._stop.set()

    def wants_to_arm(self) -> bool:
        """Whether arming was asked for since the last call."""
        asked = self._word or self._arm.is_set()
        self._word = False
        self._arm.clear()
        return asked

    def forget(self) -> None:
        """Drop a key that asked to arm before now."""
        self._arm.clear()

    def __enter__(self) -> Self:
        if sys.stdin.isatty():
            self._settings = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
            self._thread = threading.Thread(target=self._read, name="keyboard", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._settings is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._settings)  # pyright: ignore[reportArgumentType]  # what tcgetattr gave

    def press(self, key: str) -> None:
        """Do what a key means; keys without a meaning do nothing."""
        action = self._actions.get(key.lower())
        if action is not None:
            action()

    def _ask_to_arm(self) -> None:
        self._arm.set()

    def _read(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([sys.stdin], [], [], 0.1)
            if ready:
                self.press(os.read(sys.stdin.fileno(), 1).decode(errors="ignore"))
