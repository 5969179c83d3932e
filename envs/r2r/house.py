"""A synthetic house with several floors: rooms on a grid, doors, stairs, landmarks, and instructions about them."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import IdentityError, UsageError
from ..chunks import Array
from ..episodes import derive_seed
from .graph import Scan
from .routes import Route, Sight

_ROOMS = ("kitchen", "bedroom", "bathroom", "hallway", "office", "lounge", "library", "dining room", "nursery", "gym")
_LANDMARKS = (
    "aquarium", "armchair", "bathtub", "bench", "bicycle", "bookshelf", "bust", "cabinet", "cactus", "chandelier",
    "chest", "clock", "couch", "crib", "dresser", "drum", "easel", "fan", "fireplace", "fridge", "globe", "guitar",
    "hamper", "harp", "lamp", "loom", "mirror", "oven", "painting", "piano", "plant", "radio", "rug", "safe",
    "sculpture", "sink", "stool", "stove", "suitcase", "table", "telescope", "television", "treadmill", "trunk", "vase",
    "wardrobe",
)  # fmt: skip
_ROOM_SIZE, _FLOOR_HEIGHT = 4.0, 3.0
"""Metres between the middles of neighbouring rooms, and between floors."""

_SHORTEST, _LONGEST = 4, 7
"""Edges of a route, as in R2R (Anderson et al., CVPR 2018)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticRoutes:
    """Seeded routes, each through a house of its own.

    Attributes:
        count: how many routes.
        seed: of the whole set.
        floors: of each house.
        width: rooms along each side of a floor.

    Raises:
        UsageError: a number that makes no sense.
    """

    count: int = 100
    seed: int = 0
    floors: int = 2
    width: int = 3

    def __post_init__(self) -> None:
        if self.count < 1 or self.floors < 1 or self.width < 2:
            raise UsageError(f"count and floors must be at least 1 and width at least 2, got {self}.")

    @property
    def name(self) -> str:
        """What the task is called."""
        return "synthetic"

    def numbers(self) -> Sequence[int]:
        """From 0 on."""
        return tuple(range(self.count))

    def load(self, number: int) -> Route:
        """See `RouteSet.load`."""
        if number not in range(self.count):
            raise IdentityError(f"there are {self.count} synthetic routes, 0 to {self.count - 1}; {number} is none.")
        return _house(self, number)[0]

    def sights(self, scan: str, viewpoint: str) -> Sequence[Sight]:
        """See `RouteSet.sights`."""
        return _house(self, int(scan.rpartition("-")[2]))[1].get(viewpoint, ())

    def labels(self) -> Sequence[str]:
        """The landmarks and the kinds of room."""
        return sorted({*_LANDMARKS, *_ROOMS})

    def image(self, scan: str, viewpoint: str) -> Array | None:
        """None: nothing is drawn."""
        del scan, viewpoint
        return None

    def describe(self) -> dict[str, Any]:
        """What the routes were drawn with."""
        return {"routes": "synthetic", **dataclasses.asdict(self)}


@functools.lru_cache(maxsize=64)
def _house(routes: SyntheticRoutes, number: int) -> tuple[Route, Mapping[str, Sequence[Sight]]]:
    rng = random.Random(derive_seed("r2r", routes, number))  # noqa: S311  not for secrets
    scan = _scan(routes, number, rng)
    sights = _furnish(scan, rng)
    path = _draw_path(scan, rng)
    marks = [sights[viewpoint][0].label for viewpoint in path]
    rooms = [sights[viewpoint][1].label for viewpoint in path]
    steps = [f"go to the {mark} in the {room}" for mark, room in zip(marks[1:-1], rooms[1:-1], strict=True)]
    text = f"{', then '.join(steps)}. Stop at the {marks[-1]} in the {rooms[-1]}."
    instruction = text[0].upper() + text[1:]
    return Route(scan=scan, path=tuple(path), heading=rng.uniform(0, 2 * np.pi), instruction=instruction), sights


def _scan(routes: SyntheticRoutes, number: int, rng: random.Random) -> Scan:
    """A random tree of doors over all rooms of a floor, some more doors, and one staircase between floors."""
    cells = [(x, y) for x in range(routes.width) for y in range(routes.width)]
    names = {(floor, *cell): f"v{floor}{cell[0]}{cell[1]}" for floor in range(routes.floors) for cell in cells}
    points = {
        name: np.array([
            x * _ROOM_SIZE + rng.uniform(-0.8, 0.8), y * _ROOM_SIZE + rng.uniform(-0.8, 0.8), floor * _FLOOR_HEIGHT
        ])
        for (floor, x, y), name in names.items()
    }  # fmt: skip
    edges: set[tuple[str, str]] = set()
    for floor in range(routes.floors):
        walls = [((x, y), (x + 1, y)) for x, y in cells if x + 1 < routes.width]
        walls += [((x, y), (x, y + 1)) for x, y in cells if y + 1 < routes.width]
        rng.shuffle(walls)
        joined = {cell: cell for cell in cells}
        for one, other in walls:
            first, second = _root(joined, one), _root(joined, other)
            if first != second or rng.random() < 0.35:
                joined[first] = second
                edges.add((names[floor, *one], names[floor, *other]))
        if floor + 1 < routes.floors:
            cell = rng.choice(cells)
            edges.add((names[floor, *cell], names[floor + 1, *cell]))
    return Scan(name=f"house-{number}", points=points, edges=tuple(sorted(edges)))


def _root(joined: Mapping[tuple[int, int], tuple[int, int]], cell: tuple[int, int]) -> tuple[int, int]:
    while joined[cell] != cell:
        cell = joined[cell]
    return cell


def _furnish(scan: Scan, rng: random.Random) -> Mapping[str, Sequence[Sight]]:
    """A landmark that no neighbour shares, the kind of room, and some other things, for every viewpoint."""
    marks = list(_LANDMARKS)
    rng.shuffle(marks)
    sights: dict[str, list[Sight]] = {}
    for index, viewpoint in enumerate(sorted(scan.points)):
        landmark = Sight(label=marks[index % len(marks)], share=rng.uniform(0.002, 0.03))
        sights[viewpoint] = [landmark, Sight(label=rng.choice(_ROOMS), share=1.0)]
    return sights


def _draw_path(scan: Scan, rng: random.Random) -> list[str]:
    """A shortest path of 4 to 7 edges, or the longest that a small house has."""
    viewpoints = sorted(scan.points)
    pairs = [(one, other) for one in viewpoints for other in viewpoints if one != other]
    rng.shuffle(pairs)
    paths = [scan.shortest_path(*pair) for pair in pairs[:60]]
    fitting = [path for path in paths if _SHORTEST <= len(path) - 1 <= _LONGEST]
    return fitting[0] if fitting else max(paths, key=len)
