"""The privileged expert for LIBERO: a function of the simulator's state and the episode's seed."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ...envs import Array
from ...envs.libero.problem import Predicate, Problem
from .articulate import articulate
from .clearance import way_out
from .enclosure import enclosure
from .goals import PLACES, companions, entrance, goal_of, order_goals
from .grasp_book import GraspBook
from .insert import entry_cost, insert, push_in, stands_inside
from .modes import Modes
from .motion import CLOSE, Command, level, servo
from .pick import free, pick
from .place import let_go, place
from .predicates import holds
from .scene import WIDE, Scene, View
from .slide import is_flat, pull_out, slide
from .targets import TIGHT, place_target, place_tolerance, place_turn, put_down_target

_OPENING = 0.01
"""Fingers that open faster than this go on opening, metres per second."""
_SETTLED = 0.02
"""Fingers that move more slowly than this have closed, metres per second."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
    """What the expert says.

    Attributes:
        action: ``float32[7]``.
        phase: the present phase, such as ``"pick milk_1: descend"``.
    """

    action: Array
    phase: str


class LiberoExpert:
    """Says the right action at any state of one task.

    It remembers nothing between calls; what it keeps are results of pure functions.

    Args:
        model: the task's ``mujoco.MjModel``.
        problem: the task's BDDL problem.
    """

    def __init__(self, model: Any, problem: Problem) -> None:
        self.scene = Scene(model)
        self.problem = problem
        self._book = GraspBook(self.scene)

    def advise(self, data: Any, *, seed: int) -> Advice:
        """The action at a state.

        Args:
            data: the simulation's ``mujoco.MjData``; it is only read.
            seed: the episode's: picks among the right ways.
        """
        view = self.scene.view(data)
        command, task = self._decide(view, Modes(seed=seed))
        return Advice(action=servo(view.hand, command), phase=f"{task}: {command.phase}")

    def _decide(self, view: View, modes: Modes) -> tuple[Command, str]:
        goals = order_goals(self.problem, modes)
        held = view.held
        if held is not None and not is_flat(view.points(held), view.rotation(held)):
            return self._carry(view, goals, held), f"place {held}"
        touched = view.fingered()
        if touched and view.hand.width < WIDE and all(_at_home(view, goals, name) for name in touched):
            return let_go(view), f"place {touched[0]}"
        for goal in goals:
            if not holds(view, goal):
                return self._pursue(view, goals, goal, modes)
        return let_go(view), "done"

    def _pursue(self, view: View, goals: list[Predicate], goal: Predicate, modes: Modes) -> tuple[Command, str]:
        if goal[0] not in PLACES:
            return articulate(view, goal), " ".join(goal)
        needed = entrance(view, self.problem, goal)
        if needed is not None:
            return articulate(view, needed), " ".join(needed)
        name = goal[1]
        box = enclosure(view, goal[2], name) if goal[0] == "in" else None
        if box is not None and stands_inside(view, name, box):
            return push_in(view, name, box), f"push {name} in"
        flat = is_flat(view.points(name), view.rotation(name))
        away = None if flat else way_out(view, name)
        if away is not None:
            return pull_out(view, name, away), f"pull {name} out"
        grasps = [] if flat else self._book.grasps(view, name)
        if grasps:
            cost = free if box is None else functools.partial(entry_cost, view, name, box)
            return pick(view, name, grasps, modes, cost=cost), f"pick {name}"
        return slide(view, name, place_target(view, goal, companions(goals, goal))), f"slide {name}"

    def _carry(self, view: View, goals: list[Predicate], name: str) -> Command:
        hand, goal = view.hand, goal_of(goals, name)
        if hand.width_rate > _OPENING:
            return let_go(view)
        if hand.width_rate < -_SETTLED:
            return Command(position=hand.position, rotation=level(view, hand.position), grip=CLOSE, phase="close")
        if goal is None or entrance(view, self.problem, goal) is not None:
            target = put_down_target(view, name)
            return place(view, name, target, satisfied=False, tolerance=TIGHT)
        satisfied = holds(view, goal)
        box = enclosure(view, goal[2], name) if goal[0] == "in" else None
        if box is not None:
            return insert(view, name, box, satisfied=satisfied)
        target = place_target(view, goal, companions(goals, goal))
        tolerance, turn = place_tolerance(view, goal), place_turn(view, goal)
        return place(view, name, target, satisfied=satisfied, tolerance=tolerance, turn=turn)


def _at_home(view: View, goals: list[Predicate], name: str) -> bool:
    """Whether an object is where the goal wants it."""
    goal = goal_of(goals, name)
    return goal is not None and holds(view, goal)
