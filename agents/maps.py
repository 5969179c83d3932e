"""A navigating agent's map as it goes into `Decision.notes`, for reports and videos to draw."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..envs import Array

_CELLS, _FRAME = "map", "map_frame"


class Layer(enum.IntEnum):
    """What a cell of a recorded map shows; the highest that applies."""

    UNKNOWN = 0
    FREE = 1
    OCCUPIED = 2
    WALL = 3
    FRONTIER = 4
    CANDIDATE = 5
    GOAL = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordedMap:
    """What an agent knew of the floor when it decided.

    Attributes:
        cells: ``uint8[H, W]`` of `Layer`; row 0 is the southernmost, column 0 the westernmost.
        x: metres, of the outer corner of cell (0, 0) in the agent's own frame.
        y: likewise.
        cell: metres a side of a cell.
        pose: of the agent: x and y in metres, yaw in radians, counter-clockwise from east.
    """

    cells: Array
    x: float
    y: float
    cell: float
    pose: tuple[float, float, float]

    def notes(self) -> dict[str, Any]:
        """The entries of `Decision.notes`, which `read_map` reads."""
        pose = [round(value, 4) for value in self.pose]
        frame = {"x": round(self.x, 4), "y": round(self.y, 4), "cell": self.cell, "pose": pose}
        return {_CELLS: self.cells, _FRAME: frame}


def read_map(notes: Mapping[str, Any]) -> RecordedMap | None:
    """The map among a decision's notes, or None where there is none that can be drawn."""
    cells, frame = notes.get(_CELLS), notes.get(_FRAME)
    if not isinstance(cells, np.ndarray) or not isinstance(frame, Mapping):
        return None
    grid = cast("Array", cells)
    if grid.dtype != np.uint8 or grid.ndim != 2 or grid.size == 0 or int(grid.max()) > max(Layer):
        return None
    given = cast("Mapping[str, Any]", frame)
    try:
        x, y, yaw = (float(value) for value in given["pose"])
        corner = float(given["x"]), float(given["y"])
        cell = float(given["cell"])
    except (KeyError, TypeError, ValueError):
        return None
    return RecordedMap(cells=grid, x=corner[0], y=corner[1], cell=cell, pose=(x, y, yaw)) if cell > 0 else None


def is_map_note(name: str) -> bool:
    """Whether a note is part of a map, which is drawn and not listed."""
    return name in (_CELLS, _FRAME)
