"""Carrying a held object to a place and letting go."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from .motion import CLOSE, OPEN, Command, cross_over, level
from .scene import WIDE, View

_FUNNEL = 0.008
"""The object comes down fully when its error is this much below the tolerance, metres."""
_SQUARE = 0.2
"""… and when it is turned to within half this angle, radians; it is let go within all of it."""
_PRESS = 0.005
"""The object is sent this far below its place, metres."""
_LOWERING = 0.5
"""Limit of the action while lowering: contact should be gentle."""
_START, _TOP_SPEED = 0.3, 0.25
"""The action's limit when carrying begins, and the speed (metres per second) from which it may be full: a sudden start
tears a bowl's rim out of the fingers."""


def place(view: View, name: str, target: Array, *, satisfied: bool, tolerance: float, turn: float = 0.0) -> Command:
    """One step of carrying the held object: lift, cross, turn, lower, let go.

    Args:
        view: the scene; the hand holds the object.
        name: the object.
        target: ``float64[3]``: where its lowest point should be, its origin above x and y, metres.
        satisfied: whether the goal holds already, so that only letting go is left.
        tolerance: horizontal error at which letting go is right, metres.
        turn: how far the object has still to be turned about the vertical, radians.
    """
    hand = view.hand
    origin = view.position(name)
    lowest = float(view.points(name)[:, 2].min())
    error = float(np.linalg.norm((origin - target)[:2]))
    # Where the hand must be for the object to be at the target.
    goal = hand.position + np.array([*(target - origin)[:2], target[2] - lowest])
    rotation = level(view, goal, turn=turn)
    # A little below the target, so that the weight is really put down.
    down = goal - np.array([0.0, 0.0, _PRESS])
    there = satisfied or (error < tolerance and abs(turn) < _SQUARE)
    # A hand that stands on the rim of a basket comes no further: the rest is a short fall.
    if there and (lowest < target[2] + 0.003 or view.rests(name) or view.blocked(name)):
        return Command(position=down, rotation=rotation, grip=OPEN, phase="release")
    if error > tolerance and not satisfied:
        clear = float(hand.position[2]) - min(lowest, float(hand.position[2]) - 0.01)
        position = cross_over(view, goal, clear=clear, excluded=(name,))
        speed = min(1.0, _START + float(np.linalg.norm(hand.velocity)) / _TOP_SPEED)
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="carry", speed=speed)
    rise = 0.0 if satisfied else max(0.0, error - tolerance + _FUNNEL) * 4 + max(0.0, abs(turn) - _SQUARE / 2)
    position = down + np.array([0.0, 0.0, rise])
    return Command(position=position, rotation=rotation, grip=CLOSE, phase="lower", speed=_LOWERING)


def let_go(view: View) -> Command:
    """Open the fingers, then go up: rising early would take the object along."""
    position = view.hand.position + np.array([0.0, 0.0, 0.05 if view.hand.width > WIDE else 0.0])
    return Command(position=position, rotation=level(view, position), grip=OPEN, phase="release")
