"""Sliding something flat that cannot be gripped from above, such as a plate."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from .grasps import MAX_WIDTH
from .motion import Command, from_above
from .scene import View
from .touch import drag

_LOW = 0.025
"""Nothing flat is thicker than this, metres."""
_INSIDE = 0.25
"""The fingertips press ahead of the object's middle, at this share of its half size: within the foot of a plate,
because pressing on its sloping rim would tilt it."""


def is_flat(points: Array, rotation: Array) -> bool:
    """Whether something is so thin and wide that fingers from above cannot close on it, however it lies now.

    Args:
        points: ``float64[N, 3]``, its surface.
        rotation: ``float64[3, 3]``, its own.
    """
    thin, middle, _ = np.sort(np.ptp(points @ rotation, axis=0))
    return bool(thin < _LOW and middle > MAX_WIDTH)


def slide(view: View, name: str, target: Array) -> Command:
    """One step of pressing on an object and dragging it along what it lies on.

    The fingertips' friction is twice the table's, so that pressing is enough to take the object along.

    Args:
        view: the scene.
        name: the object.
        target: ``float64[>=2]``, where its origin should come to be, metres.
    """
    points, origin = view.points(name), view.position(name)
    way = np.array([*(target - origin)[:2], 0.0])
    direction = way / max(1e-6, float(np.linalg.norm(way)))
    half = float(((points - origin) @ direction).max())
    top = origin + direction * half * _INSIDE
    near = np.linalg.norm((points - top)[:, :2], axis=1) < 0.012
    top[2] = float(points[near, 2].max()) if near.any() else float(points[:, 2].max())
    # The same turn of the hand for all directions: it need not turn while the way bends.
    return drag(view, top, direction, from_above(view, top, np.array([0.0, 1.0, 0.0])))
