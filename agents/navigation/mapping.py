"""A floor map built from depth: free, occupied and wall cells, on a grid of fixed size.

The grid's extent bounds the map's memory whatever the episode's length; points beyond it are dropped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ...envs import Array
from ...envs.rooms.occupancy import PLANNING_RADIUS, disk
from .geometry import Points, Pose, points

CELL = 0.1
"""Metres per cell."""
EXTENT = 40.0
"""Metres a side: a start in one corner of the largest house still sees the other."""
_RANGE = 6.0
"""Metres beyond which depth pixels are too sparse to map with."""
_SIDE = int(EXTENT / CELL)
_MOST = 4000

_BLIND = disk(0.8, CELL)

type Grid = NDArray[np.bool_]
type Cell = tuple[int, int]


class FloorMap:
    """What an agent has seen of the floor.

    Attributes:
        path: the cells that the agent has stood on.
    """

    def __init__(self) -> None:
        self._floor = np.zeros((_SIDE, _SIDE), np.uint16)
        self._block = np.zeros((_SIDE, _SIDE), np.uint16)
        self._wall = np.zeros((_SIDE, _SIDE), np.uint16)
        self._bumped = np.zeros((_SIDE, _SIDE), np.bool_)
        self._near = np.zeros((_SIDE, _SIDE), np.bool_)
        self.path = np.zeros((_SIDE, _SIDE), np.bool_)
        self._low, self._high = np.array([_SIDE // 2] * 2), np.array([_SIDE // 2] * 2)

    @property
    def nbytes(self) -> int:
        """Bytes held; constant."""
        return sum(a.nbytes for a in (self._floor, self._block, self._wall, self._bumped, self._near, self.path))

    def update(self, depth: Array, pose: Pose) -> Points:
        """Add one look.

        Returns:
            The 3D points of every pixel, ``float32[H, W, 3]``, for whoever else needs them.
        """
        cloud = points(depth, pose)
        near = (depth < _RANGE)[::2, ::2]
        sample = cloud[::2, ::2][near]
        height = sample[:, 2]
        self._add(self._floor, sample[height < 0.07])
        self._add(self._block, sample[(height > 0.12) & (height < 1.5)])
        self._add(self._wall, sample[(height > 2.1) & (height < 2.45)])
        here = self.cell(pose.x, pose.y)
        self.path[here] = True
        row, column = here
        reach = _BLIND.shape[0] // 2
        # The camera cannot see the floor nearer than 0.75 m (blind ring): without this the ring would be a frontier.
        self._near[row - reach : row + reach + 1, column - reach : column + reach + 1] |= _BLIND
        self._grow(np.array([here]))
        return cloud

    def bump(self, x: float, y: float) -> None:
        """Remember that something invisible is at a point."""
        self._bumped[self.cell(x, y)] = True

    def cell(self, x: float, y: float) -> Cell:
        """The (row, column) of a point, clipped to the grid."""
        row, column = int(np.floor(y / CELL)) + _SIDE // 2, int(np.floor(x / CELL)) + _SIDE // 2
        return min(max(row, 0), _SIDE - 1), min(max(column, 0), _SIDE - 1)

    @staticmethod
    def point(cell: Cell) -> tuple[float, float]:
        """The (x, y) of a cell's middle."""
        return (cell[1] - _SIDE // 2 + 0.5) * CELL, (cell[0] - _SIDE // 2 + 0.5) * CELL

    @property
    def window(self) -> tuple[slice, slice]:
        """The part of the grid that holds everything seen, with a margin."""
        low = np.maximum(self._low - 5, 0)
        high = np.minimum(self._high + 6, _SIDE)
        return slice(int(low[0]), int(high[0])), slice(int(low[1]), int(high[1]))

    def occupied(self) -> Grid:
        """bool[window]: cells that something stands on."""
        window = self.window
        block, floor = self._block[window], self._floor[window]
        return (block >= 3) & (block.astype(np.int32) * 4 > floor) | self._bumped[window]

    def known(self) -> Grid:
        """bool[window]: cells that were seen, small gaps between far pixels closed."""
        window = self.window
        seen = (self._floor[window] > 0) | (self._block[window] >= 3)
        seen |= self._near[window]
        return np.asarray(ndimage.binary_closing(seen, np.ones((3, 3), np.bool_)) | seen)

    def walls(self) -> Grid:
        """bool[window]: cells under something higher than any furniture: walls, and the lintels of doors."""
        return self._wall[self.window] >= 2

    def navigable(self, pose: Pose) -> Grid:
        """bool[window]: known cells where the agent's middle may be; always so around where it stands."""
        occupied = self.occupied()
        wide = ndimage.binary_dilation(occupied, disk(PLANNING_RADIUS, CELL))
        free = self.known() & ~wide
        row, column = self.cell(pose.x, pose.y)
        window = self.window
        rows, columns = np.ogrid[: free.shape[0], : free.shape[1]]
        gap = (rows + window[0].start - row) ** 2 + (columns + window[1].start - column) ** 2
        free |= (gap <= 4) & ~occupied  # the agent stands where it stands
        return np.asarray(free)

    def _add(self, layer: NDArray[np.uint16], sample: Points) -> None:
        cells = np.floor(sample[:, [1, 0]] / CELL).astype(np.int64) + _SIDE // 2
        cells = cells[((cells >= 0) & (cells < _SIDE)).all(axis=1)]
        if len(cells) == 0:
            return
        low, high = cells.min(axis=0), cells.max(axis=0) + 1
        rows, columns = (int(n) for n in high - low)
        hits = np.bincount((cells[:, 0] - low[0]) * columns + cells[:, 1] - low[1], minlength=rows * columns)
        part = layer[low[0] : high[0], low[1] : high[1]]
        # Saturating, so that an agent that stands still for hours cannot overflow a count.
        part[:] = np.minimum(part + hits.reshape(rows, columns), _MOST).astype(np.uint16)
        self._grow(cells)

    def _grow(self, cells: NDArray[np.int64]) -> None:
        self._low = np.minimum(self._low, cells.min(axis=0))
        self._high = np.maximum(self._high, cells.max(axis=0))
