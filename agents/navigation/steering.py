"""From a path to the next discrete action."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs.rooms.actions import Move
from ...envs.rooms.motion import STRIDE, TILT, TURN
from .geometry import Pose
from .planning import Plan

_AHEAD = 1.2
"""Metres of path that may be cut straight, where the straight line is free."""


def turn_towards(pose: Pose, x: float, y: float) -> Move | None:
    """The turn that brings a point nearer to the middle of the view, or None when no turn would."""
    bearing = pose.bearing(x, y)
    if abs(bearing) <= TURN * 0.55:
        return None
    return Move.LEFT if bearing > 0 else Move.RIGHT


def tilt_towards(pose: Pose, pitch: float) -> Move | None:
    """The look up or down that brings the pitch nearer to a wanted one, or None."""
    if abs(pitch - pose.pitch) <= TILT * 0.55:
        return None
    return Move.UP if pitch > pose.pitch else Move.DOWN


def follow(pose: Pose, plan: Plan, path: Sequence[tuple[float, float]]) -> Move:
    """The next action along a path."""
    blocked = ~plan.navigable
    target = path[-1]
    for point in path:
        if pose.distance(*point) > _AHEAD:
            break
        if plan.clear((pose.x, pose.y), point, blocked):
            target = point
    if pose.distance(*target) < STRIDE / 2 and len(path) > 1:
        target = path[-1]
    return turn_towards(pose, *target) or Move.FORWARD
