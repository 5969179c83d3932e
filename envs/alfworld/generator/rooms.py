"""Rooms: where every receptacle stands, and where the agent stands to use it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from ..furniture import Receptacle, furniture

type RoomKind = Literal["kitchen", "bedroom", "bathroom", "living_room"]
type Point = tuple[float, float, float]
"""East, up, north, in metres: AI2-THOR's x, y and z, which ALFWorld's identifiers carry."""

GRID = 0.25
"""The step of the agent's grid in metres (alfworld 0.4.2, `constants.AGENT_STEP_SIZE`)."""

_REACH = 0.65
"""How far from a receptacle's front the agent stands, metres."""

_FACING = {"north": 0, "east": 1, "south": 2, "west": 3}
"""Quarter turns clockwise from north, as the third number of a location's identifier."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """A receptacle in a room.

    Attributes:
        kind: such as ``"CounterTop"``.
        origin: where its identifier says it is.
        slots: where the foot of a thing in or on it may stand.
        pose: the agent's ``(east, north)`` in steps of `GRID`, quarter turns clockwise from north, and degrees
            below the horizon, when it is at this receptacle.
    """

    kind: str
    origin: Point
    slots: tuple[Point, ...]
    pose: tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Room:
    """A furnished room around the origin.

    Attributes:
        kind: of room.
        layout: which of its kind's layouts.
        places: its receptacles.
    """

    kind: RoomKind
    layout: int
    places: tuple[Place, ...]


class _Layout(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    size: tuple[float, float]
    north: list[list[str]] = []
    east: list[list[str]] = []
    south: list[list[str]] = []
    west: list[list[str]] = []
    middle: str = ""


@functools.cache
def rooms() -> Mapping[RoomKind, tuple[Room, ...]]:
    """Every layout of ``layouts.yaml``, furnished."""
    text = (resources.files(__package__) / "layouts.yaml").read_text(encoding="utf-8")
    layouts = TypeAdapter(dict[RoomKind, list[_Layout]]).validate_python(yaml.safe_load(text))
    return {
        kind: tuple(Room(kind=kind, layout=index, places=tuple(_furnish(one))) for index, one in enumerate(all_of_kind))
        for kind, all_of_kind in layouts.items()
    }


def _furnish(layout: _Layout) -> Iterator[Place]:
    east, north = layout.size
    walls = {"north": layout.north, "east": layout.east, "south": layout.south, "west": layout.west}
    for wall, columns in walls.items():
        length, distance = (east, north / 2) if wall in ("north", "south") else (north, east / 2)
        widths = [_width(column) for column in columns]
        gap = (length - sum(widths)) / (len(widths) + 1)
        left = -length / 2 + gap
        for column, width in zip(columns, widths, strict=True):
            yield from _column(column, wall=wall, along=left + width / 2, distance=distance)
            left += width + gap
    if layout.middle:
        depth = furniture().receptacles[layout.middle].size[1]
        yield from _column([layout.middle], wall="north", along=0.0, distance=depth / 2)


def _width(column: list[str]) -> float:
    """The widest row of a column, metres."""
    rows = Counter[str](column)
    return max(rows[name] * _parse(name)[1].size[0] for name in rows)


def _column(column: list[str], *, wall: str, along: float, distance: float) -> Iterator[Place]:
    """The receptacles of a column, the middle of which is ``along`` metres right of the wall's middle."""
    rows = Counter[str](column)
    for name, index in _numbered(column):
        kind, receptacle, height = _parse(name)
        width, depth, _ = receptacle.size
        right = along + (index - (rows[name] - 1) / 2) * width
        out = distance - depth / 2
        slots = (
            _turn(wall, right + dx, height + level, out + dz)
            for level, dz, dx in itertools.product(receptacle.levels, _spread(depth, 0.28), _spread(width, 0.24))
        )
        # Shallow things hang above deeper ones, so the agent keeps the deeper one's distance.
        x, _, z = _turn(wall, right, 0.0, distance - max(depth, 0.6) - _REACH)
        yield Place(
            kind=kind,
            origin=_turn(wall, right, height, out),
            slots=tuple(slots),
            pose=(round(x / GRID), round(z / GRID), _FACING[wall], _pitch(receptacle, height)),
        )


def _numbered(column: list[str]) -> Iterator[tuple[str, int]]:
    seen = Counter[str]()
    for name in column:
        yield name, seen[name]
        seen[name] += 1


def _parse(name: str) -> tuple[str, Receptacle, float]:
    kind, _, height = name.partition("@")
    receptacle = furniture().receptacles[kind]
    return kind, receptacle, float(height) if height else receptacle.height


def _pitch(receptacle: Receptacle, height: float) -> int:
    """Where to look: a receptacle hung at another height than its kind's is looked at from there."""
    if height == receptacle.height:
        return receptacle.pitch
    return 60 if height < 0.7 else 30 if height < 1.3 else 15 if height < 1.6 else -15


def _spread(length: float, step: float) -> list[float]:
    """Evenly spaced offsets from the middle, at least ``step`` apart and a third of it from the ends."""
    count = max(1, int((length - step / 3) / step))
    return [(index - (count - 1) / 2) * step for index in range(count)]


def _turn(wall: str, right: float, up: float, out: float) -> Point:
    """From a wall's own right and distance to the room's east, up and north."""
    turned = {"north": (right, out), "east": (out, -right), "south": (-right, -out), "west": (-out, right)}
    east, north = turned[wall]
    return east, up, north
