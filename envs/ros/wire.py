"""What goes over a rosbridge connection: JSON operations, and what is told about them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ...errors import ContractError


class MalformedMessage(ValueError):
    """A frame or message that does not hold what its kind promises."""


type Message = Mapping[str, Any]
type Handler = Callable[[Message], None]
"""Called in the client's own thread with each message of a topic; it must return at once."""
type EventKind = Literal["connected", "disconnected", "status", "malformed"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    """Something an operator should see.

    Attributes:
        kind: what happened.
        text: the server's or the operating system's own words.
    """

    kind: EventKind
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outage:
    """A connection that is away and is being opened again.

    Attributes:
        reason: why it broke, or why the last try failed.
        since: monotonic seconds when it broke, or when the first try began.
        tries: to open it since then.
        next_try: monotonic seconds; in the past while a try is being made.
    """

    reason: str
    since: float
    tries: int
    next_try: float

    def describe(self, now: float) -> str:
        """In words, at monotonic time ``now``."""
        wait = self.next_try - now
        coming = f"the next in {wait:.1f} s" if wait > 0 else "trying now"
        return f"away for {now - self.since:.1f} s ({self.reason}); {self.tries} tries, {coming}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ActionResult:
    """How an action goal ended.

    Attributes:
        accepted: whether the goal was taken and finished without error.
        status: ``action_msgs/GoalStatus`` (4 is succeeded, 5 cancelled, 6 aborted), None when the server gave none.
        values: the result message, or the server's reason.
    """

    accepted: bool
    status: int | None
    values: Any


@dataclasses.dataclass(kw_only=True)
class Counters:
    """What the client did; only ever grows.

    Attributes:
        sent: published messages that were handed to the network.
        superseded: published messages that a newer one replaced before it was sent.
        expired: published messages that waited longer than they were valid.
        malformed: frames that were no rosbridge message.
        connections: how often a connection was opened.
    """

    sent: int = 0
    superseded: int = 0
    expired: int = 0
    malformed: int = 0
    connections: int = 0


def encode(request: Message) -> str:
    """One operation as JSON text.

    Raises:
        ContractError: it holds a number that is not finite, or something that JSON lacks.
    """
    try:
        return json.dumps(request, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError) as error:
        raise ContractError(f"a message for the bridge must be finite JSON ({error}); nothing was sent.") from error


def decode(frame: str | bytes) -> dict[str, Any]:
    """One operation from a frame.

    NaN inside a message is kept (robots send it for efforts they do not measure); whoever uses a number checks it.

    Raises:
        MalformedMessage: the frame is binary, no JSON, or no rosbridge operation.
    """
    if isinstance(frame, bytes):
        raise MalformedMessage(f"a binary frame of {len(frame)} bytes")
    try:
        operation = json.loads(frame)
    except RecursionError as error:
        raise MalformedMessage("JSON that is nested too deeply") from error
    if not isinstance(operation, dict) or not isinstance(operation.get("op"), str):
        raise MalformedMessage(f"not a rosbridge operation: {frame[:60]!r}")
    return operation
