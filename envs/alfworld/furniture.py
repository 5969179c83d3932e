"""The kinds of receptacle and object: how large they are and how they stand, read from ``furniture.yaml``."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from importlib import resources
from typing import Literal

import yaml
from pydantic import TypeAdapter

type Size = tuple[float, float, float]
"""Three lengths in metres."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Receptacle:
    """A kind of receptacle.

    Attributes:
        size: width along the wall, depth away from it, and height, in metres.
        origin: whether its identifier's coordinates are those of its foot or of its middle.
        height: of the origin above the floor where the generator builds one, metres.
        pitch: degrees below the horizon at which an agent in front of it looks.
        levels: heights above the origin at which things stand in or on it, metres.
    """

    size: Size
    origin: Literal["floor", "middle"]
    height: float
    pitch: int
    levels: tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thing:
    """A kind of object: its shape, and half its extents in metres, the last one upward."""

    shape: Literal["box", "sphere", "ellipsoid", "cylinder"]
    half: Size


@dataclasses.dataclass(frozen=True, kw_only=True)
class Furniture:
    """Every kind that is known."""

    receptacles: Mapping[str, Receptacle]
    objects: Mapping[str, Thing]


@functools.cache
def furniture() -> Furniture:
    """The kinds of ``furniture.yaml``."""
    text = (resources.files(__package__) / "furniture.yaml").read_text(encoding="utf-8")
    return TypeAdapter(Furniture).validate_python(yaml.safe_load(text))
