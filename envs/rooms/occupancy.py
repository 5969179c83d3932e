"""The true map of a house: what is in the way, and distances along the floor.

Two radii, as `docs/rooms.md` explains: an agent that plans with the radius that it collides with gets stuck on
every corner that it cuts by a centimetre.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import measure
from skimage.graph import MCP_Geometric

from .house import House, Item
from .kinds import Part
from .walls import room_walls

CELL = 0.05
"""Metres per cell."""
COLLISION_RADIUS = 0.10
PLANNING_RADIUS = 0.18
_LOW, _HIGH = 0.08, 1.5

type Grid = NDArray[np.bool_]
type Field = NDArray[np.float64]


def disk(radius: float, cell: float = CELL) -> Grid:
    """A structuring element of that many metres."""
    reach = math.ceil(radius / cell)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(x * x + y * y <= (radius / cell) ** 2 + 1e-9)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FloorMap:
    """Occupancy in the house frame; ``grid[row, column]`` is the cell at y = row, x = column.

    Attributes:
        occupied: bool[H, W]: something between ankle and head height.
        collision: bool[H, W]: where the agent's middle cannot be.
        navigable: bool[H, W]: where paths are planned, one connected region.
    """

    occupied: Grid
    collision: Grid
    navigable: Grid

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The (row, column) of a point, clipped to the map."""
        rows, columns = self.occupied.shape
        return min(max(int(y / CELL), 0), rows - 1), min(max(int(x / CELL), 0), columns - 1)

    def free(self, x: float, y: float) -> bool:
        """Whether the agent's middle can be at a point."""
        rows, columns = self.occupied.shape
        row, column = math.floor(y / CELL), math.floor(x / CELL)
        return 0 <= row < rows and 0 <= column < columns and not self.collision[row, column]

    def distances(self, cells: Iterable[tuple[int, int]]) -> Field:
        """Geodesic distance in metres from the nearest of the cells to every cell; infinite where no path is."""
        seeds = [cell for cell in cells if not self.collision[cell]]
        if not seeds:
            return np.full(self.occupied.shape, np.inf)
        # The collision map keeps the field defined where the agent can stand but would not plan to be.
        costs = np.where(self.navigable, 1.0, np.where(self.collision, -1.0, 3.0))
        field, _ = MCP_Geometric(costs).find_costs(seeds)
        return np.asarray(field * CELL, np.float64)


def centre(cell: tuple[int, int]) -> tuple[float, float]:
    """The (x, y) of a cell's middle."""
    return (cell[1] + 0.5) * CELL, (cell[0] + 0.5) * CELL


def floor_map(house: House) -> FloorMap:
    """The map of a house, its containers closed."""
    width, height = house.size
    occupied = np.zeros((math.ceil(height / CELL), math.ceil(width / CELL)), np.bool_)
    for room in house.rooms:
        for _, slab in room_walls(room, house.doors):
            if slab.low[2] < _HIGH:
                _fill(occupied, slab.low[0], slab.low[1], slab.high[0], slab.high[1])
    for item in house.items:
        for part in item.shape.parts:
            low, high = part.base[2] * item.scale + item.z, (part.base[2] + part.size[2]) * item.scale + item.z
            if high > _LOW and low < _HIGH:
                _fill(occupied, *_bounds(item, part))
    collision = ndimage.binary_dilation(occupied, disk(COLLISION_RADIUS))
    wide = ~ndimage.binary_dilation(occupied, disk(PLANNING_RADIUS))
    wide[[0, -1]] = False
    wide[:, [0, -1]] = False
    labels = np.asarray(measure.label(wide, connectivity=1, return_num=False), np.int64)
    if wide.any():
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        wide = labels == int(sizes.argmax())
    return FloorMap(occupied=occupied, collision=np.asarray(collision), navigable=np.asarray(wide))


def _bounds(item: Item, part: Part) -> tuple[float, float, float, float]:
    cos, sin = math.cos(item.yaw), math.sin(item.yaw)
    x, y = part.base[0] * item.scale, part.base[1] * item.scale
    half_x, half_y = part.size[0] * item.scale / 2, part.size[1] * item.scale / 2
    cx, cy = item.x + cos * x - sin * y, item.y + sin * x + cos * y
    reach_x, reach_y = abs(cos) * half_x + abs(sin) * half_y, abs(sin) * half_x + abs(cos) * half_y
    return cx - reach_x, cy - reach_y, cx + reach_x, cy + reach_y


def _fill(grid: Grid, x0: float, y0: float, x1: float, y1: float) -> None:
    rows = slice(max(math.floor(y0 / CELL + 1e-6), 0), math.ceil(y1 / CELL - 1e-6))
    columns = slice(max(math.floor(x0 / CELL + 1e-6), 0), math.ceil(x1 / CELL - 1e-6))
    grid[rows, columns] = True
