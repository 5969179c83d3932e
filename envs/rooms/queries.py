"""The meaning of a referring expression, and which things in a house it denotes."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

from .house import House, Item
from .objects import OBJECTS

type Form = Literal["attribute", "relation", "room", "ordinal", "implicit"]
FORMS: tuple[Form, ...] = ("attribute", "relation", "room", "ordinal", "implicit")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Query:
    """What a thing must satisfy to be meant; empty fields ask nothing.

    Attributes:
        kinds: it is one of these.
        colour: a key of `COLOURS`.
        material: one of `MATERIALS`.
        size: a key of `SIZES`.
        room: the name of the room that it is in.
        relation: how it relates to the support.
        support: the kind of furniture that it stands on, in, under or beside.
        place: its place counted from the left, from 1, among those of its kind on the support, as seen from the
            support's front; 0 asks nothing.
        need: the key of `NEEDS` that the kinds serve, when the expression names none.
    """

    kinds: tuple[str, ...]
    colour: str = ""
    material: str = ""
    size: str = ""
    room: str = ""
    relation: str = ""
    support: str = ""
    place: int = 0
    need: str = ""

    @property
    def form(self) -> Form:
        """Which form of expression says this."""
        if self.need:
            return "implicit"
        if self.place:
            return "ordinal"
        if self.support:
            return "relation"
        return "room" if self.room else "attribute"


def kinds_for(need: str) -> tuple[str, ...]:
    """The kinds that serve a need."""
    return tuple(name for name, kind in OBJECTS.items() if need in kind.affordances)


def resolve(query: Query, house: House) -> tuple[Item, ...]:
    """Everything in the house that the query denotes."""
    found = tuple(item for item in house.objects() if _matches(query, item, house))
    if not query.place:
        return found
    chosen: list[Item] = []
    for support in sorted({item.support for item in found if item.support is not None}):
        row = sorted((i for i in found if i.support == support), key=lambda i: _rightness(i, house.by_id[support]))
        if len(row) >= max(query.place, 2):
            chosen.append(row[query.place - 1])
    return tuple(chosen)


def _matches(query: Query, item: Item, house: House) -> bool:
    support = house.by_id[item.support] if item.support is not None else None
    return (
        item.kind in query.kinds
        and query.colour in ("", item.colour)
        and query.material in ("", item.material)
        and query.size in ("", item.size)
        and query.room in ("", house.rooms[item.room].name)
        and (not query.support or (support is not None and support.kind == query.support))
        and query.relation in ("", item.relation)
    )


def _rightness(item: Item, support: Item) -> float:
    """How far to the right a thing is, for someone who faces the support's front."""
    dx, dy = item.x - support.x, item.y - support.y
    return -math.sin(support.yaw) * dx + math.cos(support.yaw) * dy
