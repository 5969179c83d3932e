"""Sliding what cannot be gripped or lifted from above: a plate, a bowl that stands under an open drawer."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from .grasps import MAX_WIDTH
from .motion import Command, from_above, leaning
from .scene import View
from .touch import drag

_LOW = 0.025
"""Nothing flat is thicker than this, metres."""
_INSIDE = 0.25
"""The fingertips press ahead of the object's middle, at this share of its half size: within the foot of a plate,
because pressing on its sloping rim would tilt it."""
_LEAN = 0.5
"""The palm leans by this angle out from under what hangs over an object, radians."""


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
    way = np.array([*(target - view.position(name))[:2], 0.0])
    direction = way / max(1e-6, float(np.linalg.norm(way)))
    top = _place_to_press(view, name, direction)
    # The same turn of the hand for all directions: it need not turn while the way bends.
    return drag(view, top, direction, from_above(view, top, np.array([0.0, 1.0, 0.0])))


def pull_out(view: View, name: str, direction: Array) -> Command:
    """One step of dragging an object out from under something, the palm leaning out.

    Args:
        view: the scene.
        name: the object.
        direction: ``float64[3]``, the horizontal unit vector to drag along.
    """
    return drag(view, _place_to_press(view, name, direction), direction, leaning(view, direction, _LEAN))


def _place_to_press(view: View, name: str, direction: Array) -> Array:
    """A place on top of an object, somewhat ahead of its middle: ``float64[3]``."""
    points, origin = view.points(name), view.position(name)
    half = float(((points - origin) @ direction).max())
    top = origin + direction * half * _INSIDE
    near = np.linalg.norm((points - top)[:, :2], axis=1) < 0.012
    top[2] = float(points[near, 2].max()) if near.any() else float(points[:, 2].max())
    return top
