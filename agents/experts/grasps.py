"""Grasps from above, searched in an object's surface points; no simulator here.

The hand comes straight down with its fingers open.  For each angle of the fingers' axis the points are put into bins
(across the fingers, along them, and up), and a place is a grasp when something narrow enough stands between the
pads and nothing stands where the fingers, their closing sweep, or the palm will be.  A can gives grasps across its
body, a bowl or a mug across its rim, a pan across its rim and its handle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from scipy import ndimage

from ...envs import Array

# robosuite's Panda gripper, measured in its model from the grip site: metres.
TIP = 0.0093
"""The fingertips reach this far beyond the grip site."""
PAD_ABOVE, PAD_BELOW = 0.0116, 0.0044
"""The pads reach from this far above the grip site to this far below."""
PALM = 0.031
"""The palm is this far above the grip site."""
PALM_HALF = (0.034, 0.105)
"""Half sizes of the palm, across and along the fingers' axis."""
FINGER_OUTER = 0.056
"""The open fingers' outer faces are this far from the middle."""
FINGER_HALF = 0.0105
"""Half a finger's size across the axis."""

MAX_WIDTH = 0.072
"""The widest thing that fits between the open pads (80 mm) with room for errors of position."""
GROUND = 0.003
"""Fingertips keep this far from what the object stands on."""

_APART = 0.02
"""Kept grasps are this far from each other, metres: all sides of a rim are among them."""
_ENDS = 0.021
"""What a piece that ends beside the pads adds to its skew, before the mean over four edges, metres."""
_MOST_SKEW = 0.005
"""Faces that are more askew than this slip out of the pads (a corner, a roof), metres."""

_BIN = 0.003
_ACROSS = 0.008
_DEPTH = 0.002
_EDGE = 0.006
_LEVEL = 0.012
_ANGLES = 14


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grasp:
    """Where the grip site goes before the fingers close, the palm straight above.

    Attributes:
        position: ``float64[3]``, metres.
        axis: ``float64[3]``, the horizontal unit vector along which the fingers close; its sign means nothing.
        width: what the fingers will close to, metres.
        score: larger is better; metres of lever arm are the unit.
    """

    position: Array
    axis: Array
    width: float
    score: float


def search_grasps(points: Array, obstacles: Array, *, keep: int = 24) -> list[Grasp]:
    """Grasps of an object from above, best first, spread over the object.

    Args:
        points: ``float64[N, 3]``, the object's surface; the lowest point is what it stands on.
        obstacles: ``float64[M, 3]``, the surface of everything else.
        keep: at most so many.

    Returns:
        An empty list when no place allows a grasp.
    """
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    near = np.abs(obstacles - centre)[:, :2].max(axis=1, initial=0.0) < 0.2 if len(obstacles) else np.zeros(0, bool)
    found: list[Grasp] = []
    for angle in _angles(points):
        found.extend(_at_angle(points, obstacles[near], angle))
    found.sort(key=lambda grasp: -grasp.score)
    kept: list[Grasp] = []
    for grasp in found:
        if all(np.linalg.norm(grasp.position - other.position) > _APART for other in kept):
            kept.append(grasp)
            if len(kept) == keep:
                break
    return kept


