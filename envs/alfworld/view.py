"""What the agent sees: the room drawn from the game's facts as they stand now."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...errors import WorldError
from ..chunks import Array
from ..libero.install import import_mujoco
from .engine import Engine
from .poses import Pose, entity_kind, entity_point, location_pose
from .scene import (
    Body,
    Geom,
    known_things,
    model_xml,
    object_geom,
    place_body,
    receptacle_geoms,
    room_geoms,
    thing_of,
)

FOV = 75.0
"""Vertical field of view in degrees.  ALFRED uses 60; the wider view shows more of what a receptacle holds."""

_HELD = (0.55, 0.22, -0.2)
"""Where a held object is drawn: metres ahead of the eye, to its right, and up."""

_APART = 0.13
"""Least distance between the middles of two things on one level, metres, where there is a choice."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Segmentation:
    """Which entity every pixel shows.

    Attributes:
        image: ``uint8[H, W, 3]``: what was segmented.
        ids: ``int32[H, W]``, an index into ``names``, or -1 for the background, the floor and the walls.
        names: the game's names, such as ``"mug 1"``.
        kinds: the kind of each, such as ``"mug"``.
        held: the names of what the agent holds.
        opened: the names of the receptacles that are open.
    """

    image: Array
    ids: Array
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    held: frozenset[str]
    opened: frozenset[str]

    def pixels(self) -> dict[str, int]:
        """How many pixels show each entity that is visible at all."""
        counts = np.bincount(self.ids[self.ids >= 0].ravel(), minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, counts, strict=True) if count}


