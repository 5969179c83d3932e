"""Drawing a task: what to do with which object where, and where everything stands at the beginning."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

from ....errors import UsageError
from .rooms import Place, Room, RoomKind

ROOMS_OF_TASK: Mapping[str, tuple[RoomKind, ...]] = {
    "pick_and_place_simple": ("kitchen", "living_room", "bathroom", "bedroom"),
    "pick_two_obj_and_place": ("kitchen", "living_room", "bathroom", "bedroom"),
    "look_at_obj_in_light": ("living_room", "bedroom"),
    "pick_clean_then_place_in_recep": ("kitchen", "bathroom"),
    "pick_heat_then_place_in_recep": ("kitchen",),
    "pick_cool_then_place_in_recep": ("kitchen",),
}
"""Where ALFRED sets each task (alfworld 0.4.2, `constants.GOALS_VALID`)."""

_TOOLS = {
    "pick_clean_then_place_in_recep": ("SinkBasin", "Cleanable"),
    "pick_heat_then_place_in_recep": ("Microwave", "Heatable"),
    "pick_cool_then_place_in_recep": ("Fridge", "Coolable"),
}
"""The receptacle that a task needs on the way, and the property of objects that it works on."""

_OBJECTS: Mapping[RoomKind, str] = {
    "kitchen": "Apple Bread Egg Lettuce Potato Tomato Mug Cup Bowl Plate Pan Pot Kettle Knife ButterKnife Fork Spoon "
    "Spatula Ladle SaltShaker PepperShaker DishSponge SoapBottle WineBottle Glassbottle",
    "bedroom": "Book CD Pen Pencil CellPhone AlarmClock KeyChain CreditCard Laptop Pillow BasketBall Mug Bowl Cloth "
    "TissueBox BaseballBat TennisRacket",
    "bathroom": "SoapBar SoapBottle ToiletPaper Cloth HandTowel TissueBox SprayBottle Candle DishSponge Towel Plunger",
    "living_room": "Book CreditCard KeyChain Laptop Newspaper Pillow RemoteControl CellPhone Statue TissueBox Vase "
    "Watch WateringCan Candle Pen Pencil",
}
"""What lies about in each kind of room."""

LAMP = "DeskLamp"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
    """What alfworld says about its classes, each as sorted tuples so that nothing depends on the hash seed.

    Attributes:
        contains: the objects that each kind of receptacle can hold.
        able: the objects that are ``"Heatable"``, ``"Coolable"``, ``"Cleanable"``, ``"Toggleable"``, ``"Sliceable"``.
        openable: the kinds of receptacle that open and close.
        movable: the objects that can hold others.
    """

    contains: Mapping[str, tuple[str, ...]]
    able: Mapping[str, tuple[str, ...]]
    openable: tuple[str, ...]
    movable: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """An object at the beginning: its class, and the indices of the place and the slot where it stands."""

    kind: str
    place: int
    slot: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A task in a furnished room.

    Attributes:
        task_type: one of `TASK_TYPES`.
        room: where.
        target: the object's class.
        destination: the receptacle's class, or empty for `look_at_obj_in_light`.
        lamp: the lamp's class, or empty.
        items: everything that lies about.
    """

    task_type: str
    room: Room
    target: str
    destination: str
    lamp: str
    items: tuple[Item, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difficulty:
    """How hard generated games are.

    Attributes:
        clutter: objects besides those that the task needs.
        hidden: the probability that a needed object stands in a closed receptacle.
        spares: further objects of the target's class.
    """

    clutter: int = 12
    hidden: float = 0.4
    spares: int = 0

    def __post_init__(self) -> None:
        if self.clutter < 0 or self.spares < 0 or not 0 <= self.hidden <= 1:
            raise UsageError(f"clutter and spares must be at least 0 and hidden within [0, 1], got {self}.")


def draw_task(task_type: str, room: Room, rules: Rules, difficulty: Difficulty, rng: random.Random) -> Task:
    """A solvable task whose goal does not hold yet.

    It is solvable by construction: the objects that it needs stand in reachable receptacles other than the
    destination, the destination can hold them, and the room has the tool.

    Raises:
        UsageError: the room allows no task of this type.
    """
    kinds = sorted({place.kind for place in room.places})
    options = [
        (target, destination)
        for target in _OBJECTS[room.kind].split()
        for destination in (kinds if task_type != "look_at_obj_in_light" else [""])
        if _possible(task_type, target, destination, room, rules)
    ]
    if not options:
        raise UsageError(f"layout {room.layout} of the {room.kind} has no task of type {task_type}.")
    target, destination = rng.choice(options)
    table = _Table(room, rules, rng)
    needed = (2 if task_type == "pick_two_obj_and_place" else 1) + difficulty.spares
    for _ in range(needed):
        table.put(target, hidden=rng.random() < difficulty.hidden, avoid=destination)
    lamp = LAMP if task_type == "look_at_obj_in_light" else ""
    if lamp:
        table.put(lamp, hidden=False)
    others = [kind for kind in _OBJECTS[room.kind].split() if kind != target]
    for _ in range(difficulty.clutter):
        table.put(rng.choice(others), hidden=rng.random() < 0.3, required=False)
    return Task(
        task_type=task_type, room=room, target=target, destination=destination, lamp=lamp, items=tuple(table.items)
    )


def _possible(task_type: str, target: str, destination: str, room: Room, rules: Rules) -> bool:
    kinds = {place.kind for place in room.places}
    tool, ability = _TOOLS.get(task_type, ("", ""))
    if tool and (tool not in kinds or target not in rules.able[ability] or destination == tool):
        return False
    if destination and target not in rules.contains[destination]:
        return False
    sources = [place for place in room.places if place.kind != destination and target in rules.contains[place.kind]]
    return len(sources) >= 2


class _Table:
    """Puts things into free slots."""

    def __init__(self, room: Room, rules: Rules, rng: random.Random) -> None:
        self.items: list[Item] = []
        self._room, self._rules, self._rng = room, rules, rng
        self._free = {index: list(range(len(place.slots))) for index, place in enumerate(room.places)}

    def put(self, kind: str, *, hidden: bool, avoid: str = "", required: bool = True) -> None:
        """Put a thing somewhere, in a closed receptacle if hidden and any can hold it."""
        options = [
            index
            for index, place in enumerate(self._room.places)
            if self._free[index] and place.kind != avoid and self._holds(place, kind)
        ]
        preferred = [i for i in options if (self._room.places[i].kind in self._rules.openable) == hidden] or options
        if not preferred:
            if required:
                raise UsageError(
                    f"the {self._room.kind} has no room left for a {kind}; ask for less clutter or spares."
                )
            return
        place = self._rng.choice(preferred)
        slot = self._rng.choice(self._free[place])
        self._free[place].remove(slot)
        self.items.append(Item(kind=kind, place=place, slot=slot))

    def _holds(self, place: Place, kind: str) -> bool:
        if kind == LAMP:
            return place.kind in ("Desk", "SideTable", "Dresser", "CoffeeTable", "DiningTable", "TVStand")
        return kind in self._rules.contains[place.kind]