def _angles(points: Array) -> list[float]:
    """Regular angles, and the one along which the object is narrowest (a box's own, exactly)."""
    fine = np.linspace(0, np.pi, 180, endpoint=False)
    directions = np.stack([np.cos(fine), np.sin(fine)])
    widths = np.ptp(points[:, :2] @ directions, axis=0)
    narrowest = float(fine[int(np.argmin(widths))])
    return [narrowest, *np.linspace(0, np.pi, _ANGLES, endpoint=False)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Bins:
    """Points seen along one angle: ``u`` across the fingers' axis, ``v`` along it."""

    u: Array
    v_low: float
    heights: Array
    solid: Array
    z_low: float

    @property
    def size(self) -> int:
        return self.heights.shape[1]


def _at_angle(points: Array, obstacles: Array, angle: float) -> Iterator[Grasp]:
    axis = np.array([np.cos(angle), np.sin(angle), 0.0])
    across = np.array([axis[1], -axis[0], 0.0])
    frame = np.stack([across, axis, [0.0, 0.0, 1.0]])
    local, other = points @ frame.T, obstacles @ frame.T
    low, high = local.min(axis=0), local.max(axis=0)
    middle = (low + high) / 2
    bins = _bins(local, low, high)
    blocked = _height_map(other, bins, margin=FINGER_HALF)
    palm = np.maximum(_palm_map(_height_map(local, bins, margin=0.0)), _palm_map(_height_map(other, bins, margin=0.0)))
    lowest = low[2] + TIP + GROUND
    highest = max(high[2] - 0.008, lowest)
    for z in np.arange(lowest, highest + _LEVEL, _LEVEL).clip(max=highest):
        pads = _pad_window(bins, z)
        tall = bins.heights > z - TIP
        for row in np.flatnonzero(pads.any(axis=1)):
            for first, last in _runs(pads[row]):
                width = (last - first + 1) * _BIN
                centre = (first + last) / 2
                if width > MAX_WIDTH or not _free(tall[row] | (blocked[row] > z - TIP - GROUND), first, last, centre):
                    continue
                if palm[row, round(centre)] > z + PALM:
                    continue
                v = bins.v_low + (centre + 0.5) * _BIN
                position = np.array([bins.u[row], v, z])
                top = float(bins.heights[row, first : last + 1].max())
                skew = _skew(pads, row, first, last) + _taper(bins, row, z, first, last)
                if skew > _MOST_SKEW:
                    continue
                yield Grasp(
                    position=position @ frame,
                    axis=axis,
                    width=width,
                    score=_score(position, middle, width=width, top=top, skew=skew),
                )


def _score(position: Array, middle: Array, *, width: float, top: float, skew: float) -> float:
    lever = float(np.linalg.norm((position - middle)[:2]))
    engaged = min(PAD_ABOVE, top - position[2]) + PAD_BELOW
    return -lever - 0.3 * width - 3.0 * skew - 2.0 * max(0.0, 0.014 - engaged) - 0.2 * max(0.0, 0.025 - engaged)


def _bins(local: Array, low: Array, high: Array) -> _Bins:
    # The palm reaches beyond the object on all sides.
    u = np.arange(low[0] - PALM_HALF[0], high[0] + PALM_HALF[0], _ACROSS)
    v_low = low[1] - PALM_HALF[1] - _BIN
    size = int(np.ceil((high[1] + PALM_HALF[1] + _BIN - v_low) / _BIN)) + 1
    levels = int(np.ceil((high[2] - low[2]) / _DEPTH)) + 2
    column = ((local[:, 1] - v_low) / _BIN).astype(int)
    level = ((local[:, 2] - low[2]) / _DEPTH).astype(int)
    solid = np.zeros((len(u), size, levels), bool)
    heights = np.full((len(u), size), -np.inf)
    for row, middle in enumerate(u):
        near = np.abs(local[:, 0] - middle) < 0.008
        solid[row, column[near], level[near]] = True
        wide = np.abs(local[:, 0] - middle) < FINGER_HALF
        np.maximum.at(heights[row], column[wide], local[wide, 2])
    return _Bins(u=u, v_low=v_low, heights=heights, solid=solid, z_low=float(low[2]))


def _height_map(points: Array, bins: _Bins, *, margin: float) -> Array:
    """Highest point per row and column, rows widened by ``margin``: ``float64[rows, size]``."""
    heights = np.full((len(bins.u), bins.size), -np.inf)
    column = np.floor((points[:, 1] - bins.v_low) / _BIN).astype(int)
    inside = (column >= 0) & (column < bins.size)
    half = max(margin, _ACROSS / 2)
    for row, middle in enumerate(bins.u):
        near = inside & (np.abs(points[:, 0] - middle) < half)
        np.maximum.at(heights[row], column[near], points[near, 2])
    return heights


def _palm_map(heights: Array) -> Array:
    """The highest point under the palm when its middle is over each bin."""
    if not heights.size:
        return heights
    size = (2 * int(PALM_HALF[0] / _ACROSS) + 1, 2 * int(PALM_HALF[1] / _BIN) + 1)
    return ndimage.maximum_filter(heights, size=size, mode="constant", cval=-np.inf)


def _pad_window(bins: _Bins, z: float) -> Array:
    """Where the object is between the pads' lower and upper edge: ``bool[rows, size]``."""
    first = max(0, int((z - PAD_BELOW - bins.z_low) / _DEPTH))
    last = max(first + 1, int((z + PAD_ABOVE - bins.z_low) / _DEPTH))
    return np.asarray(bins.solid[:, :, first:last].any(axis=2))


def _runs(row: Array) -> Iterator[tuple[int, int]]:
    """Pieces of the row between gaps, and all of it: a wall alone, or both walls of something narrow."""
    indices = np.flatnonzero(row)
    breaks = np.flatnonzero(np.diff(indices) > 3)
    starts, ends = [0, *(breaks + 1)], [*breaks, len(indices) - 1]
    for start, end in zip(starts, ends, strict=True):
        yield int(indices[start]), int(indices[end])
    if len(breaks):
        yield int(indices[0]), int(indices[-1])


def _free(taken: Array, first: int, last: int, centre: float) -> bool:
    """Whether the fingers can come down beside the piece and close on it."""
    outer = FINGER_OUTER / _BIN + 1
    left, right = max(0, int(centre - outer)), int(centre + outer) + 1
    return not (taken[left : max(left, first - 1)].any() or taken[last + 2 : right].any())


def _skew(pads: Array, row: int, first: int, last: int) -> float:
    """How far the piece's edges move between the neighbouring rows, metres: 0 for a face along the pads."""
    total = 0.0
    for other in (row - 1, row + 1):
        if not 0 <= other < len(pads):
            continue
        inside = np.flatnonzero(pads[other, max(0, first - 3) : last + 4])
        total += _ENDS if not len(inside) else abs(inside[0] - 3) * _BIN + abs(inside[-1] - (last - first + 3)) * _BIN
    return total / 4


def _taper(bins: _Bins, row: int, z: float, first: int, last: int) -> float:
    """How much narrower the piece is at the pads' upper edge than at their lower one, metres: a roof slips out."""
    piece = bins.solid[row, first : last + 1]
    edges = [_extent(piece, low - bins.z_low) for low in (z - PAD_BELOW, z + PAD_ABOVE - _EDGE)]
    return max(0.0, edges[0] - edges[1]) if min(edges) > 0 else 0.0


def _extent(piece: Array, low: float) -> float:
    """The width of a piece (bins along the axis and up) in the slice that begins ``low`` above its bottom."""
    levels = slice(max(0, int(low / _DEPTH)), max(1, int(np.ceil((low + _EDGE) / _DEPTH))))
    inside = np.flatnonzero(piece[:, levels].any(axis=1))
    return float(inside[-1] - inside[0] + 1) * _BIN if len(inside) else 0.0
