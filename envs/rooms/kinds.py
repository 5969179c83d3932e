"""What things are made of: parts, kinds, colours and materials, as plain data.

Local frame of every kind: origin on the floor (or on the surface it stands on) under its middle, x towards its
front, y to its left, z up.  Lengths are metres and sizes are full extents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

type Vector = tuple[float, float, float]
type Shape = Literal["box", "cylinder", "ellipsoid", "lathe"]

COLOURS: Mapping[str, Vector] = {
    "red": (0.78, 0.08, 0.08),
    "orange": (0.95, 0.45, 0.04),
    "yellow": (0.93, 0.80, 0.08),
    "green": (0.10, 0.55, 0.16),
    "blue": (0.10, 0.25, 0.80),
    "purple": (0.45, 0.12, 0.60),
    "pink": (0.95, 0.50, 0.68),
    "brown": (0.40, 0.23, 0.10),
    "black": (0.06, 0.06, 0.07),
    "white": (0.93, 0.93, 0.93),
    "grey": (0.48, 0.48, 0.50),
}
"""The colours that expressions name, as linear RGB in [0, 1]."""

PAINTS: Mapping[str, Vector] = {
    **COLOURS,
    "steel": (0.66, 0.68, 0.72),
    "cream": (0.94, 0.88, 0.74),
    "leaf": (0.16, 0.45, 0.14),
    "soil": (0.22, 0.14, 0.08),
    "screen": (0.05, 0.09, 0.16),
    "glow": (1.0, 0.94, 0.72),
    "skin": (0.85, 0.62, 0.42),
    "clay": (0.70, 0.36, 0.22),
    "timber": (0.62, 0.42, 0.24),
    "glass": (0.62, 0.78, 0.82),
}
"""Everything a part may be painted with besides its instance's own colour (``"body"``)."""

MATERIALS = ("wooden", "metal", "ceramic", "glass", "plastic", "fabric", "paper", "natural")
"""The materials that expressions name."""

SIZES: Mapping[str, float] = {"small": 0.8, "medium": 1.0, "large": 1.3}
"""The sizes that objects come in, as factors on their kind's own size."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """One geometric primitive of a kind.

    Attributes:
        shape: ``lathe`` turns `profile` about the vertical axis.
        base: the middle of the part's underside.
        size: full extents; for a cylinder and a lathe the first two are the diameter.
        paint: a key of `PAINTS`, or ``"body"`` for the instance's colour.
        texture: a name of `textures.TEXTURES`, or empty for plain paint.
        profile: of a lathe: (radius, height) pairs from the bottom of the outside on.
        lying: a cylinder whose axis runs along x (``"x"``) or y (``"y"``) instead of z.
        leaf: the part belongs to the door leaf of a container and swings with it.
    """

    shape: Shape
    base: Vector
    size: Vector
    paint: str = "body"
    texture: str = ""
    profile: tuple[tuple[float, float], ...] = ()
    lying: Literal["", "x", "y"] = ""
    leaf: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Surface:
    """A horizontal place where objects may stand.

    Attributes:
        centre: its middle in the kind's frame.
        width: extent along y.
        depth: extent along x.
        headroom: how tall a thing may be.
        relation: what is said of a thing here: ``on``, ``in`` or ``under``.
    """

    centre: Vector
    width: float
    depth: float
    headroom: float = 1.0
    relation: Literal["on", "in", "under"] = "on"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of furniture or object.

    Attributes:
        name: what expressions call it.
        extent: bounding box: depth (x), width (y), height (z).
        parts: its primitives.
        colours: the colours that instances take.
        materials: the materials that instances take.
        surfaces: of furniture, where objects may stand.
        hinge: of a container, the vertical axis (x, y) that its leaf swings about; None when it has none.
        affordances: what it is good for: keys of `affordances.NEEDS`.
        place: of furniture, against a wall, in the middle, or at a table; of objects, ``"surface"`` or ``"floor"``.
        solid: whether it stands in the way of the agent.
    """

    name: str
    extent: Vector
    parts: tuple[Part, ...]
    colours: tuple[str, ...]
    materials: tuple[str, ...] = ("wooden",)
    surfaces: tuple[Surface, ...] = ()
    hinge: tuple[float, float] | None = None
    affordances: tuple[str, ...] = ()
    place: Literal["wall", "middle", "table", "surface", "floor"] = "surface"
    solid: bool = True

    @property
    def opens(self) -> bool:
        """Whether it is a container with a leaf that opens."""
        return self.hinge is not None


def box(base: Vector, size: Vector, paint: str = "body", texture: str = "") -> Part:
    """A box whose underside's middle is at the base."""
    return Part(shape="box", base=base, size=size, paint=paint, texture=texture)


def leaf(base: Vector, size: Vector, paint: str = "body") -> Part:
    """A box that belongs to a container's door leaf."""
    return Part(shape="box", base=base, size=size, paint=paint, leaf=True)


def rod(base: Vector, radius: float, height: float, paint: str = "body") -> Part:
    """An upright cylinder."""
    return Part(shape="cylinder", base=base, size=(2 * radius, 2 * radius, height), paint=paint)


def roll(base: Vector, radius: float, length: float, paint: str = "body", along: Literal["x", "y"] = "y") -> Part:
    """A cylinder that lies along x or y, its lowest line at the base."""
    size = (length, 2 * radius, 2 * radius) if along == "x" else (2 * radius, length, 2 * radius)
    return Part(shape="cylinder", base=base, size=size, paint=paint, lying=along)


def egg(base: Vector, size: Vector, paint: str = "body") -> Part:
    """An ellipsoid."""
    return Part(shape="ellipsoid", base=base, size=size, paint=paint)


def ball(base: Vector, radius: float, paint: str = "body") -> Part:
    """A sphere."""
    return egg(base, (2 * radius, 2 * radius, 2 * radius), paint)


def lathe(profile: tuple[tuple[float, float], ...], paint: str = "body", x: float = 0, y: float = 0) -> Part:
    """A body of revolution about the vertical through (x, y); heights in the profile are absolute."""
    bottom = min(z for _, z in profile)
    radius = max(r for r, _ in profile)
    height = max(z for _, z in profile) - bottom
    return Part(shape="lathe", base=(x, y, bottom), size=(2 * radius, 2 * radius, height), paint=paint, profile=profile)


def legs(dx: float, dy: float, height: float, thick: float = 0.05, paint: str = "timber") -> tuple[Part, ...]:
    """Four legs at (±dx, ±dy)."""
    return tuple(box((sx * dx, sy * dy, 0), (thick, thick, height), paint) for sx in (-1, 1) for sy in (-1, 1))
