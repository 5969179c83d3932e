"""The account of reasoner calls: which trigger, at which frame, how long, how many tokens."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from ...cost import Cost, Stopwatch
from ...perception.reasoner import Reply
from .states import TRIGGERS, State


@dataclasses.dataclass
class CallLog:
    """The calls of an episode, and the present decision's share of them.

    Attributes:
        calls: one entry per call: frame, trigger, seconds, tokens and why.
        cost: of the present decision.
        watch: seconds by stage of the present decision.
        called: whether the present decision asked.
    """

    calls: list[dict[str, Any]] = dataclasses.field(default_factory=list[dict[str, Any]])
    cost: Cost = dataclasses.field(default_factory=Cost)
    watch: Stopwatch = dataclasses.field(default_factory=Stopwatch)
    called: bool = False

    def begin(self) -> None:
        """Start the account of the next decision."""
        self.cost, self.watch, self.called = Cost(), Stopwatch(), False

    def ask[T](self, trigger: State, frame: int, question: Callable[[], Reply[T]]) -> Reply[T]:
        """Ask, and write down what it cost."""
        began = time.perf_counter()
        with self.watch("reason"):
            reply = question()
        self.called = True
        self.cost += reply.cost
        tokens = reply.cost.prompt_tokens + reply.cost.completion_tokens
        entry = {"frame": frame, "trigger": TRIGGERS[trigger], "tokens": tokens, "why": reply.why}
        self.calls.append({**entry, "seconds": time.perf_counter() - began})
        return reply

    def total(self) -> Cost:
        """The present decision's ledger."""
        return self.cost + Cost(seconds=self.watch.seconds)
