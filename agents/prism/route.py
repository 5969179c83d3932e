"""The rule-based reasoner for Room-to-Room's synthetic instructions: an embedded stand-in for a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...envs import derive_seed
from ...errors import ModelError
from .contract import Critique, Memory, Said, Situation
from .rules import evidence, timed

LIMITS = (
    "embedded rule-based reasoner: knows the synthetic houses' instructions and nothing else; a mechanism test, "
    "not evidence for what a language model would do"
)
"""Printed with every figure that it makes."""

_STEP = re.compile(r"(?:go to|stop at) the (?P<mark>[\w ]+?) in the [\w ]+?(?=[,.]|$)")
_SEEN = (
    re.compile(r"towards (?P<way>go \d+) i see (?P<things>[^.]*)"),
    re.compile(r"towards (?P<way>go \d+) you see (?P<things>[^.]*)"),
)
_ANSWERED = re.compile(r"i see (?P<things>a [\w ]+?) towards (?P<way>go \d+)")


class RouteReasoner:
    """See `Reasoner`: it walks from landmark to landmark, and wanders where it does not see the next one."""

    @property
    def name(self) -> str:
        """That it is embedded."""
        return "rules (embedded)"

    def critique(self, situation: Situation, *, questions: int, seed: int) -> Said[Critique]:
        """Asks for the next landmark where the description does not show it."""
        del seed, questions

        def think() -> Critique:
            mark = _next_mark(situation)
            known = mark == "" or _way_to(mark, evidence(situation)) != "" or bool(situation.answers)
            question = f"In which direction do you see the {mark}?"
            return Critique(sufficient=known, missing=[] if known else [mark], questions=[] if known else [question])

        return timed(situation, think, lambda critique: critique.model_dump_json())

    def synthesise(self, situation: Situation, *, seed: int) -> Said[str]:
        """Where the next landmark is."""
        del seed

        def think() -> str:
            mark = _next_mark(situation)
            way = _way_to(mark, evidence(situation)) if mark else ""
            if not mark:
                return "All landmarks were reached."
            return f"Towards {way} I see a {mark}." if way else f"The {mark} is not to be seen."

        return timed(situation, think, str)

    def decide(self, situation: Situation, *, seed: int) -> Said[str]:
        """Walks to the next landmark, wanders, or stops after the last one."""
        del seed

        def think() -> str:
            mark = _next_mark(situation)
            ways = [choice for choice in situation.choices if choice.startswith("go ")]
            if not mark or not ways:
                return "stop"
            way = _way_to(mark, situation.summary)
            wandering = derive_seed(situation.task, len(situation.memory)) % len(ways)
            return way if way in situation.choices else ways[wandering]

        return timed(situation, think, str)

    def describe(self) -> dict[str, Any]:
        """That it is embedded, and its limits."""
        return {"reasoner": "rules", "limits": LIMITS}


def _next_mark(situation: Situation) -> str:
    """The landmark that comes next, or empty when all were reached.

    Raises:
        ModelError: the instruction names none in the form that it knows.
    """
    marks = [match["mark"] for match in _STEP.finditer(situation.task.lower())]
    if not marks:
        raise ModelError(
            f"the rule-based reasoner understands only the synthetic houses' instructions, not {situation.task!r}. "
            "Use a language model: --llm openai:MODEL."
        )
    reached = _reached(marks, situation.memory)
    return marks[reached] if reached < len(marks) else ""


def _reached(marks: Sequence[str], memory: Sequence[Memory]) -> int:
    reached = 0
    for past in memory:
        if reached < len(marks) and past.action == _way_to(marks[reached], past.summary):
            reached += 1
    return reached


def _way_to(mark: str, text: str) -> str:
    """The way towards which a text says that a landmark is, or empty."""
    for pattern in (*_SEEN, _ANSWERED):
        for match in pattern.finditer(text.lower()):
            if re.search(rf"\ba {re.escape(mark)}\b", match["things"]):
                return match["way"]
    return ""
