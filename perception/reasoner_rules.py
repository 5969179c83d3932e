"""The rule-based reasoner: tables instead of a language model.

It reads the same tables from which the rooms' expressions and furnishing are drawn (what stands in which room, which
kinds serve which need), so it stands for a model with perfect common sense about these houses, and says nothing
about what a real model would know.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..cost import Cost
from ..envs import Array
from ..envs.rooms.expressions import understand
from ..envs.rooms.furnish import ROOM_FURNITURE, ROOM_OBJECTS
from ..envs.rooms.furniture import FURNITURE
from ..envs.rooms.queries import Query
from .reasoner import Facts, Option, Reply, Verdict

_CALL = Cost(vlm_calls=1)
NEAR = 2.0
"""Metres within which a look is good enough to believe what it does not show."""


class RuleReasoner:
    """Answers from tables; every answer counts as one call of no tokens."""

    name = "rules"

    def understand(self, expression: str) -> Reply[Query]:
        """The grammar's own inverse."""
        goal = understand(expression)
        return Reply(value=goal, why=f"it asks for {' or '.join(goal.kinds)}", cost=_CALL)

    def rank(self, expression: str, goal: Query, options: Sequence[Option], image: Array | None) -> Reply[list[float]]:
        """`value` of each option."""
        del expression, image
        values = [value(goal, option) for option in options]
        best = options[max(range(len(options)), key=values.__getitem__)]
        return Reply(value=values, why=f"{best.name} promises most", cost=_CALL)

    def verify(self, expression: str, goal: Query, facts: Facts, image: Array | None) -> Reply[Verdict]:
        """`agreement`, with the contradiction or the open question named."""
        del expression, image
        verdict, why = agreement(goal, facts)
        return Reply(value=verdict, why=why, cost=_CALL)


def agreement(goal: Query, facts: Facts) -> tuple[Verdict, str]:
    """Whether the facts meet the goal, and the reason.

    A contradiction rejects, a complete match accepts, and anything unknown leaves it unsure.  Where a thing is can
    only contradict from near, because from afar the furniture around it may not have been seen.
    """
    if facts.kind not in goal.kinds:
        return "reject", f"it is a {facts.kind}"
    questions: list[str] = []
    for field in ("colour", "size", "material"):
        wanted, seen = getattr(goal, field), getattr(facts, field)
        if wanted and seen and wanted != seen:
            return "reject", f"its {field} is {seen}"
        if wanted and not seen and field != "material":
            questions.append(field)
    for field, holds, seen in _whereabouts(goal, facts):
        if holds:
            continue
        if seen and facts.distance <= NEAR:
            return "reject", f"it is {seen}"
        questions.append(field)
    return ("unsure", f"unknown: {', '.join(questions)}") if questions else ("accept", "everything asked for holds")


def _whereabouts(goal: Query, facts: Facts) -> list[tuple[str, bool, str]]:
    """What the goal asks of a thing's place: its name, whether it holds, and what is known instead."""
    asked: list[tuple[str, bool, str]] = []
    if goal.support:
        instead = " ".join((facts.supports[0][0], "the", facts.supports[0][1])) if facts.supports else ""
        asked.append(("support", (goal.relation, goal.support) in facts.supports, instead))
    if goal.room:
        asked.append(("room", goal.room == facts.room, f"in the {facts.room}" if facts.room else ""))
    if goal.place:
        asked.append(("place", goal.place == facts.place, f"number {facts.place} from the left" if facts.place else ""))
    return asked


def value(goal: Query, option: Option) -> float:
    """How much an option promises, in metres of walking: likelihood of its room, size, less the way there."""
    worth = 4.0 * likelihood(goal, option.room) + 0.4 * min(option.size, 3.0) - option.distance
    if option.container:
        wanted = goal.relation == "in" and goal.support == option.container
        ruled_out = goal.relation not in ("", "in") or (goal.support and goal.support != option.container)
        worth += 6.0 if wanted else (-30.0 if ruled_out else -8.0)
    return worth


def likelihood(goal: Query, room: str) -> float:
    """From 0 to 1, how likely the goal is in a room; an unnamed room is in between."""
    if not room:
        return 0.5
    if goal.room:
        return float(room == goal.room)
    if goal.support in FURNITURE:
        always, chance = ROOM_FURNITURE[room]
        return 1.0 if goal.support in always else 0.6 if goal.support in chance else 0.0
    return 0.9 if any(kind in ROOM_OBJECTS[room] for kind in goal.kinds) else 0.1
