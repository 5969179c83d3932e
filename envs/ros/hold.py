"""The latched hold: what keeps an arm still, and who may release it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

from ...errors import WorldError

type HoldKind = Literal[
    "not armed", "operator", "e-stop", "data", "bridge", "late", "violation", "tracking", "other publisher"
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hold:
    """Why the arm is held.

    Attributes:
        kind: for programs.
        reason: for people.
        at: wall seconds.
    """

    kind: HoldKind
    reason: str
    at: float


class ArmHeld(WorldError):
    """A command was not sent because the arm is held.

    An exception rather than a return value, so that the rest of a chunk cannot follow, and no caller can miss it.

    Args:
        hold: why.
    """

    def __init__(self, hold: Hold) -> None:
        reason = hold.reason.rstrip(".")
        super().__init__(f"the arm is held ({hold.kind}): {reason}. An operator must arm it again.")
        self.hold = hold

    def __reduce__(self) -> tuple[type[ArmHeld], tuple[Hold]]:
        return (ArmHeld, (self.hold,))


class HoldLatch:
    """Held or armed; every way into a hold is open to everybody, and the way out only to `arm`.

    Args:
        on_hold: called once per hold, in the thread that found the reason, with the latch locked.
    """

    def __init__(self, on_hold: Callable[[Hold], None]) -> None:
        self._lock = threading.RLock()
        self._on_hold = on_hold
        self._refusal: str | None = None
        self._requests = 0
        self._hold: Hold | None = Hold(kind="not armed", reason="nobody has armed it yet", at=time.time())

    @property
    def current(self) -> Hold | None:
        """Why the arm is held, or None while it is armed."""
        return self._hold

    @property
    def requests(self) -> int:
        """How often a hold was asked for, also while there was one already."""
        return self._requests

    def hold(self, kind: HoldKind, reason: str) -> bool:
        """Hold the arm; returns whether it was armed before.  The first reason stays until somebody arms.

        An e-stop replaces any other reason, because what it means for the operator differs.
        """
        with self._lock:
            self._requests += 1
            was_armed = self._hold is None
            if was_armed or (kind == "e-stop" and self._hold is not None and self._hold.kind != "e-stop"):
                self._hold = Hold(kind=kind, reason=reason, at=time.time())
                self._on_hold(self._hold)
            return was_armed

    def refuse(self, reason: str | None) -> None:
        """Refuse arming for a reason, which the hold then shows too; None to allow it again."""
        with self._lock:
            self._refusal = reason
            if reason is not None and self._hold is not None:
                self._hold = dataclasses.replace(self._hold, reason=reason)

    def check_arming(self) -> None:
        """Raise `WorldError` while arming is refused; see `refuse`."""
        if self._refusal is not None:
            raise WorldError(f"the arm cannot be armed: {self._refusal}")

    def arm(self, requests: int) -> None:
        """Release the hold: an operator's act.

        Args:
            requests: the latch's `requests` when the operator asked.

        Raises:
            WorldError: arming is refused, or a hold was asked for since.
        """
        with self._lock:
            self.check_arming()
            if self._requests != requests:
                raise WorldError("the arm cannot be armed: a hold was asked for meanwhile. Arm it again.")
            self._hold = None

    def check(self) -> None:
        """Raise `ArmHeld` if the arm is held."""
        with self.armed():
            return

    @contextmanager
    def armed(self) -> Generator[None]:
        """Do something that only an armed arm may do; no hold can come in between.

        Raises:
            ArmHeld: it is held.
        """
        with self._lock:
            if self._hold is not None:
                raise ArmHeld(self._hold)
            yield
