"""Picking up an object from above."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...envs import Array
from .clearance import palm_fits, surroundings
from .grasps import TIP, Grasp
from .modes import Modes
from .motion import CLOSE, OPEN, Command, cross_over, from_above, rotation_error
from .scene import SHUT_WIDTH, WIDE, Hand, View

_ALIGNED = 0.007
"""The fingers close when the hand is this near to the grasp, metres."""
_TURNED = 0.12
"""… and turned to within this angle, radians."""
_OVER = 0.015
"""The hand goes down when it is this near to above the grasp, and up again when it is farther, metres."""
_UPRIGHT = 0.99
"""The cosine of the palm's lean from which on it needs another room than the upright one of the grasp search."""
_SIDE_BONUS = 0.03
_COMMIT_BONUS = 0.05
_TURN_PENALTY = 0.02
_FAR = 0.70
_FAR_PENALTY = 0.3


def choose(
    grasps: Sequence[Grasp], hand: Hand, middle: Array, base: Array, *, side: float, cost: Callable[[Grasp], float]
) -> Grasp:
    """The grasp to go for, as a function of where the hand is.

    Args:
        grasps: what the object allows, at least one.
        hand: the hand; a grasp that it has nearly reached is kept.
        middle: ``float64[3]``, the object's middle.
        base: ``float64[3]``, the robot's base: what is nearer to it is easier to reach.
        side: -1 or 1: which side of the object, along world y, is preferred where both can be gripped.
        cost: what the place where the object goes takes off a grasp's score.
    """

    def value(grasp: Grasp) -> float:
        offset = grasp.position[1] - middle[1]
        preferred = _SIDE_BONUS if abs(offset) > 0.012 and offset * side > 0 else 0.0
        lateral = float(np.linalg.norm((grasp.position - hand.position)[:2]))
        crossed = 1.0 - abs(float(grasp.axis @ hand.rotation[:, 0]))
        committed = _COMMIT_BONUS * float(np.exp(-((lateral / 0.02) ** 2) - (crossed / 0.1) ** 2))
        turn = abs(float(grasp.axis[0])) / max(1e-6, float(np.linalg.norm(grasp.axis[:2])))
        far = max(0.0, float(np.linalg.norm((grasp.position - base)[:2])) - _FAR)
        return grasp.score + preferred + committed - _TURN_PENALTY * turn - _FAR_PENALTY * far - cost(grasp)

    return max(grasps, key=value)


def free(grasp: Grasp) -> float:
    """No cost: for places that any grasp reaches."""
    del grasp
    return 0.0


def pick(
    view: View, name: str, grasps: Sequence[Grasp], modes: Modes, *, cost: Callable[[Grasp], float] = free
) -> Command:
    """One step of picking an object up: reach above the grasp, descend, close.

    Args:
        view: the scene.
        name: the object.
        grasps: its grasps, at least one.
        modes: the episode's choices.
        cost: see `choose`.
    """
    hand = view.hand
    points = view.points(name)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    reachable = _reachable(view, name, grasps) or grasps
    grasp = choose(reachable, hand, middle, view.base, side=modes.side(f"grasp {name}"), cost=cost)
    return reach_and_close(view, grasp)


def _reachable(view: View, name: str, grasps: Sequence[Grasp]) -> list[Grasp]:
    """The grasps at which the palm touches nothing although it leans."""
    turned = [(grasp, from_above(view, grasp.position, grasp.axis)) for grasp in grasps]
    if all(rotation[2, 2] < -_UPRIGHT for _, rotation in turned):
        return list(grasps)
    points = surroundings(view, name)
    return [
        grasp for grasp, rotation in turned if rotation[2, 2] < -_UPRIGHT or palm_fits(points, grasp.position, rotation)
    ]


def reach_and_close(view: View, grasp: Grasp) -> Command:
    """One step towards a grasp: above it, down, and shut."""
    hand = view.hand
    rotation = from_above(view, grasp.position, grasp.axis)
    error = hand.position - grasp.position
    lateral = float(np.linalg.norm(error[:2]))
    turned = float(np.linalg.norm(rotation_error(hand.rotation, rotation)))
    if _should_close(hand, lateral=lateral, height=abs(float(error[2])), turned=turned):
        return Command(position=grasp.position, rotation=rotation, grip=CLOSE, phase="close")
    if hand.width < WIDE:
        # Open before going anywhere near, and not downwards.
        position = cross_over(view, grasp.position, clear=TIP)
        return Command(position=position, rotation=rotation, grip=OPEN, phase="open")
    if lateral > _OVER or turned > 0.4:
        position = cross_over(view, grasp.position, clear=TIP)
        return Command(position=position, rotation=rotation, grip=OPEN, phase="reach")
    rise = max(0.0, lateral - 0.005) * 5 + max(0.0, turned - 0.1) * 0.1
    position = grasp.position + np.array([0.0, 0.0, rise])
    return Command(position=position, rotation=rotation, grip=OPEN, phase="descend")


def _should_close(hand: Hand, *, lateral: float, height: float, turned: float) -> bool:
    if hand.width_rate > 0.02 or hand.width < SHUT_WIDTH:
        return False
    if hand.width < WIDE or hand.width_rate < -0.01:
        return lateral < 0.025 and height < 0.025
    return lateral < _ALIGNED and height < _ALIGNED and turned < _TURNED
