"""The agent's maps of one episode, brought into one window: a sprite for the report, and pictures for the film."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..agents.maps import Layer, RecordedMap
from ..envs import Array
from ..errors import RecordError

if TYPE_CHECKING:
    from PIL.Image import Image

COLOURS = {
    Layer.UNKNOWN: (205, 206, 210),
    Layer.FREE: (250, 250, 248),
    Layer.OCCUPIED: (140, 142, 152),
    Layer.WALL: (58, 60, 70),
    Layer.FRONTIER: (66, 170, 84),
    Layer.CANDIDATE: (206, 44, 66),
    Layer.GOAL: (240, 146, 28),
}
"""Of each layer, sRGB; the same in light and dark, because a map is a picture."""
PATH, AGENT, CALL = (104, 150, 240), (24, 66, 190), (150, 60, 200)
"""The way walked, the agent, and where the large model was called."""
_WIDEST = 2.0
"""A filmed map's width over its height, at most."""
_MOST_CELLS = 8_000_000
"""Cells of all maps in one window; agents' maps of a house stay far below."""


class Atlas:
    """The maps of an episode in the window that holds them all, north up.

    Args:
        maps: at least one, of one cell size.

    Raises:
        RecordError: the cells' sizes differ, or the window is absurdly large.
    """

    def __init__(self, maps: Sequence[RecordedMap]) -> None:
        self._maps = maps
        self.cell = maps[0].cell
        if any(abs(item.cell - self.cell) > 1e-9 for item in maps):
            raise RecordError("the maps of an episode have cells of different sizes.")
        self.x, self.y = min(item.x for item in maps), min(item.y for item in maps)
        self._corners = [(round((m.y - self.y) / self.cell), round((m.x - self.x) / self.cell)) for m in maps]
        rows = max(row + m.cells.shape[0] for (row, _), m in zip(self._corners, maps, strict=True))
        columns = max(column + m.cells.shape[1] for (_, column), m in zip(self._corners, maps, strict=True))
        if rows * columns * len(maps) > _MOST_CELLS:
            raise RecordError(f"{len(maps)} maps of {rows} × {columns} cells are too many to draw.")
        self.shape = rows, columns

    def __len__(self) -> int:
        return len(self._maps)

    def layers(self, index: int) -> Array:
        """``uint8[H, W]`` of `Layer` over the whole window, row 0 the northernmost."""
        whole = np.full(self.shape, Layer.UNKNOWN, np.uint8)
        (row, column), cells = self._corners[index], self._maps[index].cells
        whole[row : row + cells.shape[0], column : column + cells.shape[1]] = cells
        return whole[::-1]

    def place(self, index: int) -> tuple[float, float, float]:
        """Where the agent is in a map: column and row in cells from the upper left, and its yaw."""
        x, y, yaw = self._maps[index].pose
        return (x - self.x) / self.cell, self.shape[0] - (y - self.y) / self.cell, yaw


def palette() -> list[int]:
    """The colours one after another, as PIL's palettes are."""
    return [value for layer in Layer for value in COLOURS[layer]]


def draw(atlas: Atlas, index: int, *, height: int, calls: Sequence[int] = ()) -> Array:
    """A map as a picture of a given height, with the way so far, the agent, and the calls so far.

    Args:
        atlas: the episode's maps.
        index: which of them.
        height: pixels.
        calls: the maps at which the large model was called.

    Returns:
        ``uint8[height, W, 3]``.
    """
    from PIL import Image, ImageDraw

    rows, columns = atlas.shape
    scale = min(height / rows, _WIDEST * height / columns)
    image = Image.fromarray(atlas.layers(index))
    image.putpalette(palette())
    size = max(1, round(columns * scale)), max(1, round(rows * scale))
    shown = image.convert("RGB").resize(size, Image.Resampling.NEAREST)
    pen = ImageDraw.Draw(shown)
    way = [(scale * column, scale * row) for column, row, _ in map(atlas.place, range(index + 1))]
    if len(way) > 1:
        pen.line(way, PATH, 2, joint="curve")
    for call in calls:
        if call <= index:
            column, row = way[call]
            pen.ellipse((column - 3, row - 3, column + 3, row + 3), CALL)
    pen.polygon(_arrow(way[-1], atlas.place(index)[2], radius=0.045 * height), AGENT)
    return np.asarray(_padded(shown, height))


def _arrow(at: tuple[float, float], yaw: float, *, radius: float) -> list[tuple[float, float]]:
    """A dart that points where the agent looks; the picture's rows grow southward."""
    corners = ((0.0, 1.0), (2.5, 0.8), (-2.5, 0.8))
    return [(at[0] + radius * r * np.cos(yaw + a), at[1] - radius * r * np.sin(yaw + a)) for a, r in corners]


def _padded(image: Image, height: int) -> Image:
    from PIL import Image as Pictures

    whole = Pictures.new("RGB", (image.width, height), COLOURS[Layer.UNKNOWN])
    whole.paste(image, (0, (height - image.height) // 2))
    return whole
