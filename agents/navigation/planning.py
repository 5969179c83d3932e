"""Paths and frontiers on an agent's own map."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import measure
from skimage.graph import MCP_Geometric

from .geometry import Pose
from .mapping import CELL, Cell, FloorMap, Grid

_RASTER = 16
"""Cells: 1.6 m."""
_MIN_FRONTIER = 2
"""Cells; smaller openings are gaps between depth pixels."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frontier:
    """Where known free floor meets the unknown.

    Attributes:
        x: of the reachable cell nearest to its middle, metres, odometry frame.
        y: likewise.
        size: its length in metres.
        distance: geodesic metres from the agent.
    """

    x: float
    y: float
    size: float
    distance: float


class Plan:
    """Distances from the agent over one state of its map.

    Args:
        floor: the map.
        pose: where the agent is.
    """

    def __init__(self, floor: FloorMap, pose: Pose) -> None:
        self._floor = floor
        window = floor.window
        self._origin = window[0].start, window[1].start
        self.navigable = floor.navigable(pose)
        self.known = floor.known()
        self.walls = floor.walls()
        occupied = floor.occupied()
        # Paths keep off obstacles where there is room: a soft margin beside the hard one.
        clearance = np.asarray(ndimage.distance_transform_edt(~occupied))
        costs = np.where(self.navigable, 1.0 + 2.0 * np.clip(4.0 - clearance, 0, 4) / 4, -1.0)
        self._search = MCP_Geometric(costs)
        start = self._local(floor.cell(pose.x, pose.y))
        field, _ = self._search.find_costs([start])
        self.distance: NDArray[np.float64] = np.asarray(field, np.float64) * CELL
        self.clearance: NDArray[np.float64] = clearance * CELL
        self._frontiers: list[Frontier] | None = None

    def _local(self, cell: Cell) -> Cell:
        rows, columns = self.navigable.shape
        return (
            min(max(cell[0] - self._origin[0], 0), rows - 1),
            min(max(cell[1] - self._origin[1], 0), columns - 1),
        )

    def point(self, local: Cell) -> tuple[float, float]:
        """The (x, y) of a cell of the window."""
        return self._floor.point((local[0] + self._origin[0], local[1] + self._origin[1]))

    def cell(self, x: float, y: float) -> Cell:
        """The window's cell of a point."""
        return self._local(self._floor.cell(x, y))

    def distance_to(self, x: float, y: float) -> float:
        """Geodesic metres (weighted by clearance) to a point; infinite where no path is known."""
        return float(self.distance[self.cell(x, y)])

    def path(self, x: float, y: float) -> list[tuple[float, float]]:
        """The points of a path, the agent's own place first; empty where no path is known."""
        goal = self.cell(x, y)
        if not math.isfinite(self.distance[goal]):
            return []
        return [self.point((int(r), int(c))) for r, c in self._search.traceback(goal)]

    def clear(self, a: tuple[float, float], b: tuple[float, float], grid: Grid) -> bool:
        """Whether the straight line between two points stays off a grid's cells."""
        (r0, c0), (r1, c1) = self.cell(*a), self.cell(*b)
        count = max(abs(r1 - r0), abs(c1 - c0)) + 1
        rows = np.linspace(r0, r1, count).round().astype(np.int64)
        columns = np.linspace(c0, c1, count).round().astype(np.int64)
        return not grid[rows, columns].any()

    def frontiers(self) -> list[Frontier]:
        """Every frontier that can be reached, nearest first."""
        if self._frontiers is None:
            self._frontiers = self._find_frontiers()
        return list(self._frontiers)

    def _find_frontiers(self) -> list[Frontier]:
        reachable = np.isfinite(self.distance) & self.navigable
        edge = reachable & ndimage.binary_dilation(~self.known, np.ones((3, 3), np.bool_))
        labels = np.asarray(measure.label(edge, connectivity=2, return_num=False), np.int64)
        # A frontier that winds around a room is several places to look at: it is cut along a coarse raster.
        rows, columns = np.indices(edge.shape) // _RASTER
        labels = np.where(labels > 0, (labels * 1000 + rows) * 1000 + columns + 1, 0)
        labels = np.unique(labels, return_inverse=True)[1].reshape(edge.shape)
        found: list[Frontier] = []
        for region in measure.regionprops(labels):
            cells = np.asarray(region.coords)
            if len(cells) < _MIN_FRONTIER:
                continue
            middle = cells[np.abs(cells - cells.mean(axis=0)).sum(axis=1).argmin()]
            x, y = self.point((int(middle[0]), int(middle[1])))
            distance = float(self.distance[middle[0], middle[1]])
            found.append(Frontier(x=x, y=y, size=len(cells) * CELL, distance=distance))
        return sorted(found, key=lambda frontier: frontier.distance)

    def standpoint(self, x: float, y: float, near: float, far: float, avoid: list[tuple[float, float]]) -> Cell | None:
        """The best reachable cell to look at a point from: near the agent, off obstacles, no wall in between.

        Args:
            x: the point, odometry frame.
            y: likewise.
            near: least distance from the point, metres.
            far: greatest distance.
            avoid: standpoints that were tried; others at least 0.4 m from them are taken.
        """
        rows, columns = np.nonzero(np.isfinite(self.distance) & self.navigable)
        if len(rows) == 0:
            return None
        origin = self._floor.point(self._origin)
        px, py = origin[0] + columns * CELL, origin[1] + rows * CELL
        gap = np.hypot(px - x, py - y)
        cost = self.distance[rows, columns] + 1.5 * np.clip(0.3 - self.clearance[rows, columns], 0, None)
        cost += 4.0 * np.clip(near - gap, 0, None) + 0.3 * gap
        good = gap <= far
        for tx, ty in avoid:
            good &= np.hypot(px - tx, py - ty) > 0.4
        order = np.argsort(np.where(good, cost, np.inf))
        for index in order[: min(int(good.sum()), 60)]:
            if self.clear((float(px[index]), float(py[index])), (x, y), self.walls):
                return int(rows[index]), int(columns[index])
        return None
