"""What the rule-based reasoner makes of an ALFWorld episode: its goal, and how far it has come."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ...errors import ModelError
from .contract import Memory

type Treatment = Literal["", "clean", "heat", "cool"]

TOOLS: dict[Treatment, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}

_WORDS: dict[str, Treatment] = {"clean": "clean", "hot": "heat", "heat": "heat", "cool": "cool", "cold": "cool"}

_GOALS = (
    re.compile(r"(?:put|find) (?P<count>two) (?P<target>\w+) (?:in|and put them in) (?P<place>\w+)"),
    re.compile(r"put a (?P<treat>clean|hot|cool) (?P<target>\w+) in (?P<place>\w+)"),
    re.compile(r"(?P<treat>clean|heat|cool) some (?P<target>\w+) and put it in (?P<place>\w+)"),
    re.compile(r"put (?:a|some) (?P<target>\w+) (?:in|on) (?P<place>\w+)"),
    re.compile(r"look at (?P<target>\w+) under the (?P<lamp>\w+)"),
    re.compile(r"examine the (?P<target>\w+) with the (?P<lamp>\w+)"),
)
"""The instructions of alfworld 0.4.2's goal library."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Goal:
    """An instruction, understood.

    Attributes:
        target: the object's kind.
        count: how many of them.
        treatment: what must be done to it on the way.
        place: the receptacle's kind where it goes, or empty.
        lamp: the lamp's kind under which it is looked at, or empty.
    """

    target: str
    count: int
    treatment: Treatment
    place: str
    lamp: str


def read_goal(task: str) -> Goal:
    """The goal of an instruction.

    Raises:
        ModelError: it is not one of ALFWorld's templated instructions.
    """
    for pattern in _GOALS:
        match = pattern.fullmatch(task.strip().rstrip(".").lower())
        if match is not None:
            found = match.groupdict()
            return Goal(
                target=found["target"],
                count=2 if found.get("count") else 1,
                treatment=_WORDS.get(found.get("treat") or "", ""),
                place=found.get("place") or "",
                lamp=found.get("lamp") or "",
            )
    raise ModelError(
        f"the rule-based reasoner understands only ALFWorld's templated instructions, not {task!r}. "
        "Use a language model: --llm openai:MODEL."
    )


@dataclasses.dataclass(kw_only=True)
class Progress:
    """How far an episode has come, from the memory alone.

    Attributes:
        location: the receptacle that the agent is at, or empty.
        holding: the object that it holds, or empty.
        treated: objects that were cleaned, heated or cooled as the goal asks.
        placed: objects that were put where the goal asks, and the receptacle of each.
        searched: how often each receptacle was looked into.
        noted: receptacles at which a kind was seen, by kind.
    """

    location: str = ""
    holding: str = ""
    treated: set[str] = dataclasses.field(default_factory=set[str])
    placed: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    searched: Counter[str] = dataclasses.field(default_factory=Counter[str])
    noted: dict[str, list[str]] = dataclasses.field(default_factory=dict[str, list[str]])


def read_progress(goal: Goal, memory: Sequence[Memory]) -> Progress:
    """Replay what the world said to the agent's actions."""
    progress = Progress()
    for past in memory:
        for kind in (goal.target, goal.lamp):
            if kind and progress.location and claims(past.summary, kind):
                places = progress.noted.setdefault(kind, [])
                places += [progress.location] if progress.location not in places else []
        _follow(progress, goal, past.action, past.feedback)
    return progress


def claims(text: str, kind: str) -> bool:
    """Whether a text says that a kind is there: it names it, and not only to deny it.

    >>> claims("I see a mug and 2 pens. No book is visible.", "pen"), claims("No book is visible.", "book")
    (True, False)
    """
    sentences = re.split(r"[.;\n]", text.lower())
    named = [sentence for sentence in sentences if re.search(rf"\b{re.escape(kind)}s?\b", sentence)]
    return any(not re.search(r"\b(no|not|hold)\b", sentence) for sentence in named)


def _follow(progress: Progress, goal: Goal, action: str, feedback: str) -> None:
    if match := re.fullmatch(r"go to (?P<place>.+)", action):
        if feedback.startswith("You arrive at"):
            progress.location = match["place"]
            progress.searched[match["place"]] += 1
    elif match := re.fullmatch(r"take (?P<thing>.+) from (?P<place>.+)", action):
        if feedback.startswith("You pick up"):
            progress.holding = match["thing"]
            progress.placed.pop(match["thing"], None)
    elif match := re.fullmatch(r"move (?P<thing>.+) to (?P<place>.+)", action):
        if feedback.startswith("You move"):
            progress.holding = ""
            if kind_of(match["place"]) == goal.place:
                progress.placed[match["thing"]] = match["place"]
    elif (match := re.fullmatch(r"(?P<verb>clean|heat|cool) (?P<thing>.+) with .+", action)) and feedback.startswith(
        f"You {match['verb']}"
    ):
        progress.treated.add(match["thing"])


def kind_of(name: str) -> str:
    """``"mug"`` of ``"mug 1"``."""
    return name.partition(" ")[0]
