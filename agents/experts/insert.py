"""Putting an object into a compartment from the front, and pushing it in where the hand cannot follow."""

from __future__ import annotations

import dataclasses

import numpy as np

from .enclosure import Enclosure
from .grasps import Grasp
from .motion import CLOSE, OPEN, Command, cross_over, from_above, leaning, level
from .place import let_go
from .scene import SHUT_WIDTH, View
from .touch import nudge

_ROOM = 0.004
"""The palm stays this far before the lid, metres."""
_WALL = 0.006
"""The object stays this far from the walls, metres."""
_HOVER = 0.01
"""The object is moved in at this height above the floor, metres."""
_LEVEL = (0.003, 0.02)
"""Heights of the object's lowest point above the floor between which it may go in, metres."""
_ALIGNED = 0.01
"""… and how far it may be to the side then, metres."""
_BEFORE = 0.02
"""The object waits this far before the lid until it may go in, metres."""
_OVER = 0.02
"""The hand goes down when it is this near to above the place before the front, metres."""
_THERE = 0.006
"""The object is as deep as it will be when it is this near, metres."""
_SAFE = 0.01
"""An object counts as inside when it is inside by this much, metres."""
_SHORTFALL = 3.0
"""What a metre by which a grasp leaves the object too far out takes off the grasp's score."""
_STANDS = 0.015
"""An object this near to the floor stands on it, metres."""
_LEAN = 0.6
"""The palm leans out by this angle while the fingertips push something in, radians."""
_PUSH_HEIGHT = 0.05
"""… and touch it this far above the floor, metres."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Fit:
    """An object with respect to a compartment; coordinates as in `Enclosure`.

    Attributes:
        depth: of the origin, along ``outwards``.
        inner: the least one of its points.
        outer: the greatest one.
        aside: of the origin, along ``across``.
        bottom: height of its lowest point above the floor, metres.
        between: whether it is lower than the lid and not below the floor.
    """

    depth: float
    inner: float
    outer: float
    aside: float
    bottom: float
    between: bool


def _fit(view: View, name: str, box: Enclosure) -> _Fit:
    points, origin = view.points(name), view.position(name)
    depth, heights = points @ box.outwards, points[:, 2]
    return _Fit(
        depth=float(origin @ box.outwards),
        inner=float(depth.min()),
        outer=float(depth.max()),
        aside=float(origin @ box.across),
        bottom=float(heights.min()) - box.floor,
        between=bool(heights.max() < box.ceiling and heights.min() > box.floor - 0.01),
    )


def insert(view: View, name: str, box: Enclosure, *, satisfied: bool) -> Command:
    """One step of putting the held object in: before the front, in, down, let go.

    Args:
        view: the scene; the hand holds the object.
        name: the object.
        box: where it goes.
        satisfied: whether the goal holds already, so that only letting go is left.
    """
    hand, fit = view.hand, _fit(view, name, box)
    rotation = level(view, hand.position)
    across = (view.points(name) - view.position(name)) @ box.across
    walls = box.sides[0] - across.min() + _WALL, box.sides[1] - across.max() - _WALL
    aside = float(np.clip(box.lane, *walls)) - fit.aside
    by_hand = box.hand_limit(rotation) + _ROOM + fit.depth - float(hand.position @ box.outwards)
    inwards = max(box.deep, by_hand, box.back + fit.depth - fit.inner + _WALL) - fit.depth
    inside = fit.between and fit.inner < box.edge
    if inside and (satisfied or abs(inwards) < _THERE):
        down = hand.position - np.array([0.0, 0.0, fit.bottom + _WALL])
        done = fit.bottom < _LEVEL[0] or view.rests(name)
        return Command(position=down, rotation=rotation, grip=OPEN if done else CLOSE, phase="set down", speed=0.5)
    rise = np.array([0.0, 0.0, _HOVER - fit.bottom])
    if inside or (abs(aside) < _ALIGNED and _LEVEL[0] < fit.bottom < _LEVEL[1]):
        position = hand.position + inwards * box.outwards + aside * box.across + rise
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="insert", speed=0.5)
    outwards = box.edge + _BEFORE - fit.inner
    before = hand.position + outwards * box.outwards + aside * box.across + rise
    if float(np.linalg.norm((before - hand.position)[:2])) > _OVER:
        position = cross_over(view, before, clear=float(hand.position[2]) - fit.bottom - box.floor, excluded=(name,))
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="carry")
    return Command(position=before, rotation=rotation, grip=CLOSE, phase="lower")


def stands_inside(view: View, name: str, box: Enclosure) -> bool:
    """Whether an object stands in the doorway, so that pushing is enough."""
    fit = _fit(view, name, box)
    return fit.between and fit.bottom < _STANDS and fit.depth < box.edge + _SAFE and fit.inner < box.edge


def push_in(view: View, name: str, box: Enclosure) -> Command:
    """One step of pushing an object that stands in the doorway further in with the closed fingertips."""
    if view.hand.width > SHUT_WIDTH and view.straddles(name):
        return let_go(view)
    fit = _fit(view, name, box)
    height = box.floor + _PUSH_HEIGHT
    point = fit.outer * box.outwards + fit.aside * box.across + np.array([0.0, 0.0, height])
    return nudge(view, point, -box.outwards, leaning(view, box.outwards, _LEAN), half=0.0, depth=0.0)


def entry_cost(view: View, name: str, box: Enclosure, grasp: Grasp) -> float:
    """What a grasp's score loses because the palm stops before the lid and leaves the object too far out."""
    limit = box.hand_limit(from_above(view, grasp.position, grasp.axis)) + _ROOM
    depth = limit + float((view.position(name) - grasp.position) @ box.outwards)
    return _SHORTFALL * max(0.0, depth - (box.shallow - _SAFE))
