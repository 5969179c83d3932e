"""The worlds by the names that the command line uses.

A world costs nothing until it is opened: its module is imported only then.  Adding one means adding a line to
`WORLDS` and to `registration`, and passing the conformance test.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import UsageError, choices
from .worlds import World


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorldEntry:
    """Where a world lives.

    Attributes:
        module: the module, relative to this package, that holds both names below.
        options: the dataclass of its command-line options.
        open: the function ``(name, options) -> World``.
        summary: one line for ``thinktwice envs``.
        extra: the pip extra that brings what it needs, or empty when the base install does.
    """

    module: str
    options: str
    open: str
    summary: str
    extra: str = ""

    def load(self) -> tuple[type[Any], Callable[[str, Any], World]]:
        """The options' class and the function that opens the world; imports its module."""
        module = importlib.import_module(self.module, __package__)
        return getattr(module, self.options), cast("Callable[[str, Any], World]", getattr(module, self.open))


def _libero(summary: str) -> WorldEntry:
    return WorldEntry(module=".libero.world", options="LiberoOptions", open="open_libero", summary=summary)


WORLDS: Mapping[str, WorldEntry] = {
    "libero": _libero("LIBERO: the 40 tasks of spatial, object, goal and 10 together, in this order"),
    "libero_spatial": _libero("LIBERO: 10 tasks, the same objects in other places"),
    "libero_object": _libero("LIBERO: 10 tasks, other objects into the basket"),
    "libero_goal": _libero("LIBERO: 10 tasks, the same scene with other goals"),
    "libero_10": _libero("LIBERO: 10 long tasks with two goals each (LIBERO-LONG)"),
    "libero_90": _libero("LIBERO: 90 short tasks in kitchens, living rooms and studies"),
    "alfworld": WorldEntry(
        module=".alfworld.world",
        options="AlfworldOptions",
        open="open_alfworld",
        summary="ALFWorld: household tasks of six types in text and images, generated or your own games",
        extra="alfworld",
    ),
    "r2r": WorldEntry(
        module=".r2r.world",
        options="R2ROptions",
        open="open_r2r",
        summary="Room-to-Room: following instructions through a graph, in synthetic houses or on your own R2R files",
    ),
    "rooms": WorldEntry(
        module=".rooms.world",
        options="RoomsOptions",
        open="open_rooms",
        summary="Rooms: explore a procedural house for what a referring expression means, and segment it",
    ),
    "fake": WorldEntry(
        module=".fakes", options="FakeOptions", open="open_fake", summary="a fake for tests: no simulator"
    ),
}


def world_entry(name: str) -> WorldEntry:
    """The entry of a world.

    LIBERO-PRO's perturbed suites are accepted by their own names, such as ``libero_object_swap``.

    Raises:
        UsageError: no world has this name.
    """
    if name in WORLDS:
        return WORLDS[name]
    if any(name.startswith(f"{suite}_") for suite in WORLDS if suite.startswith("libero_")):
        return _libero("LIBERO-PRO: a perturbed suite")
    raise UsageError(f"there is no world {name!r}. {choices(name, WORLDS)}")
