"""What workers and the holder of a policy say to each other, whatever carries it."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, Protocol

from ...envs import Conventions
from ...errors import ThinkTwiceError

type Method = Literal["propose", "extend", "velocity"]

EXTRAS: tuple[Method, ...] = ("extend", "velocity")
"""What some policies offer beside proposing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class About:
    """What the held policy is.

    Attributes:
        name: as records call it.
        conventions: what it was trained with, or None.
        described: `Policy.describe`.
        extras: which of `EXTRAS` it offers.
    """

    name: str
    conventions: Conventions | None
    described: dict[str, Any]
    extras: tuple[Method, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unbuilt:
    """The policy cannot be built, because the call is wrong; another try would not help."""

    error: ThinkTwiceError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """A question: a method of the policy and its keyword arguments."""

    method: Method
    arguments: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What the method gave, or the exception that it raised."""

    value: Any = None
    error: Exception | None = None


class PolicyLost(Exception):
    """The holder of the policy went away while it had a question of this worker.  No error of the episode."""


class Line(Protocol):
    """One worker's way to a policy that somebody else holds."""

    def about(self) -> About | Unbuilt:
        """What is held; waits until it is built.

        Raises:
            PolicyLost: no holder came up in time.
        """
        ...

    def ask(self, call: Call) -> Answer:
        """Ask and wait for the answer.

        Raises:
            PolicyLost: the holder went away.
        """
        ...


class Address(Protocol):
    """Where a policy is held.  It pickles."""

    def connect(self) -> Line:
        """A line of this worker's own."""
        ...
