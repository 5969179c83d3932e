"""Furnishing: which furniture a room gets and where, and the objects on, in, under and beside it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .furniture import FURNITURE
from .house import DOOR_WIDTH, WALL, Door, Item, Relation, Room
from .kinds import SIZES, Kind, Surface
from .objects import OBJECTS
from .walls import INWARD, SIDES, door_position, on_side

type Rect = tuple[float, float, float, float]

ROOM_FURNITURE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "kitchen": (("fridge", "counter", "stove"), ("cabinet",)),
    "dining room": (("dining table", "chair", "chair", "chair"), ("cabinet", "ficus")),
    "living room": (("sofa", "tv stand", "coffee table"), ("armchair", "floor lamp", "ficus")),
    "bedroom": (("bed", "wardrobe", "nightstand"), ("floor lamp", "armchair")),
    "bathroom": (("bathtub", "toilet", "washbasin"), ("cabinet",)),
    "study": (("desk", "bookshelf", "chair"), ("armchair", "floor lamp", "ficus")),
    "laundry": (("washing machine", "locker"), ("cabinet", "locker")),
    "nursery": (("bunk bed", "cabinet"), ("nightstand", "floor lamp")),
    "hallway": (("bench", "locker"), ("cabinet", "ficus")),
}
"""By room: what it always gets (where it fits), and what it gets by chance."""

_FOOD = ("apple", "banana", "bread", "cheese", "milk carton", "cereal box")
_COOKING = ("mug", "bowl", "plate", "water bottle", "wine bottle", "pan", "pot", "kettle", "toaster")
_LIVING = ("book", "vase", "potted plant", "candle", "camera", "radio", "trophy", "cushion", "table lamp", "globe")
ROOM_OBJECTS: Mapping[str, tuple[str, ...]] = {
    "kitchen": (*_FOOD, *_COOKING),
    "dining room": (*_FOOD, "mug", "bowl", "plate", "wine bottle", "candle", "vase", "potted plant"),
    "living room": (*_LIVING, "mug", "bowl", "laptop", "teddy bear", "hat"),
    "bedroom": ("book", "table lamp", "alarm clock", "cushion", "hat", "camera", "vase", "water bottle", "candle"),
    "bathroom": ("towel", "shampoo", "toilet roll", "candle", "towel", "mug", "potted plant"),
    "study": ("book", "laptop", "globe", "table lamp", "mug", "camera", "alarm clock", "trophy", "radio", "book"),
    "laundry": ("towel", "box", "basket", "shampoo", "radio", "hat"),
    "nursery": ("teddy bear", "toy car", "ball", "book", "globe", "alarm clock", "cushion", "hat"),
    "hallway": ("hat", "box", "ball", "vase", "camera", "basket", "water bottle"),
}
"""By room: the objects that belong there; one in five comes from anywhere."""

_CLEAR = 0.75
"""Metres kept free in front of furniture, so that the agent can stand there and a leaf can swing."""
_MARGIN = 0.04


@dataclasses.dataclass
class _Plan:
    """A room being furnished: what is taken, and what must stay free."""

    room: Room
    taken: list[Rect]
    free: list[Rect]


class Furnisher:
    """Furnishes one house after another room; hands out instance ids in the order things are placed.

    Args:
        rng: draws everything.
        doors: the house's doors, whose neighbourhoods stay free.
    """

    def __init__(self, rng: np.random.Generator, doors: Sequence[Door]) -> None:
        self._rng = rng
        self._doors = doors
        self.items: list[Item] = []

    def furnish(self, room: Room) -> None:
        """Place furniture, then objects, in one room."""
        plan = _Plan(room=room, taken=[], free=list(_doorways(room, self._doors)))
        always, chance = ROOM_FURNITURE[room.name]
        wanted = [*always, *(name for name in chance if self._rng.random() < 0.6)]
        placed = [item for name in wanted for item in [self._furniture(plan, FURNITURE[name])] if item is not None]
        for furniture in placed:
            for surface in furniture.shape.surfaces:
                self._cover(room, furniture, surface)
        self._beside(plan, placed)

    def _furniture(self, plan: _Plan, kind: Kind) -> Item | None:
        look = self._look(kind)
        for _ in range(60):
            pose = self._pose(plan, kind)
            if pose is None:
                continue
            x, y, yaw = pose
            rect = _footprint(x, y, yaw, kind.extent[0] / 2, kind.extent[1] / 2)
            front = kind.extent[0] / 2 + _CLEAR / 2
            clear = _footprint(
                x + front * math.cos(yaw), y + front * math.sin(yaw), yaw, _CLEAR / 2, max(kind.extent[1] / 2, 0.3)
            )
            seat = kind.place == "table"
            blocked = any(_overlap(rect, other) for other in plan.taken)
            blocked = blocked or (not seat and any(_overlap(rect, other) for other in plan.free))
            blocked = blocked or (kind.place == "wall" and any(_overlap(clear, other) for other in plan.taken))
            if blocked or not _inside(plan.room, rect):
                continue
            plan.taken.append(_grow(rect, _MARGIN))
            if kind.place == "wall":
                plan.free.append(clear)
            elif kind.place == "middle":
                plan.free.append(_grow(rect, 0.35))
            return self._add(plan.room, kind, (x, y, 0.0, yaw), look=look)
        return None

    def _pose(self, plan: _Plan, kind: Kind) -> tuple[float, float, float] | None:
        room, rng = plan.room, self._rng
        if kind.place == "middle":
            yaw = float(rng.integers(2)) * math.pi / 2
            x = (room.x0 + room.x1) / 2 + float(rng.uniform(-0.4, 0.4))
            y = (room.y0 + room.y1) / 2 + float(rng.uniform(-0.4, 0.4))
            return x, y, yaw
        if kind.place == "table":
            return self._seat(plan.room, kind)
        side = SIDES[int(rng.integers(4))]
        yaw = math.radians(INWARD[side])
        back = WALL + kind.extent[0] / 2 + 0.02
        low, high = (room.x0, room.x1) if side in ("south", "north") else (room.y0, room.y1)
        reach = WALL + kind.extent[1] / 2 + 0.02
        if high - low < 2 * reach:
            return None
        along = float(rng.uniform(low + reach, high - reach))
        return {
            "south": (along, room.y0 + back, yaw),
            "north": (along, room.y1 - back, yaw),
            "west": (room.x0 + back, along, yaw),
            "east": (room.x1 - back, along, yaw),
        }[side]

    def _seat(self, room: Room, kind: Kind) -> tuple[float, float, float] | None:
        tables = [i for i in self.items if i.room == room.index and i.kind in ("dining table", "desk")]
        if not tables:
            return None
        table = tables[0]
        side = 0.0 if table.kind == "desk" else float(self._rng.integers(2)) * math.pi
        along = 0.2 if table.kind == "desk" else float(self._rng.uniform(-0.5, 0.5))
        out = table.shape.extent[0] / 2 + kind.extent[0] / 2 + 0.06
        x, y = _to_world(table, out * math.cos(side), along)
        return x, y, table.yaw + side + math.pi

    def _look(self, kind: Kind) -> tuple[str, str]:
        colour = kind.colours[int(self._rng.integers(len(kind.colours)))]
        return colour, kind.materials[int(self._rng.integers(len(kind.materials)))]

    def _cover(self, room: Room, furniture: Item, surface: Surface) -> None:
        """Stand up to a few objects on one surface, side by side; sometimes several of one kind in a row."""
        rng = self._rng
        slots = max(int(surface.width / 0.32), 1)
        row = slots >= 3 and surface.relation == "on" and rng.random() < 0.2
        count = 3 if row else int(rng.integers(0, min(slots, 3) + 1))
        if surface.relation == "in" and count == 0:
            count = int(rng.random() < 0.5)
        if count == 0:
            return
        names = [self._choose(room) for _ in range(count)]
        if row:
            names = [names[0]] * count
        pitch = surface.width / slots
        places = np.sort(rng.permutation(slots)[:count])
        colours = rng.permutation(len(OBJECTS[names[0]].colours))
        for index, (name, slot) in enumerate(zip(names, places, strict=True)):
            kind = OBJECTS[name]
            size = self._size(kind, surface, pitch)
            if size is None:
                continue
            look = self._look(kind)
            if row:
                look = kind.colours[int(colours[index % len(colours)])], look[1]
            scale = SIZES[size]
            spare = max((surface.depth - kind.extent[0] * scale) / 2, 0.0)
            dx = surface.centre[0] + float(rng.uniform(-spare, spare)) * 0.7
            dy = surface.centre[1] - surface.width / 2 + (float(slot) + 0.5) * pitch
            x, y = _to_world(furniture, dx, dy)
            yaw = furniture.yaw + float(rng.uniform(-0.3, 0.3))
            pose = (x, y, surface.centre[2] + 0.001, yaw)
            support = furniture.id
            self._add(room, kind, pose, look=look, size=size, support=support, relation=surface.relation)

    def _size(self, kind: Kind, surface: Surface, pitch: float) -> str | None:
        """A size that fits, or None."""
        order = [list(SIZES)[i] for i in self._rng.choice(3, 3, replace=False, p=[0.2, 0.6, 0.2])]
        for name in order:
            depth, width, height = (extent * SIZES[name] for extent in kind.extent)
            if depth <= surface.depth + 0.04 and width <= pitch + 0.04 and height <= surface.headroom:
                return name
        return None

    def _choose(self, room: Room) -> str:
        names = ROOM_OBJECTS[room.name] if self._rng.random() < 0.8 else tuple(OBJECTS)
        return names[int(self._rng.integers(len(names)))]

    def _beside(self, plan: _Plan, placed: Sequence[Item]) -> None:
        """Objects on the floor: under tables, and beside other furniture."""
        floor = [name for name, kind in OBJECTS.items() if kind.place == "floor"]
        wanted = int(self._rng.integers(0, 3))
        for _ in range(12):
            if wanted == 0 or not placed:
                return
            support = placed[int(self._rng.integers(len(placed)))]
            kind = OBJECTS[floor[int(self._rng.integers(len(floor)))]]
            look = self._look(kind)
            under = support.kind == "dining table"
            side = 1.0 if self._rng.random() < 0.5 else -1.0
            gap = support.shape.extent[1] / 2 + kind.extent[1] / 2 + 0.08
            x, y = (support.x, support.y) if under else _to_world(support, 0.05, side * gap)
            rect = _footprint(x, y, support.yaw, kind.extent[0] / 2, kind.extent[1] / 2)
            others = plan.free + ([] if under else plan.taken)
            if support.kind == "chair" or not _inside(plan.room, rect):
                continue
            if not under and any(_overlap(rect, other) for other in others):
                continue
            if under and any(i.support == support.id and i.relation == "under" for i in self.items):
                continue
            plan.taken.append(_grow(rect, 0.02))
            relation: Relation = "under" if under else "beside"
            pose = (x, y, 0.002, support.yaw)
            self._add(plan.room, kind, pose, look=look, support=support.id, relation=relation)
            wanted -= 1

    def _add(
        self,
        room: Room,
        kind: Kind,
        pose: tuple[float, float, float, float],
        *,
        look: tuple[str, str],
        size: str = "medium",
        support: int | None = None,
        relation: Relation = "",
    ) -> Item:
        """Place one thing; the pose is (x, y, z, yaw), the look colour and material."""
        x, y, z, yaw = pose
        item = Item(
            id=len(self.items) + 1,
            kind=kind.name,
            colour=look[0],
            material=look[1],
            x=round(x, 4),
            y=round(y, 4),
            z=round(z, 4),
            yaw=round(yaw, 6),
            room=room.index,
            size=size,
            support=support,
            relation=relation,
        )
        self.items.append(item)
        return item


def _to_world(item: Item, dx: float, dy: float) -> tuple[float, float]:
    cos, sin = math.cos(item.yaw), math.sin(item.yaw)
    return item.x + cos * dx - sin * dy, item.y + sin * dx + cos * dy


def _footprint(x: float, y: float, yaw: float, half_x: float, half_y: float) -> Rect:
    cos, sin = abs(math.cos(yaw)), abs(math.sin(yaw))
    reach_x, reach_y = cos * half_x + sin * half_y, sin * half_x + cos * half_y
    return x - reach_x, y - reach_y, x + reach_x, y + reach_y


def _grow(rect: Rect, by: float) -> Rect:
    return rect[0] - by, rect[1] - by, rect[2] + by, rect[3] + by


def _overlap(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] - 1e-9 and b[0] < a[2] - 1e-9 and a[1] < b[3] - 1e-9 and b[1] < a[3] - 1e-9


def _inside(room: Room, rect: Rect) -> bool:
    return (
        rect[0] >= room.x0 + WALL
        and rect[1] >= room.y0 + WALL
        and rect[2] <= room.x1 - WALL
        and rect[3] <= room.y1 - WALL
    )


def _doorways(room: Room, doors: Sequence[Door]) -> Iterator[Rect]:
    """Where nothing may stand: in front of the room's doors."""
    half, deep = DOOR_WIDTH / 2 + 0.05, 0.9
    for side in SIDES:
        for door in doors:
            if not on_side(room, door, side):
                continue
            at = door_position(door, side)
            yield {
                "south": (at - half, room.y0, at + half, room.y0 + deep),
                "north": (at - half, room.y1 - deep, at + half, room.y1),
                "west": (room.x0, at - half, room.x0 + deep, at + half),
                "east": (room.x1 - deep, at - half, room.x1, at + half),
            }[side]
