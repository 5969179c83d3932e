"""An agent's map, as compact as a record of every decision needs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maps import Layer, RecordedMap
from .geometry import Pose
from .mapping import CELL, FloorMap
from .planning import Plan


def record_map(
    plan: Plan,
    floor: FloorMap,
    pose: Pose,
    goal: tuple[float, float] | None,
    marks: Sequence[tuple[float, float]],
) -> RecordedMap:
    """The explored window with what the agent sees in it.

    Args:
        plan: distances over the map.
        floor: the map.
        pose: of the agent.
        goal: what is being walked to.
        marks: where candidates are.
    """
    cells = np.full(plan.known.shape, Layer.UNKNOWN, np.uint8)
    cells[plan.known] = Layer.FREE
    cells[floor.occupied()] = Layer.OCCUPIED
    cells[plan.walls] = Layer.WALL
    spots = [
        *(((frontier.x, frontier.y), Layer.FRONTIER) for frontier in plan.frontiers()),
        *((mark, Layer.CANDIDATE) for mark in marks),
        *([(goal, Layer.GOAL)] if goal else []),
    ]
    for point, layer in spots:
        row, column = plan.cell(*point)
        cells[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = layer
    x, y = (middle - CELL / 2 for middle in plan.point((0, 0)))
    return RecordedMap(cells=cells, x=x, y=y, cell=CELL, pose=(pose.x, pose.y, pose.yaw))
