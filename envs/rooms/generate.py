"""From a seed to a house."""

from __future__ import annotations

import math

import numpy as np

from ...errors import UsageError, WorldError, choices
from ..episodes import derive_seed
from .furnish import Furnisher
from .house import House
from .layout import DIFFICULTIES, floor_plan
from .occupancy import FloorMap, floor_map

_ATTEMPTS = 25


def generate_house(seed: int, difficulty: str = "medium") -> House:
    """The house of a seed: the same in every process.

    Every door can be walked through and every piece of furniture against a wall can be stood in front of; a draw
    that fails this is drawn again with the next sub-seed.

    Raises:
        UsageError: there is no such difficulty.
        WorldError: no draw was walkable, which would be a fault of this generator.
    """
    if difficulty not in DIFFICULTIES:
        raise UsageError(f"there is no difficulty {difficulty!r}. {choices(difficulty, DIFFICULTIES)}")
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng(derive_seed("rooms/house", difficulty, seed, attempt))
        rooms, doors = floor_plan(rng, DIFFICULTIES[difficulty])
        furnisher = Furnisher(rng, doors)
        for room in rooms:
            furnisher.furnish(room)
        house = House(seed=seed, difficulty=difficulty, rooms=rooms, doors=doors, items=tuple(furnisher.items))
        if _walkable(house, floor_map(house)):
            return house
    raise WorldError(f"no walkable house for seed {seed} ({difficulty}) in {_ATTEMPTS} draws.")


def _walkable(house: House, floor: FloorMap) -> bool:
    doors = all(floor.navigable[floor.cell(door.x, door.y)] for door in house.doors)
    fronts = (
        (item.x + (item.shape.extent[0] / 2 + 0.45) * math.cos(item.yaw), item.y)
        if abs(math.cos(item.yaw)) > 0.5
        else (item.x, item.y + (item.shape.extent[0] / 2 + 0.45) * math.sin(item.yaw))
        for item in house.furniture()
        if item.shape.place == "wall" and item.kind != "desk"  # its chair stands in front of it
    )
    return doors and all(floor.navigable[floor.cell(x, y)] for x, y in fronts)
