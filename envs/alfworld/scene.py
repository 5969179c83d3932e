"""A game's room as a MuJoCo model: boxes with panels for furniture, primitive shapes for objects."""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..chunks import Array
from .furniture import Receptacle, Thing, furniture
from .poses import Pose, entity_kind, entity_point

_OPEN_TOPPED = frozenset({"bathtubbasin", "garbagecan", "laundryhamper", "sinkbasin"})
_OPEN_TOP_WHEN_OPENED = frozenset({"drawer", "box"})
_UNKNOWN_RECEPTACLE = Receptacle(size=(0.4, 0.4, 0.3), origin="middle", height=0.5, pitch=45, levels=(0.15,))
_UNKNOWN_THING = Thing(shape="box", half=(0.05, 0.05, 0.05))
_PANEL = 0.008
"""Half the thickness of panels, metres."""

_COLOURS = {
    "apple": (0.8, 0.1, 0.1), "tomato": (0.9, 0.2, 0.1), "potato": (0.6, 0.45, 0.25), "lettuce": (0.3, 0.7, 0.2),
    "egg": (0.95, 0.9, 0.8), "bread": (0.75, 0.5, 0.25), "fridge": (0.85, 0.85, 0.88), "microwave": (0.2, 0.2, 0.22),
    "countertop": (0.55, 0.5, 0.45), "cabinet": (0.65, 0.45, 0.3), "drawer": (0.6, 0.42, 0.28),
    "sinkbasin": (0.7, 0.72, 0.75), "bed": (0.75, 0.78, 0.9), "desklamp": (0.95, 0.9, 0.6),
}  # fmt: skip
"""Natural colours of the commonest kinds, linear RGB; other kinds get one from their name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Body:
    """An axis-aligned receptacle.

    Attributes:
        centre: ``float64[3]`` of its box, metres.
        half: ``float64[3]``: half its extents.
        levels: heights at which things stand, metres above the floor.
        front: ``float64[3]``: the unit vector from it towards the agent that uses it.
    """

    centre: Array
    half: Array
    levels: tuple[float, ...]
    front: Array

    def slots(self, height: float) -> list[Array]:
        """Where the middle of a thing of this half height may be, level by level."""
        across = [np.linspace(-1, 1, max(1, int(2 * half / 0.22))) * max(0.0, half - 0.1) for half in self.half[:2]]
        return [
            np.array([self.centre[0] + dx, self.centre[1] + dy, level + height])
            for level in self.levels
            for dy in across[1]
            for dx in across[0]
        ]

    def blocks(self, eye: Array, point: Array) -> bool:
        """Whether the straight line from an eye to a point passes through the box (the slab method)."""
        direction = np.where(np.abs(point - eye) < 1e-9, 1e-9, point - eye)
        near, far = (self.centre - self.half - eye) / direction, (self.centre + self.half - eye) / direction
        enter, leave = np.minimum(near, far).max(), np.maximum(near, far).min()
        return bool(max(enter, 0.0) < min(leave, 0.98))


def place_body(entity: str, pose: Pose, contents: Iterable[str], *, openable: bool) -> Body:
    """The box of a receptacle, fitted to what is in it at the beginning.

    Real games give a receptacle's origin, not its extents: things on a long counter may be far from it, a table's
    top is as high as what stands on it, and a cabinet's origin is its hinge.
    """
    kind = known_receptacles().get(entity_kind(entity), _UNKNOWN_RECEPTACLE)
    width, depth, height = kind.size
    sideways = abs(pose.forward[0]) > abs(pose.forward[1])
    extent = np.array([depth, width] if sideways else [width, depth]) / 2
    origin = entity_point(entity)
    bottom = origin[2] - (0.0 if kind.origin == "floor" else height / 2)
    low, high = np.array([*origin[:2] - extent, bottom]), np.array([*origin[:2] + extent, bottom + height])
    levels = tuple(float(origin[2] + level) for level in kind.levels)
    held = [(entity_point(thing), np.array(thing_of(thing).half)) for thing in contents]
    if held:
        inside_low = np.min([point - half for point, half in held], axis=0)
        inside_high = np.max([point + half for point, half in held], axis=0)
        if not openable and entity_kind(entity) not in _OPEN_TOPPED:
            # A surface: as wide as what stands on it, and as high as the lowest foot.
            low, high = np.minimum(low, inside_low - 0.05), np.maximum(high, inside_high + 0.05)
            high[2] = inside_low[2] - 0.002
            low[2] = min(bottom, high[2] - 0.02) if kind.origin == "floor" else high[2] - height
            levels = (float(high[2]),)
        elif not (np.all(inside_low >= low) and np.all(inside_high <= high)):
            low, high = inside_low - 0.06, inside_high + 0.06
            levels = (float(inside_low[2]),)
    front = np.zeros(3)
    axis = 0 if sideways else 1
    front[axis] = -np.sign(pose.forward[axis])
    return Body(centre=(low + high) / 2, half=(high - low) / 2, levels=levels, front=front)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Geom:
    """One primitive of the model.

    Attributes:
        entity: whose it is.
        lid: whether it is hidden while its receptacle is open.
        xml: its element.
    """

    entity: str
    lid: bool
    xml: str


def receptacle_geoms(entity: str, body: Body, *, openable: bool) -> Iterator[Geom]:
    """A solid box, or panels around an inside that can be seen into."""
    kind = entity_kind(entity)
    colour = colour_of(kind)
    if not openable and kind not in _OPEN_TOPPED:
        yield Geom(entity=entity, lid=False, xml=_box(body.centre, body.half, colour))
        return
    for axis in range(3):
        for sign in (-1.0, 1.0):
            outward = np.zeros(3)
            outward[axis] = sign
            top = axis == 2 and sign > 0
            if top and not openable:
                continue
            lid = openable and (np.array_equal(outward, body.front) or (top and kind in _OPEN_TOP_WHEN_OPENED))
            half = body.half.copy()
            half[axis] = _PANEL
            # Panels differ a little in brightness, so that an open box can be told from a closed one.
            shade = 0.85 + 0.05 * axis + (0.1 if lid else 0.0)
            yield Geom(entity=entity, lid=lid, xml=_box(body.centre + outward * body.half, half, colour * shade))


def object_geom(entity: str) -> Geom:
    """The shape of an object, where it is at the beginning; the view moves it."""
    kind = entity_kind(entity)
    thing = thing_of(entity)
    sizes = {"sphere": thing.half[:1], "cylinder": thing.half[::2]}.get(thing.shape, thing.half)
    size = " ".join(f"{value:g}" for value in sizes)
    red, green, blue = colour_of(kind)
    # A geom at its body's very origin would be compiled as fixed to it, and moving it would change nothing.
    point = " ".join(f"{value:.4f}" for value in entity_point(entity) + 1e-4)
    xml = f'<geom type="{thing.shape}" pos="{point}" size="{size}" rgba="{red:.3f} {green:.3f} {blue:.3f} 1"/>'
    return Geom(entity=entity, lid=False, xml=xml)


def room_geoms(bodies: Sequence[Body], points: Iterable[Array]) -> Iterator[Geom]:
    """A floor and four walls around every receptacle and point."""
    far = [np.asarray(point)[:2] for point in points]
    low = np.min([*(body.centre[:2] - body.half[:2] for body in bodies), *far], axis=0) - 0.1
    high = np.max([*(body.centre[:2] + body.half[:2] for body in bodies), *far], axis=0) + 0.1
    middle, half = (low + high) / 2, (high - low) / 2
    plaster = np.array([0.86, 0.84, 0.8])
    floor = np.array([*middle, -0.02]), np.array([*half, 0.02])
    yield Geom(entity="floor", lid=False, xml=_box(*floor, np.array([0.62, 0.52, 0.42])))
    for axis in range(2):
        for sign in (-1.0, 1.0):
            centre, extent = np.array([*middle, 1.3]), np.array([*half, 1.3])
            centre[axis] += sign * (half[axis] + 0.02)
            extent[axis] = 0.02
            yield Geom(entity="wall", lid=False, xml=_box(centre, extent, plaster * (1.0 - 0.06 * axis)))


def model_xml(geoms: Iterable[Geom], *, size: int, fov: float) -> str:
    """The MJCF of a room.

    Args:
        geoms: everything in it, in the order of their geom ids.
        size: pixels of the square image.
        fov: vertical field of view in degrees.
    """
    listed = "".join(geom.xml for geom in geoms)
    return (
        f'<mujoco><visual><global offwidth="{size}" offheight="{size}" fovy="{fov:g}"/>'
        '<headlight ambient=".45 .45 .45" diffuse=".5 .5 .5" specular="0 0 0"/><map znear=".01"/>'
        f'<quality shadowsize="0"/></visual><worldbody>{listed}</worldbody></mujoco>'
    )


def colour_of(kind: str) -> Array:
    """``float64[3]``: the same colour for a kind in every process."""
    if kind in _COLOURS:
        return np.array(_COLOURS[kind])
    return np.random.default_rng(zlib.crc32(kind.encode())).random(3) * 0.75 + 0.2


def thing_of(entity: str) -> Thing:
    """The shape of an object's kind; a small box for kinds that are not known."""
    return known_things().get(entity_kind(entity), _UNKNOWN_THING)


@functools.cache
def known_receptacles() -> Mapping[str, Receptacle]:
    """Kinds of receptacle by their lower-case names."""
    return {kind.lower(): receptacle for kind, receptacle in furniture().receptacles.items()}


@functools.cache
def known_things() -> Mapping[str, Thing]:
    """Kinds of object by their lower-case names."""
    return {kind.lower(): thing for kind, thing in furniture().objects.items()}


def _box(centre: Array, half: Array, colour: Array) -> str:
    numbers = [" ".join(f"{value:.4f}" for value in vector) for vector in (centre, half, np.clip(colour, 0, 1))]
    return f'<geom type="box" pos="{numbers[0]}" size="{numbers[1]}" rgba="{numbers[2]} 1"/>'
