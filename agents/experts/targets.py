"""Where an object has to be put so that its predicate holds."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from ...envs.libero.problem import Predicate
from .scene import View, height_along

TIGHT, _ROOMY = 0.02, 0.035
"""Bounds of the tolerance: LIBERO's ``on`` an object allows 0.03, metres."""
_GAP = 0.006
"""Objects that share a region stand this far apart, metres."""


def place_target(view: View, goal: Predicate, companions: list[str]) -> Array:
    """Where the lowest point of the goal's object should come to rest, its origin above x and y: ``float64[3]``.

    Args:
        view: the scene.
        goal: ``("on", object, object or region)`` or ``("in", object, region)``.
        companions: the objects that share the region, the goal's own among them.
    """
    _, name, support = goal
    site = view.site(support)
    if support in view.scene.roots or site is None:
        middle = view.position(support)[:2]
        points = view.points(support)
    else:
        middle = site.position[:2].copy()
        owner = view.scene.owner_of_body(site.body)
        points = view.body_points(site.body) if owner and site.body in view.scene.body_points else np.zeros((0, 3))
        half = np.abs(site.rotation @ site.size)
        if len(companions) > 1:
            along = int(np.argmax(half[:2]))
            share = companions.index(name) - (len(companions) - 1) / 2
            middle[along] += share * (float(np.ptp(view.points(name)[:, along])) + _GAP)
    floor = float(site.position[2]) if site is not None and not len(points) else -np.inf
    return np.array([*middle, _floor_height(points, middle, floor, goal=goal, view=view)])


def place_tolerance(view: View, goal: Predicate) -> float:
    """How far from its target an object may be let go, metres: more in a roomy region than on a plate."""
    site = view.site(goal[2])
    if site is None or goal[2] in view.scene.roots:
        return TIGHT
    half = np.abs(site.rotation @ site.size)[:2]
    return float(np.clip(half.min() - 0.02, TIGHT, _ROOMY))


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
