"""How the agent moves: forward with sliding contact, in small substeps so that no wall is jumped over."""

from __future__ import annotations

import math

from .occupancy import FloorMap

STRIDE = 0.25
"""Metres of one forward action."""
TURN = math.radians(30)
TILT = math.radians(20)
"""Radians of one look up or down."""
START_PITCH = -TILT
PITCH_LIMITS = (-3 * TILT, TILT)
_SUBSTEP = 0.05


def slide(floor: FloorMap, x: float, y: float, yaw: float, distance: float) -> tuple[float, float, bool]:
    """Move forward; where a wall is in the way, keep the part of the motion that runs along it.

    Returns:
        The new x and y, and whether anything was touched.
    """
    steps = max(math.ceil(distance / _SUBSTEP - 1e-9), 1)
    dx, dy = distance / steps * math.cos(yaw), distance / steps * math.sin(yaw)
    touched = False
    for _ in range(steps):
        if floor.free(x + dx, y + dy):
            x, y = x + dx, y + dy
            continue
        touched = True
        along = [(x + dx, y), (x, y + dy)] if abs(dx) >= abs(dy) else [(x, y + dy), (x + dx, y)]
        free = [point for point in along if floor.free(*point)]
        if not free:
            break
        x, y = free[0]
    return x, y, touched


def wrap(angle: float) -> float:
    """An angle in (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2 * math.pi)
