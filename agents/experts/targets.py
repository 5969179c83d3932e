"""Where an object has to be put so that its predicate holds."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from ...envs.libero.problem import Predicate
from .predicates import holds
from .scene import View, height_along

TIGHT, _ROOMY = 0.02, 0.035
"""Bounds of the tolerance: LIBERO's ``on`` an object allows 0.03, metres."""
_GAP = 0.006
"""Objects that share a region stand this far apart, metres."""
_LONG = 1.5
"""Objects and regions that are longer than wide by this factor have to be brought into line."""
_EDGE = 0.01
"""An object's origin stays this far within a region that it shares, metres."""


def place_target(view: View, goal: Predicate, companions: list[str]) -> Array:
    """Where the lowest point of the goal's object should come to rest, its origin above x and y: ``float64[3]``.

    Args:
        view: the scene.
        goal: ``("on", object, object or region)`` or ``("in", object, region)``.
        companions: the objects that share the region, the goal's own among them.
    """
    support = goal[2]
    site = view.site(support)
    if support in view.scene.roots or site is None:
        middle = view.position(support)[:2]
        points = view.points(support)
    else:
        middle = site.position[:2].copy()
        owner = view.scene.owner_of_body(site.body)
        points = view.body_points(site.body) if owner and site.body in view.scene.body_points else np.zeros((0, 3))
        if len(companions) > 1:
            middle += _own_part(view, goal, companions, np.abs(site.rotation @ site.size))
    floor = float(site.position[2]) if site is not None and not len(points) else -np.inf
    return np.array([*middle, _floor_height(points, middle, floor, goal=goal, view=view)])


def _own_part(view: View, goal: Predicate, companions: list[str], half: Array) -> Array:
    """Where an object's part of a shared region is from the region's middle: ``float64[2]``, metres.

    The parts lie along the region's longer side.  Beside what stands there already the object takes what is left.
    """
    kind, name, support = goal
    along = int(np.argmax(half[:2]))
    own = view.points(name)[:, along] - view.position(name)[along]
    low, high = float(own.min()) - _GAP, float(own.max()) + _GAP
    share = companions.index(name) - (len(companions) - 1) / 2
    place = share * (high - low - _GAP)
    site = view.site(support)
    middle = 0.0 if site is None else float(site.position[along])
    for other in companions:
        if other == name or not holds(view, (kind, other, support)):
            continue
        taken = view.points(other)[:, along] - middle
        sides = float(taken.min()) - high, float(taken.max()) - low
        if sides[0] < place < sides[1]:
            place = min(sides, key=lambda side: abs(side - place))
    # Between walls all of the object has to fit; on a surface its origin.
    reach = (float(own.min()), float(own.max())) if kind == "in" else (-_EDGE, _EDGE)
    limits = -half[along] - reach[0], half[along] - reach[1]
    part = np.zeros(2)
    part[along] = float(np.clip(place, *limits)) if limits[0] < limits[1] else sum(limits) / 2
    return part


def place_tolerance(view: View, goal: Predicate) -> float:
    """How far from its target an object may be let go, metres: more in a roomy region than on a plate."""
    site = view.site(goal[2])
    if site is None or goal[2] in view.scene.roots:
        return TIGHT
    room = np.abs(site.rotation @ site.size)[:2] - 0.02
    if view.slider(site.body) is not None:
        # On a drawer's wall it would tip over.
        room = np.minimum(room, room + 0.02 - np.ptp(view.points(goal[1])[:, :2], axis=0) / 2)
    return float(np.clip(room.min(), TIGHT, _ROOMY))


def place_turn(view: View, goal: Predicate) -> float:
    """How far a long object has to be turned about the vertical to lie along a narrow region, radians."""
    site = view.site(goal[2])
    if goal[0] != "in" or site is None:
        return 0.0
    half = np.abs(site.rotation @ site.size)[:2]
    spread, axes = np.linalg.eigh(np.cov(view.points(goal[1])[:, :2].T))
    if half.max() < _LONG * half.min() or spread[1] < _LONG**2 * spread[0]:
        return 0.0
    lies = float(np.arctan2(axes[1, 1], axes[0, 1]))
    wanted = 0.0 if half[0] > half[1] else np.pi / 2
    return (wanted - lies + np.pi / 2) % np.pi - np.pi / 2


def put_down_target(view: View, name: str) -> Array:
    """A place for an object that has no business in the hand: straight below."""
    origin = view.position(name)
    others = view.others((name,))
    below = others[others[:, 2] < view.points(name)[:, 2].min()]
    floor = height_along(below, origin, origin, radius=0.05)
    return np.array([*origin[:2], floor if np.isfinite(floor) else float(others[:, 2].min())])


def _floor_height(points: Array, middle: Array, floor: float, *, goal: Predicate, view: View) -> float:
    """The height of the surface that the object will stand on."""
    near = np.linalg.norm(points[:, :2] - middle, axis=1) < 0.03 if len(points) else np.zeros(0, bool)
    if not near.any():
        return floor if np.isfinite(floor) else float(view.points(goal[2])[:, 2].min())
    heights = points[near, 2]
    site = view.site(goal[2])
    if goal[0] == "in" and site is not None:
        # The floor of a compartment, not the lid above it.
        below = heights[heights < site.position[2]]
        return float(below.max()) if len(below) else float(heights.min())
    return float(heights.max())
