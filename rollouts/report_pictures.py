"""The pictures of an episode that come from its trace: what a model saw, and the agent's maps."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..agents.maps import Layer, RecordedMap, read_map
from ..envs import Array
from ..errors import RecordError
from .floorplans import AGENT, CALL, COLOURS, PATH, Atlas, palette
from .report_decisions import SEEN
from .traces import TracedDecision

PICTURE_BUDGET = 5_000_000
"""Bytes of all such pictures, as base64; see `report_media` for the rest of a report."""
_QUALITY = 60
"""Of WebP: a view of a household world takes about 2 kB."""


@dataclasses.dataclass
class Budget:
    """Bytes that are left for pictures of all episodes."""

    left: int = PICTURE_BUDGET

    def take(self, size: int) -> bool:
        """Whether so much was left; then it no longer is."""
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pictures:
    """What an episode shows besides its film.

    Attributes:
        data: base64 of each picture: WebP, and the last one a PNG if there is a map.
        shown: decision index to camera name to the picture's place in `data`.
        plan: how to read the maps' sprite, or None.
        places: decision index to its map: its place in the sprite, and the agent's column, row and yaw.
        left_out: pictures for which no room was left.
    """

    data: tuple[str, ...] = ()
    shown: Mapping[int, Mapping[str, int]] = dataclasses.field(default_factory=dict[int, Mapping[str, int]])
    plan: Mapping[str, Any] | None = None
    places: Mapping[int, Sequence[float]] = dataclasses.field(default_factory=dict[int, Sequence[float]])
    left_out: int = 0


def pictures_of(decisions: Sequence[TracedDecision], budget: Budget) -> Pictures:
    """The pictures of some decisions, while there is room.  Equal pictures are kept once."""
    shown, seen = _seen(decisions)
    data = _encoded_within(seen, budget.left)
    left_out = 0 if budget.take(sum(map(len, data))) else len(seen)
    shown, data = ({}, []) if left_out else (shown, data)
    maps = {d.index: found for d in decisions if (found := read_map(d.notes)) is not None}
    try:
        atlas = Atlas(list(maps.values())) if maps else None
    except RecordError:
        atlas, left_out = None, left_out + len(maps)
    if atlas is None:
        return Pictures(data=tuple(data), shown=shown, left_out=left_out)
    columns, sprite = _sprite(atlas)
    if not budget.take(len(sprite)):
        return Pictures(data=tuple(data), shown=shown, left_out=left_out + len(maps))
    plan = {"picture": len(data), "columns": columns, "height": atlas.shape[0], "width": atlas.shape[1], **_LEGEND}
    return Pictures(data=(*data, sprite), shown=shown, plan=plan, places=_places(maps, atlas), left_out=left_out)


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{value:02x}" for value in colour)


_LEGEND = {
    "layers": [[layer.name.lower(), _hex(colour)] for layer, colour in COLOURS.items()],
    "path": _hex(PATH),
    "agent": _hex(AGENT),
    "call": _hex(CALL),
}


def _seen(decisions: Sequence[TracedDecision]) -> tuple[dict[int, dict[str, int]], list[Array]]:
    """The different pictures that were seen, and which of them each decision saw, by camera."""
    shown: dict[int, dict[str, int]] = {}
    places: dict[bytes, int] = {}
    pictures: list[Array] = []
    for decision in decisions:
        for name, value in decision.notes.items():
            if not name.startswith(SEEN) or not _is_picture(value):
                continue
            place = places.setdefault(value.tobytes(), len(pictures))
            if place == len(pictures):
                pictures.append(value)
            shown.setdefault(decision.index, {})[name.removeprefix(SEEN)] = place
    return shown, pictures


def _encoded_within(pictures: Sequence[Array], room: int) -> list[str]:
    """The pictures as base64, up to the first that has no more room."""
    data: list[str] = []
    for picture in pictures:
        data.append(_encoded(picture))
        room -= len(data[-1])
        if room < 0:
            break
    return data


def _is_picture(value: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    array = cast("Array", value)
    return array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3 and array.size > 0


def _encoded(picture: Array) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "WEBP", quality=_QUALITY)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _sprite(atlas: Atlas) -> tuple[int, str]:
    """All maps on one nearly square sheet, four bits a pixel: how many stand in a row, and the PNG in base64.

    Each map is nearly the one beside it, which is what makes the sheet small.
    """
    from PIL import Image

    rows, columns = atlas.shape
    across = max(1, round((len(atlas) * rows / columns) ** 0.5))
    sheet = np.full((-(-len(atlas) // across) * rows, across * columns), Layer.UNKNOWN, np.uint8)
    for index in range(len(atlas)):
        row, column = index // across * rows, index % across * columns
        sheet[row : row + rows, column : column + columns] = atlas.layers(index)
    image = Image.fromarray(sheet)
    image.putpalette(palette())
    file = io.BytesIO()
    image.save(file, "PNG", bits=4, optimize=True)
    return across, base64.b64encode(file.getvalue()).decode("ascii")


def _places(maps: Mapping[int, RecordedMap], atlas: Atlas) -> dict[int, list[float]]:
    return {index: [place, *(round(value, 2) for value in atlas.place(place))] for place, index in enumerate(maps)}
