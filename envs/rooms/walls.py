"""Walls, lintels and what hangs on them, as boxes: shared by the scene and the occupancy map."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

from .house import CEILING, DOOR_HEIGHT, DOOR_WIDTH, WALL, Door, Room

type Side = Literal["south", "north", "west", "east"]
SIDES: tuple[Side, ...] = ("south", "north", "west", "east")

INWARD: dict[Side, float] = {"south": 90.0, "north": -90.0, "west": 0.0, "east": 180.0}
"""The yaw, in degrees, of something that stands with its back to that side."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slab:
    """A box in the house frame, by its corners."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]


def room_walls(room: Room, doors: Sequence[Door]) -> Iterator[tuple[Side, Slab]]:
    """The room's own half of each of its walls, cut at the doors, lintels included."""
    for side in SIDES:
        lo, hi = (room.x0, room.x1) if side in ("south", "north") else (room.y0, room.y1)
        cuts = sorted(door_position(door, side) for door in doors if on_side(room, door, side))
        at = lo
        for cut in cuts:
            yield side, _slab(room, side, (at, cut - DOOR_WIDTH / 2), (0.0, CEILING))
            yield side, _slab(room, side, (cut - DOOR_WIDTH / 2, cut + DOOR_WIDTH / 2), (DOOR_HEIGHT, CEILING))
            at = cut + DOOR_WIDTH / 2
        yield side, _slab(room, side, (at, hi), (0.0, CEILING))


def on_side(room: Room, door: Door, side: Side) -> bool:
    """Whether a door is in this wall of this room."""
    if room.index not in door.rooms or (door.along == "x") != (side in ("south", "north")):
        return False
    edge = {"south": room.y0, "north": room.y1, "west": room.x0, "east": room.x1}[side]
    return abs((door.y if door.along == "x" else door.x) - edge) < 1e-6


def door_position(door: Door, side: Side) -> float:
    """The door's middle along the wall."""
    return door.x if side in ("south", "north") else door.y


def _slab(room: Room, side: Side, along: tuple[float, float], height: tuple[float, float]) -> Slab:
    (lo, hi), (z0, z1) = along, height
    match side:
        case "south":
            return Slab(low=(lo, room.y0, z0), high=(hi, room.y0 + WALL, z1))
        case "north":
            return Slab(low=(lo, room.y1 - WALL, z0), high=(hi, room.y1, z1))
        case "west":
            return Slab(low=(room.x0, lo, z0), high=(room.x0 + WALL, hi, z1))
        case "east":
            return Slab(low=(room.x1 - WALL, lo, z0), high=(room.x1, hi, z1))
