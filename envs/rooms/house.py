"""A house as data: rooms, doors and the things in them, without any simulator."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal

from .furniture import FURNITURE
from .kinds import SIZES, Kind
from .objects import OBJECTS

type Relation = Literal["", "on", "in", "under", "beside"]

WALL = 0.06
"""Half of a wall's thickness, in metres: every room paints its own half."""
CEILING = 2.5
DOOR_HEIGHT = 2.05
DOOR_WIDTH = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Room:
    """An axis-aligned room, measured between the middles of its walls, in metres of the house frame."""

    index: int
    name: str
    x0: float
    y0: float
    x1: float
    y1: float
    floor: str
    floor_colour: tuple[float, float, float]
    wall_colour: tuple[float, float, float]

    def contains(self, x: float, y: float) -> bool:
        """Whether a point lies in the room."""
        return self.x0 <= x < self.x1 and self.y0 <= y < self.y1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Door:
    """An opening in the wall between two rooms.

    Attributes:
        rooms: the indices of the rooms that it joins.
        x: of its middle.
        y: of its middle.
        along: the direction of the wall that it is in.
    """

    rooms: tuple[int, int]
    x: float
    y: float
    along: Literal["x", "y"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One piece of furniture or one object.

    Attributes:
        id: the instance id, from 1; 0 is the building.
        kind: a key of `FURNITURE` or `OBJECTS`.
        colour: a key of `COLOURS`.
        material: one of `MATERIALS`.
        size: a key of `SIZES` (furniture is always medium).
        x: position of the kind's origin in the house frame, metres.
        y: likewise.
        z: height of its underside.
        yaw: turn about z, radians.
        room: index of its room.
        support: the furniture that it stands on, in, under or beside; None for furniture.
        relation: how it relates to the support.
    """

    id: int
    kind: str
    colour: str
    material: str
    x: float
    y: float
    z: float
    yaw: float
    room: int
    size: str = "medium"
    support: int | None = None
    relation: Relation = ""

    @property
    def is_object(self) -> bool:
        """Whether expressions may be about it (furniture is only what they relate it to)."""
        return self.kind in OBJECTS

    @property
    def shape(self) -> Kind:
        """Its kind's data."""
        return OBJECTS[self.kind] if self.is_object else FURNITURE[self.kind]

    @property
    def scale(self) -> float:
        """Its size as a factor on the kind's."""
        return SIZES[self.size]


@dataclasses.dataclass(frozen=True, kw_only=True)
class House:
    """Everything there is, from which the scene, the maps and the expressions are made."""

    seed: int
    difficulty: str
    rooms: tuple[Room, ...]
    doors: tuple[Door, ...]
    items: tuple[Item, ...]

    @functools.cached_property
    def by_id(self) -> Mapping[int, Item]:
        """Items by instance id."""
        return {item.id: item for item in self.items}

    @property
    def size(self) -> tuple[float, float]:
        """The outer extents along x and y, metres; the house's corner is the origin."""
        return max(room.x1 for room in self.rooms), max(room.y1 for room in self.rooms)

    def objects(self) -> tuple[Item, ...]:
        """What expressions may be about."""
        return tuple(item for item in self.items if item.is_object)

    def furniture(self) -> tuple[Item, ...]:
        """Everything else that is no wall."""
        return tuple(item for item in self.items if not item.is_object)

    def room_at(self, x: float, y: float) -> Room | None:
        """The room that holds a point, or None outside."""
        return next((room for room in self.rooms if room.contains(x, y)), None)

    def to_json(self) -> dict[str, Any]:
        """The scene graph as plain data, for data sets, traces and independent checks."""
        return dataclasses.asdict(self)
