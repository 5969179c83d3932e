"""From a task's goal to the one predicate that should be worked on now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...envs.libero.problem import Predicate, Problem
from .modes import Modes
from .predicates import holds
from .scene import View

_DRAWER_WIDE, _DOOR_WIDE = -0.11, -1.2
"""Drawers (metres) and doors (radians) that are at least this far open take objects."""

PLACES = ("on", "in")
"""Predicates whose first argument is an object to move."""


def order_goals(problem: Problem, modes: Modes) -> list[Predicate]:
    """The goal's predicates in an order in which they can be achieved.

    What must come first: an object before the object that goes on it, everything that goes into a fixture before
    that fixture is closed, and closing one drawer before opening another of the same fixture.  Where several orders
    remain, the episode's seed picks one.
    """
    waiting = modes.order("goals", problem.goal)
    ordered: list[Predicate] = []
    while waiting:
        ready = [goal for goal in waiting if not any(_before(problem, other, goal) for other in waiting)]
        chosen = (ready or waiting)[0]
        ordered.append(chosen)
        waiting.remove(chosen)
    return ordered


def _before(problem: Problem, first: Predicate, then: Predicate) -> bool:
    if first == then:
        return False
    if then[0] == "on" and first[0] in PLACES and first[1] == then[2]:
        return True
    if then[0] == "close":
        return first[0] in PLACES and (first[2] == then[1] or _fills(problem, first, then))
    if then[0] == "open":
        return first[0] == "close" and fixture_of(problem, first[1]) == fixture_of(problem, then[1])
    return False


def _fills(problem: Problem, first: Predicate, then: Predicate) -> bool:
    """Whether ``first`` puts something into the very fixture (not another drawer of it) that ``then`` closes."""
    return first[0] == "in" and then[1] in problem.fixtures and fixture_of(problem, first[2]) == then[1]


def fixture_of(problem: Problem, name: str) -> str:
    """The fixture or object that a region belongs to; a fixture's own name stays."""
    return problem.regions[name].target if name in problem.regions else name


def goal_of(goals: Iterable[Predicate], name: str) -> Predicate | None:
    """The goal that says where an object belongs, or None."""
    return next((goal for goal in goals if goal[0] in PLACES and goal[1] == name), None)


def companions(goals: Sequence[Predicate], goal: Predicate) -> list[str]:
    """The objects that share a goal's target, in the order of their names: each takes its own part of the place."""
    return sorted(other[1] for other in goals if other[0] in PLACES and other[2] == goal[2])


def entrance(view: View, problem: Problem, goal: Predicate) -> Predicate | None:
    """What must be opened before an object can be put where a goal wants it, or None when the way is free."""
    if goal[0] != "in" or holds(view, goal):
        return None
    fixture = fixture_of(problem, goal[2])
    door = next((name for name in (goal[2], fixture) if view.joint_of(name) is not None), None)
    if door is None or problem.fixtures.get(fixture) is None:
        return None
    joint = view.joint_of(door)
    wide_enough = joint is None or joint.value < (_DOOR_WIDE if joint.hinge else _DRAWER_WIDE)
    return None if wide_enough else ("open", door)
