"""The floor plan: how many rooms, which, where, and the doors between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

from .house import Door, Room

FLOORS: Mapping[str, str] = {
    "kitchen": "tiles",
    "bathroom": "tiles",
    "laundry": "tiles",
    "hallway": "planks",
    "dining room": "planks",
    "living room": "planks",
    "bedroom": "carpet",
    "nursery": "carpet",
    "study": "planks",
}
"""Every room's name and the texture of its floor."""

_FIRST = ("kitchen", "living room", "bedroom", "bathroom")
_FLOOR_TINTS: Mapping[str, Sequence[tuple[float, float, float]]] = {
    "tiles": ((0.86, 0.87, 0.88), (0.62, 0.70, 0.74), (0.80, 0.74, 0.64)),
    "planks": ((0.72, 0.52, 0.33), (0.55, 0.38, 0.23), (0.80, 0.66, 0.48)),
    "carpet": ((0.52, 0.57, 0.66), (0.66, 0.60, 0.52), (0.48, 0.60, 0.52)),
}
_WALL_TINTS = (
    (0.90, 0.87, 0.79),
    (0.78, 0.86, 0.88),
    (0.84, 0.89, 0.79),
    (0.93, 0.84, 0.78),
    (0.86, 0.84, 0.91),
    (0.93, 0.92, 0.88),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difficulty:
    """What makes an episode harder.

    Attributes:
        grids: the (rows, columns) of rooms to choose from.
        min_geodesic: the least distance from the start to where the target can be seen, metres.
        in_containers: whether the target may be hidden in a closed container.
        steps: the step cap.
    """

    grids: tuple[tuple[int, int], ...]
    min_geodesic: float
    in_containers: bool
    steps: int


DIFFICULTIES: Mapping[str, Difficulty] = {
    "easy": Difficulty(grids=((1, 3), (2, 2)), min_geodesic=2.0, in_containers=False, steps=300),
    "medium": Difficulty(grids=((2, 3), (2, 3), (1, 5)), min_geodesic=3.0, in_containers=False, steps=400),
    "hard": Difficulty(grids=((2, 4), (3, 3)), min_geodesic=4.0, in_containers=True, steps=500),
}


def floor_plan(rng: np.random.Generator, difficulty: Difficulty) -> tuple[tuple[Room, ...], tuple[Door, ...]]:
    """A grid of rooms of random sizes, joined by a random spanning tree of doors and a few more."""
    rows, columns = difficulty.grids[int(rng.integers(len(difficulty.grids)))]
    xs = np.concatenate([[0.0], np.cumsum(rng.uniform(3.5, 4.7, columns))]).round(2)
    ys = np.concatenate([[0.0], np.cumsum(rng.uniform(3.4, 4.5, rows))]).round(2)
    names = _names(rng, rows * columns)
    rooms = tuple(
        _room(
            rng,
            row * columns + column,
            names[row * columns + column],
            (float(xs[column]), float(ys[row]), float(xs[column + 1]), float(ys[row + 1])),
        )
        for row in range(rows)
        for column in range(columns)
    )
    return rooms, _doors(rng, rooms, rows, columns)


def _names(rng: np.random.Generator, count: int) -> list[str]:
    rest = [name for name in FLOORS if name not in _FIRST]
    chosen = [*_FIRST, *(rest[i] for i in rng.permutation(len(rest)))][:count]
    return [chosen[i] for i in rng.permutation(count)]


def _room(
    rng: np.random.Generator,
    index: int,
    name: str,
    corners: tuple[float, float, float, float],
) -> Room:
    floor = FLOORS[name]
    tints = _FLOOR_TINTS[floor]
    return Room(
        index=index,
        name=name,
        x0=corners[0],
        y0=corners[1],
        x1=corners[2],
        y1=corners[3],
        floor=floor,
        floor_colour=tints[int(rng.integers(len(tints)))],
        wall_colour=_WALL_TINTS[int(rng.integers(len(_WALL_TINTS)))],
    )


def _doors(rng: np.random.Generator, rooms: Sequence[Room], rows: int, columns: int) -> tuple[Door, ...]:
    graph = nx.grid_2d_graph(rows, columns)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = float(rng.random())
    tree = {frozenset(edge) for edge in nx.minimum_spanning_tree(graph).edges}
    doors: list[Door] = []
    for first, second in sorted(tuple(sorted(edge)) for edge in graph.edges):
        extra = float(rng.random()) < 0.35
        shift = float(rng.uniform(0.25, 0.75))
        if frozenset((first, second)) not in tree and not extra:
            continue
        a, b = rooms[first[0] * columns + first[1]], rooms[second[0] * columns + second[1]]
        if first[0] == second[0]:
            door = Door(rooms=(a.index, b.index), x=a.x1, y=_between(a.y0, a.y1, shift), along="y")
        else:
            door = Door(rooms=(a.index, b.index), x=_between(a.x0, a.x1, shift), y=a.y1, along="x")
        doors.append(door)
    return tuple(doors)


def _between(low: float, high: float, part: float) -> float:
    """A place along a wall that leaves room for the frame on both sides."""
    return round(low + 0.8 + part * (high - low - 1.6), 2)
