"""From a task's goal to the one predicate that should be worked on now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...envs.libero.problem import Predicate, Problem
from .modes import Modes

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
