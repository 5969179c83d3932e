"""A drawn task as the PDDL problem and the goal's text of an ALFWorld game."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from ..furniture import furniture
from .rooms import Place, Point
from .tasks import LAMP, Rules, Task


def problem_text(task: Task, rules: Rules, goal: str) -> str:
    """The PDDL problem, in ALFWorld's own identifiers and predicates.

    Args:
        task: what to write.
        rules: what alfworld says about its classes.
        goal: the ``(:goal …)`` section with the closing parentheses of the problem, as in alfworld's library.
    """
    places = [_place_id(place) for place in task.room.places]
    locations = [_location_id(place) for place in task.room.places]
    start = _free_location(locations)
    items = [_item_id(item.kind, task.room.places[item.place].slots[item.slot]) for item in task.items]
    classes = sorted({item.kind for item in task.items} | {task.target})
    kinds = sorted({place.kind for place in task.room.places})
    objects = [
        "agent1 - agent",
        *(f"{kind}Type - otype" for kind in classes),
        *(f"{kind}Type - rtype" for kind in kinds),
        *(f"{place} - receptacle" for place in places),
        *(f"{item} - object" for item in items),
        *(f"{location} - location" for location in dict.fromkeys([start, *locations])),
    ]
    facts = [f"(atLocation agent1 {start})", "(= (total-cost) 0)"]
    facts += [f"(canContain {kind}Type {one}Type)" for kind in kinds for one in classes if one in rules.contains[kind]]
    for place, identifier, location in zip(task.room.places, places, locations, strict=True):
        facts += [f"(receptacleType {identifier} {place.kind}Type)", f"(receptacleAtLocation {identifier} {location})"]
        facts += [f"(openable {identifier})"] if place.kind in rules.openable else []
    for item, identifier in zip(task.items, items, strict=True):
        facts += [f"(objectType {identifier} {item.kind}Type)"]
        facts += [f"(inReceptacle {identifier} {places[item.place]})"]
        facts += [f"(objectAtLocation {identifier} {locations[item.place]})"]
        facts += [f"({predicate} {identifier})" for predicate in _abilities(item.kind, rules)]
    return "\n".join(
        ["(define (problem generated)", "(:domain alfred)", "(:objects", *objects, ")", "(:init", *facts, ")", goal]
    )


def goal_texts(task: Task, library: Mapping[str, Mapping[str, object]], rng: random.Random) -> tuple[str, str]:
    """The ``(:goal …)`` section and the instruction, from alfworld's goal library.

    alfworld's own `get_templated_task_desc` draws the instruction from a process-global generator; here it is the
    game's own.
    """
    entry = library[task.task_type]
    pddl, templates = str(entry["pddl"]).replace("#", "-"), entry["templates"]
    if not isinstance(templates, list):
        raise TypeError(f"alfworld's goal library has no templates for {task.task_type}.")
    names = {"obj": task.target, "recep": task.destination, "toggle": task.lamp, "mrecep": ""}
    instruction = str(rng.choice(templates)).format(**{key: name.lower() for key, name in names.items()})
    return pddl.format(**names), instruction


def _abilities(kind: str, rules: Rules) -> Iterator[str]:
    if kind != LAMP:
        yield "pickupable"
    for ability, kinds in rules.able.items():
        if kind in kinds:
            yield ability.lower()
    if kind in rules.movable:
        yield "isReceptacleObject"


def _place_id(place: Place) -> str:
    # AI2-THOR calls a sink's basin Sink|x|y|z|SinkBasin, and alfworld's names depend on it.
    if place.kind.endswith("Basin"):
        return _identifier(place.kind.removesuffix("Basin"), place.origin) + f"_bar_{place.kind}"
    return _identifier(place.kind, place.origin)


def _item_id(kind: str, slot: Point) -> str:
    east, foot, north = slot
    return _identifier(kind, (east, foot + furniture().objects[kind].half[2], north))


def _identifier(kind: str, point: Point) -> str:
    """``Mug|+00.25|+00.90|-01.10`` with alfworld's words for the signs."""
    return "_bar__".join([kind, *(_signed(value) for value in point)])


def _signed(value: float) -> str:
    return ("minus_" if value < 0 else "plus_") + f"{abs(value):05.2f}".replace(".", "_dot_")


def _location_id(place: Place) -> str:
    return _location(*place.pose)


def _location(*numbers: int) -> str:
    words = (str(number) if number >= 0 else f"_minus_{-number}" for number in numbers)
    return "_bar_".join(["loc", *words])


def _free_location(taken: list[str]) -> str:
    """Where the agent begins: in the middle of the room, at no receptacle."""
    candidates = (_location(0, step, 0, 30) for step in range(-2, len(taken)))
    return next(location for location in candidates if location not in taken)
