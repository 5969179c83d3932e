"""An episode's task: a target, an expression that means it alone, and a start from which it cannot be seen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np

from ...errors import IdentityError, WorldError
from .expressions import candidates, say, understand
from .house import House, Item
from .layout import DIFFICULTIES
from .motion import PITCH_LIMITS, START_PITCH, TILT, TURN
from .occupancy import CELL, Field, FloorMap, centre
from .queries import Form, Query, resolve
from .render import Frame
from .scene import CAMERA_HEIGHT
from .scoring import MIN_VISIBLE

CHECK_SIZE = 256
"""Pixels a side of the looks that decide what is visible; fixed, so that episodes do not depend on image size."""
SUCCESS_RADIUS = 0.5
"""Geodesic metres from a verified viewpoint within which a stop counts."""
VIEW_DISTANCE = 1.4
_NEAREST = 0.45
_LATTICE = 6
"""Cells between the poses that are tried as viewpoints: 0.3 m, well within the success radius."""
_TRIES = 48

type Look = Callable[[float, float, float, float], Frame]
"""(x, y, yaw, pitch) to a colourless frame of `CHECK_SIZE`, containers as they are now."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """A pose from which the target was seen when the episode was made: metres and radians, house frame."""

    x: float
    y: float
    yaw: float
    pitch: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """One task in one house.

    Attributes:
        target: the instance that is meant.
        query: the expression's meaning.
        expression: what the agent is told.
        x: start, metres, house frame.
        y: likewise.
        yaw: radians.
        viewpoints: where it can be seen from.
        distance: float64[H, W], geodesic metres to the nearest viewpoint.
        shortest: its value at the start.
        container: the container that must be opened first, or None.
    """

    target: int
    query: Query
    expression: str
    x: float
    y: float
    yaw: float
    viewpoints: tuple[Viewpoint, ...]
    distance: Field
    shortest: float
    container: int | None

    @property
    def form(self) -> Form:
        """The form of the expression."""
        return self.query.form


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where an episode is made.

    Attributes:
        house: the house.
        floor: its map.
        look: renders.
    """

    house: House
    floor: FloorMap
    look: Look


def draw_scenario(
    place: Place, set_open: Callable[[int, bool], None], rng: np.random.Generator, *, expression: str | None = None
) -> Scenario:
    """Choose a target, its expression and a start.

    Args:
        place: the house, its map and its renderer.
        set_open: opens (True) or closes a container.
        rng: draws everything.
        expression: a person's own words instead of a drawn expression.

    Raises:
        UsageError: the person's expression is empty or names nothing known.
        IdentityError: the person's expression denotes no object here, or more than one.
        WorldError: no target can be hidden from any start.
    """
    house, floor = place.house, place.floor
    level = DIFFICULTIES[house.difficulty]
    for target, query in _tasks(house, rng) if expression is None else [_asked(house, expression)]:
        container = target.support if target.relation == "in" else None
        if container is not None and not level.in_containers and expression is None:
            continue
        if container is not None:
            set_open(container, True)
        views = _viewpoints(place, rng, target)
        if container is not None:
            set_open(container, False)
        distance = floor.distances([floor.cell(view.x, view.y) for view in views])
        start = _start(place, rng, target, distance, level.min_geodesic)
        if start is None:
            continue
        x, y, yaw = start
        return Scenario(
            target=target.id,
            query=query,
            expression=say(query, rng) if expression is None else expression.strip(),
            x=x,
            y=y,
            yaw=yaw,
            viewpoints=views,
            distance=distance,
            shortest=float(distance[floor.cell(x, y)]),
            container=container,
        )
    raise WorldError(f"house {house.seed} ({house.difficulty}) offers no such target that a start could hide.")


def _asked(house: House, expression: str) -> tuple[Item, Query]:
    query = understand(expression)
    found = resolve(query, house)
    if len(found) != 1:
        said = ", ".join(f"{item.size} {item.colour} {item.kind}" for item in found) or "nothing"
        raise IdentityError(
            f"{expression!r} must denote exactly one object of this house; it denotes {said}. "
            "Name a colour, a room or what it stands on."
        )
    return found[0], query


def _tasks(house: House, rng: np.random.Generator) -> Iterator[tuple[Item, Query]]:
    """Targets with unique expressions in random order, every form that the house offers in turn."""
    options: dict[Form, list[tuple[Item, Query]]] = {}
    for item in house.objects():
        for query in candidates(house, item):
            options.setdefault(query.form, []).append((item, query))
    forms = sorted(options)
    order = [forms[i] for i in rng.permutation(len(forms))]
    pools = {form: [options[form][i] for i in rng.permutation(len(options[form]))] for form in order}
    for turn in range(max((len(pool) for pool in pools.values()), default=0)):
        for form in order:
            if turn < len(pools[form]):
                yield pools[form][turn]


def _viewpoints(place: Place, rng: np.random.Generator, target: Item) -> tuple[Viewpoint, ...]:
    """Poses on a lattice of the target's room, near it, that really show it."""
    floor, room = place.floor, place.house.rooms[target.room]
    rows, columns = floor.navigable.shape
    cells = [
        (row, column)
        for row in range(int(room.y0 / CELL), min(int(room.y1 / CELL), rows), _LATTICE)
        for column in range(int(room.x0 / CELL), min(int(room.x1 / CELL), columns), _LATTICE)
        if floor.navigable[row, column]
        and _NEAREST <= math.dist(centre((row, column)), (target.x, target.y)) <= VIEW_DISTANCE
    ]
    seen: list[Viewpoint] = []
    height = target.z + target.shape.extent[2] * target.scale / 2
    for index in rng.permutation(len(cells))[:_TRIES]:
        x, y = centre(cells[index])
        yaw, pitch = facing(x, y, target.x, target.y, height)
        if (place.look(x, y, yaw, pitch).instances == target.id).mean() >= MIN_VISIBLE:
            seen.append(Viewpoint(x=x, y=y, yaw=yaw, pitch=pitch))
    return tuple(seen)


def facing(x: float, y: float, target_x: float, target_y: float, height: float) -> tuple[float, float]:
    """The yaw and pitch, of those that the discrete actions reach, that look at a point."""
    yaw = round(math.atan2(target_y - y, target_x - x) / TURN) * TURN
    down = math.atan2(height - CAMERA_HEIGHT, math.hypot(target_x - x, target_y - y))
    pitch = min(max(round(down / TILT) * TILT, PITCH_LIMITS[0]), PITCH_LIMITS[1])
    return yaw, pitch


def _start(
    place: Place, rng: np.random.Generator, target: Item, distance: Field, least: float
) -> tuple[float, float, float] | None:
    house, floor = place.house, place.floor
    far = np.argwhere(floor.navigable & np.isfinite(distance) & (distance >= least))
    for _ in range(20 if len(far) else 0):
        row, column = (int(n) for n in far[int(rng.integers(len(far)))])
        x, y = centre((row, column))
        yaw = float(rng.integers(12)) * TURN
        room = house.room_at(x, y)
        if room is None or (room.index == target.room and house.difficulty != "easy"):
            continue
        if not (place.look(x, y, yaw, START_PITCH).instances == target.id).any():
            return x, y, yaw
    return None
