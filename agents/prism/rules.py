"""The rule-based reasoner for ALFWorld: an embedded stand-in for a language model.

It reads the same words as a language model would, knows ALFWorld's templated instructions, and searches, fetches,
treats and places.  It takes only what it was told is there, so what it achieves depends on perception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...cost import Cost, Stopwatch
from ...envs import derive_seed
from ...errors import ModelError
from .contract import Critique, Said, Situation
from .household import TOOLS, Goal, Progress, claims, kind_of, read_goal, read_progress

LIMITS = (
    "embedded rule-based reasoner: knows ALFWorld's templated instructions and nothing else; a mechanism test, "
    "not evidence for what a language model would do"
)
"""Printed with every figure that it makes."""

_REVISITS = 3
"""Visits after which a place where something was seen from afar is no better than any other."""


class RuleReasoner:
    """See `Reasoner` and the module's docstring."""

    @property
    def name(self) -> str:
        """That it is embedded."""
        return "rules (embedded)"

    def critique(self, situation: Situation, *, questions: int, seed: int) -> Said[Critique]:
        """Asks for each kind that it needs here and that neither description nor answers settle."""
        del seed

        def think() -> Critique:
            goal, progress = _read(situation)
            text = evidence(situation)
            asked = " ".join(question.lower() for question, _ in situation.answers)
            missing = [
                kind for kind in _needed(goal, progress) if not claims(text, kind) and f" {kind} " not in f" {asked} "
            ]
            if not progress.location or _closed(situation, progress):
                missing = []
            return Critique(
                sufficient=not missing,
                missing=missing,
                questions=[
                    f"Is there a {kind} anywhere in view, perhaps small or partly hidden?"
                    for kind in missing[:questions]
                ],
            )

        return timed(situation, think, lambda critique: critique.model_dump_json())

    def synthesise(self, situation: Situation, *, seed: int) -> Said[str]:
        """Which of the needed kinds are here."""
        del seed

        def think() -> str:
            goal, progress = _read(situation)
            text = evidence(situation)
            here = [f"a {kind} is here" for kind in _needed(goal, progress) if claims(text, kind)]
            absent = [f"no {kind} is here" for kind in _needed(goal, progress) if not claims(text, kind)]
            return f"At {progress.location or 'the middle of the room'}: " + "; ".join(
                [*here, *absent] or ["nothing new"]
            )

        return timed(situation, think, str)

    def decide(self, situation: Situation, *, seed: int) -> Said[str]:
        """Takes, treats, places, opens or walks on; see the module's docstring."""
        del seed

        def think() -> str:
            goal, progress = _read(situation)
            for action in _preferences(goal, progress, situation):
                if action in situation.choices:
                    return action
            raise ModelError(f"the rule-based reasoner has nothing to do among {len(situation.choices)} actions.")

        return timed(situation, think, str)

    def describe(self) -> dict[str, Any]:
        """That it is embedded, and its limits."""
        return {"reasoner": "rules", "limits": LIMITS}


def _read(situation: Situation) -> tuple[Goal, Progress]:
    goal = read_goal(situation.task)
    return goal, read_progress(goal, situation.memory)


def evidence(situation: Situation) -> str:
    """What the perceiver said about this scene, all together."""
    return "\n".join([situation.description, *(answer for _, answer in situation.answers)])


def _needed(goal: Goal, progress: Progress) -> list[str]:
    """What it still has to find: the target while its hands are empty, and the lamp until it is known."""
    needed = [goal.target] if not progress.holding else []
    return needed + ([goal.lamp] if goal.lamp and goal.lamp not in progress.noted else [])


def _closed(situation: Situation, progress: Progress) -> bool:
    return f"open {progress.location}" in situation.choices


def _preferences(goal: Goal, progress: Progress, situation: Situation) -> Sequence[str]:
    """Actions in the order in which it would like to take them, admissible or not."""
    thing = progress.holding
    if not thing:
        return [*_takes(goal, progress, situation), *_search(goal.target, progress, situation)]
    if goal.lamp:
        lamps = [choice for choice in situation.choices if choice.startswith(f"use {goal.lamp} ")]
        return [*lamps, *_search(goal.lamp, progress, situation)]
    if goal.treatment and thing not in progress.treated:
        tool = TOOLS[goal.treatment]
        treats = [c for c in situation.choices if c.startswith(f"{goal.treatment} {thing} with {tool} ")]
        return [*treats, *_walks(progress, situation, tool)]
    if progress.placed:
        # Two things must come into one receptacle.
        (together, *_) = progress.placed.values()
        return [
            f"move {thing} to {together}",
            f"open {together}",
            f"go to {together}",
            *_walks(progress, situation, ""),
        ]
    puts = [choice for choice in situation.choices if choice.startswith(f"move {thing} to {goal.place} ")]
    opens = [f"open {progress.location}"] if kind_of(progress.location) == goal.place else []
    return [*puts, *opens, *_walks(progress, situation, goal.place)]


def _takes(goal: Goal, progress: Progress, situation: Situation) -> list[str]:
    """What it may take here: only kinds that it was told are here, and nothing that it has put where it belongs."""
    if not claims(situation.summary, goal.target):
        return []
    things = [name for name in (_taken(choice, progress.location) for choice in situation.choices) if name]
    free = [thing for thing in things if kind_of(thing) == goal.target and thing not in progress.placed]
    return [f"take {thing} from {progress.location}" for thing in free]


def _taken(choice: str, location: str) -> str:
    """The object that a choice takes from a location, or empty."""
    if choice.startswith("take ") and choice.endswith(f" from {location}"):
        return choice.removeprefix("take ").removesuffix(f" from {location}")
    return ""


def _search(kind: str, progress: Progress, situation: Situation) -> list[str]:
    """Open what is closed here, then walk on: to where the kind was seen, then to what was searched least."""
    opens = [f"open {progress.location}"] if progress.location and not progress.holding else []
    known = [place for place in progress.noted.get(kind, []) if progress.searched[place] < _REVISITS]
    fresh = sorted(
        (choice.removeprefix("go to ") for choice in situation.choices if choice.startswith("go to ")),
        key=lambda place: (progress.searched[place], derive_seed(situation.task, place)),
    )
    return [*opens, *(f"go to {place}" for place in [*known, *fresh])]


def _walks(progress: Progress, situation: Situation, kind: str) -> list[str]:
    """To the receptacles of a kind, the least visited first."""
    walks = [choice.removeprefix("go to ") for choice in situation.choices if choice.startswith("go to ")]
    suited = [place for place in walks if not kind or kind_of(place) == kind]
    return [f"go to {place}" for place in sorted(suited, key=lambda place: (progress.searched[place], place))]


def timed[Value](situation: Situation, think: Callable[[], Value], written: Callable[[Value], str]) -> Said[Value]:
    """The thought with its ledger; an embedded reasoner's tokens are words."""
    watch = Stopwatch()
    with watch("llm"):
        value = think()
    read = [
        situation.task,
        situation.feedback,
        situation.description,
        *(part for pair in situation.answers for part in pair),
    ]
    cost = Cost(
        llm_calls=1,
        prompt_tokens=sum(len(text.split()) for text in read),
        completion_tokens=len(written(value).split()),
        seconds=watch.seconds,
    )
    return Said(value=value, exchanges=(), cost=cost)