class View:
    """Draws one game.

    Args:
        engine: the game at its beginning, and later whenever it is drawn.
        size: pixels of the square image.

    Raises:
        WorldError: no GL context can be made.
    """

    def __init__(self, engine: Engine, *, size: int) -> None:
        self._mujoco: Any = import_mujoco()
        self._engine = engine
        self._at = {fact[1]: fact[2] for fact in engine.facts("receptacleatlocation")}
        inside = sorted((fact[1], fact[2]) for fact in engine.facts("inreceptacle"))
        self._openable = {fact[1] for fact in engine.facts("openable")}
        self._bodies = {
            entity: place_body(
                entity,
                location_pose(location),
                [thing for thing, where in inside if where == entity],
                openable=entity in self._openable,
            )
            for entity, location in sorted(self._at.items())
        }
        self._things = sorted(_movable(engine, inside))
        # Where each thing is drawn; things that are put somewhere get a free slot there.
        self._points = {thing: entity_point(thing) for thing in self._things}
        self._places = dict(inside)
        inner = [*self._points.values(), *(location_pose(location).eye for location in self._at.values())]
        self._geoms = [*room_geoms(list(self._bodies.values()), inner), *self._receptacle_geoms()]
        self._geoms += [object_geom(thing) for thing in self._things]
        self._model: Any = self._mujoco.MjModel.from_xml_string(model_xml(self._geoms, size=size, fov=FOV))
        self._data: Any = self._mujoco.MjData(self._model)
        self._built = self._model.geom_pos.copy()
        try:
            self._renderer: Any = self._mujoco.Renderer(self._model, height=size, width=size)
        # Each backend raises errors of its own kinds: OpenGL's, ImportError, AttributeError, RuntimeError.
        except Exception as error:
            raise WorldError(f"no GL context for ALFWorld's view: {error}. Run `thinktwice doctor`.") from error
        # Also at the interpreter's end, when a forgotten context would complain that its library is gone.
        self._free = weakref.finalize(self, self._renderer.close)
        self._image: Array | None = None
        self._renderer.scene.flags[self._mujoco.mjtRndFlag.mjRND_SHADOW] = 0

    def image(self) -> Array:
        """``uint8[H, W, 3]``: what the agent sees now."""
        image = self._image
        if image is None:
            self._arrange()
            image = self._image = np.asarray(self._renderer.render())
        return image.copy()

    def segmentation(self) -> Segmentation:
        """Which entity every pixel of `image` shows."""
        image = self.image()
        self._arrange()
        self._renderer.enable_segmentation_rendering()
        try:
            geoms = self._renderer.render()[..., 0]
        finally:
            self._renderer.disable_segmentation_rendering()
        entities = list(dict.fromkeys(geom.entity for geom in self._geoms if geom.entity not in ("floor", "wall")))
        index = {entity: place for place, entity in enumerate(entities)}
        table = np.array([*(index.get(geom.entity, -1) for geom in self._geoms), -1], np.int32)
        name = self._engine.name
        return Segmentation(
            image=image,
            ids=table[np.where(geoms < 0, len(self._geoms), geoms)],
            names=tuple(name(entity) for entity in entities),
            kinds=tuple(entity_kind(entity) for entity in entities),
            held=frozenset(name(fact[2]) for fact in self._engine.facts("holds")),
            opened=frozenset(name(fact[1]) for fact in self._engine.facts("opened")),
        )

    def follow(self) -> None:
        """Give a free slot to what was put somewhere.

        Called after every command, drawn or not, so that an image depends on the commands alone.
        """
        places = {fact[1]: fact[2] for fact in self._engine.facts("inreceptacle")}
        for thing in self._things:
            place = places.get(thing)
            if place is not None and place != self._places.get(thing) and place in self._bodies:
                others = [
                    self._points[other] for other in self._things if other != thing and places.get(other) == place
                ]
                self._points[thing] = _free_slot(self._bodies[place], thing_of(thing).half[2], others)
        self._places, self._image = places, None

    def close(self) -> None:
        """Free the GL context: two renderers at once draw wrong frames."""
        self._free()

    def _receptacle_geoms(self) -> Iterable[Geom]:
        for entity, body in self._bodies.items():
            yield from receptacle_geoms(entity, body, openable=entity in self._openable)

    def _arrange(self) -> None:
        """Move and hide the geoms as the facts demand, and point the camera."""
        (agent,) = self._engine.facts("atlocation")
        pose = location_pose(agent[2])
        opened = {fact[1] for fact in self._engine.facts("opened")}
        places = {fact[1]: fact[2] for fact in self._engine.facts("inreceptacle")}
        held = {fact[2] for fact in self._engine.facts("holds")}
        hidden = self._in_the_way(agent[2], pose, places, opened)
        for index, geom in enumerate(self._geoms):
            shown, point = geom.entity not in hidden and not (geom.lid and geom.entity in opened), self._built[index]
            if geom.entity in self._bodies:
                point = point + self._pulled(geom.entity, opened)
            elif geom.entity in held:
                point = _in_hand(pose)
            elif geom.entity in self._points:
                where = places.get(geom.entity, "")
                shown = where not in self._openable or where in opened
                point = self._points[geom.entity] + self._pulled(where, opened)
            self._model.geom_pos[index] = point
            self._model.geom_rgba[index, 3] = float(shown)
        self._mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, camera=self._camera(pose))

    def _in_the_way(self, location: str, pose: Pose, places: dict[str, str], opened: set[str]) -> set[str]:
        """Receptacles that are cut away: they would hide what is in the one that the agent stands at.

        Extents are guesses in real games, where a counter would cover the drawer under it.
        """
        here = {place for place, at in self._at.items() if at == location}
        seen = [
            self._points[thing] + self._pulled(place, opened)
            for thing, place in places.items()
            if place in here and (place not in self._openable or place in opened) and thing in self._points
        ]
        return {
            place
            for place, body in self._bodies.items()
            if place not in here and any(body.blocks(pose.eye, point) for point in seen)
        }

    def _pulled(self, place: str, opened: set[str]) -> Array:
        """How far a receptacle is pulled out, with what it holds: only drawers are, and only when open."""
        if place not in opened or entity_kind(place) != "drawer" or place not in self._bodies:
            return np.zeros(3)
        body = self._bodies[place]
        return 2 * body.half * body.front

    def _camera(self, pose: Pose) -> Any:
        camera = self._mujoco.MjvCamera()
        camera.type = self._mujoco.mjtCamera.mjCAMERA_FREE
        camera.distance = 0.05
        camera.lookat[:] = pose.eye + camera.distance * pose.forward
        camera.azimuth, camera.elevation = pose.azimuth, -pose.pitch
        return camera


def _movable(engine: Engine, inside: Iterable[tuple[str, str]]) -> set[str]:
    """What is drawn as an object: all that can be used, and what is known by its shape."""
    usable = {fact[1] for predicate in ("pickupable", "toggleable") for fact in engine.facts(predicate)}
    shaped = {fact[1] for fact in engine.facts("objecttype") if entity_kind(fact[1]) in known_things()}
    return {entity for entity in usable | shaped | {thing for thing, _ in inside} if "_bar_" in entity}


def _in_hand(pose: Pose) -> Array:
    ahead, right, up = _HELD
    above = np.cross(pose.right, pose.forward)
    return pose.eye + ahead * pose.forward + right * pose.right + up * above


def _free_slot(body: Body, height: float, others: list[Array]) -> Array:
    slots = body.slots(height)
    free = [slot for slot in slots if all(np.linalg.norm(slot - other) > _APART for other in others)]
    return free[0] if free else slots[len(others) % len(slots)]
