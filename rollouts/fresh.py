"""A world as training data is made in it: fresh placements, and the pictures that were asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ..envs import World, world_entry
from .config import as_options


def fresh_options(world: str, *, size: int, rendering: str, cameras: Sequence[str]) -> dict[str, Any]:
    """A world's options as far as it has them.

    Args:
        world: its name.
        size: pixels of each side of the images.
        rendering: how pixels are made.
        cameras: which to show.
    """
    options_class, _ = world_entry(world).load()
    asked = {"init_states": "fresh", "cameras": cameras, "height": size, "width": size, "rendering": rendering}
    known = {field.name for field in dataclasses.fields(options_class)}
    return {name: value for name, value in asked.items() if name in known}


def open_with(world: str, given: Mapping[str, Any]) -> World:
    """The world of a name with these options."""
    options_class, open_world = world_entry(world).load()
    return open_world(world, as_options(given, options_class, f"world {world}"))
