"""A task's BDDL file as frozen data: what is in the scene, where it starts, and what the goal is."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import WorldError

type Predicate = tuple[str, ...]
"""A predicate's name and its arguments in lower case, such as ``("in", "milk_1", "basket_1_contain_region")``."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Region:
    """A named place on a table, the floor, a fixture or an object.

    Attributes:
        name: the name that predicates use: the target's name, an underscore, the region's own name.
        target: the object or fixture that it belongs to.
        ranges: rectangles ``(x_min, y_min, x_max, y_max)`` in metres from the workspace's centre; empty for a
            region that is a site of its target, such as the inside of a basket.
        yaw: the range of an object's initial rotation about the vertical, radians.
    """

    name: str
    target: str
    ranges: tuple[tuple[float, float, float, float], ...] = ()
    yaw: tuple[float, float] = (0.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """One task's description.

    Attributes:
        domain: LIBERO's class of scene, such as ``"libero_floor_manipulation"``.
        language: the instruction of the BDDL file, in lower case.
        goal: predicates that must all hold.
        initial: predicates that place everything at the beginning.
        objects: movable objects: name, then category.
        fixtures: furniture and appliances: name, then category.
        regions: by full name.
        objects_of_interest: the names that LIBERO marks as the task's own, movable or not.
    """

    domain: str
    language: str
    goal: tuple[Predicate, ...]
    initial: tuple[Predicate, ...]
    objects: Mapping[str, str]
    fixtures: Mapping[str, str]
    regions: Mapping[str, Region]
    objects_of_interest: tuple[str, ...]


@functools.lru_cache(maxsize=256)
def read_problem(path: Path) -> Problem:
    """Parse a BDDL file with the ``bddl`` package's tokeniser, without loading a simulator.

    Raises:
        WorldError: the file is missing or is no BDDL problem.
    """
    from bddl.parsing import scan_tokens

    try:
        tokens: Any = scan_tokens(filename=str(path))
        # tokens: "define", then one list per section.
        return _problem({str(group[0]): group[1:] for group in tokens[1:]})
    # bddl raises bare Exception for unbalanced parentheses.
    except Exception as error:
        raise WorldError(f"{path} is not a readable BDDL problem: {error}.") from error


def _problem(sections: Mapping[str, list[Any]]) -> Problem:
    goal = sections[":goal"][0]
    regions = [_region(entry) for entry in sections.get(":regions", [])]
    return Problem(
        domain=str(sections["problem"][-1]),
        language=" ".join(sections[":language"]),
        goal=_predicates(goal[1:] if goal[0] == "and" else [goal]),
        initial=_predicates(sections[":init"]),
        objects=_typed(sections.get(":objects", [])),
        fixtures=_typed(sections.get(":fixtures", [])),
        regions={region.name: region for region in regions},
        objects_of_interest=tuple(sections.get(":obj_of_interest", [])),
    )


def _predicates(groups: list[Any]) -> tuple[Predicate, ...]:
    return tuple(tuple(str(word) for word in group) for group in groups)


def _typed(words: list[str]) -> dict[str, str]:
    """``a b - bowl c - plate`` as ``{"a": "bowl", "b": "bowl", "c": "plate"}``."""
    result: dict[str, str] = {}
    waiting: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-":
            category = next(rest)
            result.update(dict.fromkeys(waiting, category))
            waiting = []
        else:
            waiting.append(word)
    return result


def _region(entry: list[Any]) -> Region:
    name, *attributes = entry
    values: dict[str, Any] = {attribute[0]: attribute[1] for attribute in attributes}
    target = values[":target"]
    x_min_y_min_x_max_y_max = [tuple(float(x) for x in box) for box in values.get(":ranges", [])]
    yaw = [tuple(float(x) for x in pair) for pair in values.get(":yaw_rotation", [])]
    return Region(
        name=f"{target}_{name}",
        target=target,
        ranges=tuple((a, b, c, d) for a, b, c, d in x_min_y_min_x_max_y_max),
        yaw=(yaw[-1][0], yaw[-1][1]) if yaw else (0.0, 0.0),
    )
