"""A top-down picture of an agent's map, for reports and videos."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...envs import Array
from .geometry import Pose
from .mapping import FloorMap
from .planning import Plan

_UNKNOWN, _FREE, _BLOCK, _WALL = (200, 200, 205), (250, 250, 250), (120, 120, 130), (60, 60, 70)
_FRONTIER = (60, 170, 80)
_PATH, _AGENT, _GOAL, _MARK = (90, 140, 240), (20, 60, 200), (240, 140, 20), (210, 30, 40)
_SCALE = 2


def draw_map(
    plan: Plan,
    floor: FloorMap,
    pose: Pose,
    goal: tuple[float, float] | None,
    marks: Sequence[tuple[float, float]],
) -> Array:
    """The explored window, north up.

    Args:
        plan: distances over the map.
        floor: the map.
        pose: of the agent (dark blue, its path light blue).
        goal: what is being walked to (orange; other frontiers are green).
        marks: candidates (red).

    Returns:
        ``uint8[H, W, 3]``, two pixels per cell.
    """
    picture = np.full((*plan.known.shape, 3), _UNKNOWN, np.uint8)
    picture[plan.known] = _FREE
    picture[floor.occupied()] = _BLOCK
    picture[plan.walls] = _WALL
    picture[floor.path[floor.window]] = _PATH
    spots = [
        *(((frontier.x, frontier.y), _FRONTIER) for frontier in plan.frontiers()),
        *((mark, _MARK) for mark in marks),
        *([(goal, _GOAL)] if goal else []),
        ((pose.x, pose.y), _AGENT),
    ]
    for point, colour in spots:
        row, column = plan.cell(*point)
        picture[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = colour
    return np.ascontiguousarray(picture[::-1].repeat(_SCALE, axis=0).repeat(_SCALE, axis=1))
