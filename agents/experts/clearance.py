"""Room for the hand and for what it lifts: a palm that leans, and things that hang over an object."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from ...envs import Array
from .grasps import PALM, PALM_HALF
from .scene import View

_PALM_TALL = 0.092
"""The palm's height, measured in the model of robosuite's Panda gripper, metres."""
_ROUND = 0.006
"""The palm's edges are rounded: what would touch only this much of them is not in the way, metres."""
_DESCENT = (0.0, 0.03, 0.06, 0.09)
"""Heights above a grasp at which the palm of the descending hand is looked at, metres."""
_NEAR = 0.25
"""Nothing farther than this from an object is in the way of the hand that picks it, metres."""

_OVER = 0.2
"""What is at most this far above an object hangs over it, metres."""
_SHADOW = 0.008
"""… and when this near to a point of the object, seen from above, metres."""
_OVERLAP = 0.015
"""An object that has to move less than this to come out from under something is lifted as it stands, metres."""


def surroundings(view: View, name: str) -> Array:
    """Surface points of what may be in the hand's way while it picks an object: ``float64[N, 3]``."""
    points, others = view.points(name), view.others((name,))
    low, high = points.min(axis=0) - _NEAR, points.max(axis=0) + _NEAR
    near = (others[:, :2] > low[:2]).all(axis=1) & (others[:, :2] < high[:2]).all(axis=1)
    return others[near & (others[:, 2] > low[2] + _NEAR)]


def palm_fits(points: Array, position: Array, rotation: Array) -> bool:
    """Whether the palm touches nothing while the hand, turned as given, goes straight down to a place.

    Args:
        points: ``float64[N, 3]``, the obstacles' surface, metres.
        position: ``float64[3]``, where the grip site ends, metres.
        rotation: ``float64[3, 3]``, the hand's.
    """
    half = np.array([PALM_HALF[1], PALM_HALF[0], _PALM_TALL / 2]) - _ROUND
    middle = np.array([0.0, 0.0, PALM + _PALM_TALL / 2])
    local = (points - position) @ rotation + middle
    return not any((np.abs(local - height * rotation[2]) < half).all(axis=1).any() for height in _DESCENT)


def way_out(view: View, name: str) -> Array | None:
    """The horizontal direction out from under what hangs over an object, or None when it can be lifted.

    Args:
        view: the scene.
        name: the object.

    Returns:
        ``float64[3]``, a unit vector.
    """
    points, others = view.points(name), view.others((name,))
    low, high = points.min(axis=0), points.max(axis=0)
    inside = ((others[:, :2] > low[:2]) & (others[:, :2] < high[:2])).all(axis=1)
    above = others[inside & (others[:, 2] > high[2]) & (others[:, 2] < high[2] + _OVER)]
    if not len(above):
        return None
    distance, _ = KDTree(points[:, :2]).query(above[:, :2])
    covering = above[np.asarray(distance) < _SHADOW]
    if not len(covering):
        return None
    away = np.array([*((low + high) / 2 - covering.mean(axis=0))[:2], 0.0])
    size = float(np.linalg.norm(away))
    if size < 1e-3:
        return None
    away = away / size
    return away if float((covering @ away).max() - (points @ away).min()) > _OVERLAP else None
