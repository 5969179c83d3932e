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
_INSIDE = 0.65
"""The fingertips press on the leading part of the object, at this share of its half size."""


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

    The fingertips go inside the rim on the side that leads, so that the rim's slope helps the friction.

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
    across = np.array([-direction[1], direction[0], 0.0])
    rotation = from_above(view, top, across if abs(across[1]) > 0.5 else np.array([0.0, 1.0, 0.0]))
    return drag(view, top, direction, rotation)
