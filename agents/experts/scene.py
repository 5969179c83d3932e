"""The simulator's state as the experts read it: names, poses, surface points, contacts, and the hand.

A `Scene` knows a model; `Scene.view` copies the positions and velocities of a moment into private data and computes
everything from them, so that a view is a function of the state alone (the simulator's own derived quantities lag its
positions by one physics step) and looking changes nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...envs import Array
from ...envs.libero.install import import_mujoco
from .grasps import PALM, TIP
from .shapes import collides, geom_points

_GRIP_SITE = "gripper0_grip_site"
_FINGERS = ("gripper0_finger1", "gripper0_finger2")
_FINGER_JOINTS = ("gripper0_finger_joint1", "gripper0_finger_joint2")
_BASE = "robot0_base"
_ROBOT = ("robot0_", "gripper0_", "mount0_")
_ROOT_SUFFIX = "_main"

_PAD = 0.008
"""Half a fingertip's width, metres."""

OPEN_WIDTH = 0.08
"""Distance of the pads of robosuite's open Panda gripper, metres."""
SHUT_WIDTH = 0.0015
"""Fingers this close together hold nothing: what both touch is pushed, metres."""
WIDE = 0.07
"""Fingers wider apart than this count as open, metres."""
HOLDING_WIDTH = 0.077
"""Fingers wider apart than this hold nothing, metres."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hand:
    """The gripper.

    Attributes:
        position: ``float64[3]`` of the grip site between the fingertips, metres, world frame.
        rotation: ``float64[3, 3]``; column 0 is the axis along which the fingers open, column 2 the approach
            direction, from the palm to the fingertips.
        velocity: ``float64[3]``, metres per second.
        width: distance of the pads, metres: 0 to `OPEN_WIDTH`.
        width_rate: its rate, metres per second; negative while closing.
    """

    position: Array
    rotation: Array
    velocity: Array
    width: float
    width_rate: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Site:
    """A named place: a region of a fixture, or a rectangle on the table.

    Attributes:
        position: ``float64[3]``, metres, world frame.
        rotation: ``float64[3, 3]``.
        size: ``float64[3]``, half sizes in the site's own frame.
        body: the body that carries it.
    """

    position: Array
    rotation: Array
    size: Array
    body: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slider:
    """A joint of a fixture: a drawer's slide, a door's or a knob's hinge.

    Attributes:
        value: its position, metres or radians.
        axis: ``float64[3]``, the direction of positive motion (slide) or of the rotation (hinge), world frame.
        anchor: ``float64[3]``, a point on the axis.
        body: the body that it moves.
        hinge: whether it turns.
        range: lower and upper limit.
    """

    value: float
    axis: Array
    anchor: Array
    body: int
    hinge: bool
    range: tuple[float, float]


class Scene:
    """What does not change while a model lives.

    Args:
        model: a ``mujoco.MjModel`` with robosuite's Panda and LIBERO's names.
    """

    def __init__(self, model: Any) -> None:
        mujoco = import_mujoco()
        self.mujoco: Any = mujoco
        self.model = model
        self._data = mujoco.MjData(model)
        kinds = mujoco.mjtObj
        self.grip_site = mujoco.mj_name2id(model, kinds.mjOBJ_SITE, _GRIP_SITE)
        self.roots: Mapping[str, int] = {
            name.removesuffix(_ROOT_SUFFIX): body
            for body in range(1, model.nbody)
            if (name := mujoco.mj_id2name(model, kinds.mjOBJ_BODY, body) or "").endswith(_ROOT_SUFFIX)
            and model.body_parentid[body] == 0
            and not name.startswith(_ROBOT)
        }
        """Objects and fixtures: LIBERO's name, then root body."""
        self.movable = frozenset(name for name, body in self.roots.items() if model.body_dofnum[body] > 0)
        """The names of what can be picked up."""
        by_root = {body: name for name, body in self.roots.items()}
        self._owner = [by_root.get(int(model.body_rootid[body]), "") for body in range(model.nbody)]
        self.base_body = mujoco.mj_name2id(model, kinds.mjOBJ_BODY, _BASE)
        joints = [mujoco.mj_name2id(model, kinds.mjOBJ_JOINT, name) for name in _FINGER_JOINTS]
        self.finger_qpos = [int(model.jnt_qposadr[joint]) for joint in joints]
        self.finger_qvel = [int(model.jnt_dofadr[joint]) for joint in joints]
        names = [mujoco.mj_id2name(model, kinds.mjOBJ_GEOM, geom) or "" for geom in range(model.ngeom)]
        self.finger_of_geom = {
            geom: finger for geom, name in enumerate(names) for finger in (0, 1) if name.startswith(_FINGERS[finger])
        }
        """Which finger a geom belongs to."""
        self.robot_geoms = frozenset(geom for geom, name in enumerate(names) if name.startswith(_ROBOT))
        self._placed: dict[int, tuple[bytes, Array]] = {}

    def owner_of_body(self, body: int) -> str:
        """The object or fixture that a body belongs to, or ``""``."""
        return self._owner[body]

    def owner(self, geom: int) -> str:
        """The object or fixture that a geom belongs to, or ``""``."""
        return self._owner[self.model.geom_bodyid[geom]]

    @functools.cached_property
    def body_points(self) -> Mapping[int, Array]:
        """Surface points of every body of objects and fixtures, in the body's frame: ``float64[N, 3]`` each."""
        points: dict[int, list[Array]] = {}
        for geom in range(self.model.ngeom):
            if self.owner(geom) and collides(self.model, geom):
                points.setdefault(int(self.model.geom_bodyid[geom]), []).append(geom_points(self.model, geom))
        return {body: np.concatenate(parts) for body, parts in points.items()}

    def bodies(self, name: str) -> list[int]:
        """The bodies of an object or fixture that have collision geometry."""
        return [body for body in self.body_points if self._owner[body] == name]

    def placed_points(self, body: int, rotation: Array, position: Array) -> Array:
        """Surface points of a body at a pose, ``float64[N, 3]``; kept while the body stands still."""
        key = rotation.tobytes() + position.tobytes()
        known = self._placed.get(body)
        if known is None or known[0] != key:
            known = key, self.body_points[body] @ rotation.T + position
            self._placed[body] = known
        return known[1]

    def view(self, data: Any) -> View:
        """The present moment.

        Args:
            data: the simulation's ``mujoco.MjData``; only its positions and velocities are read.
        """
        self._data.qpos[:] = data.qpos
        self._data.qvel[:] = data.qvel
        self.mujoco.mj_fwdPosition(self.model, self._data)
        self.mujoco.mj_fwdVelocity(self.model, self._data)
        return View(self, self._data)


class View:
    """One moment of a `Scene`.  It is valid until the scene's next `Scene.view`.

    Args:
        scene: the scene.
        data: its private data, already forwarded.
    """

    def __init__(self, scene: Scene, data: Any) -> None:
        self.scene = scene
        self._data = data

    @functools.cached_property
    def hand(self) -> Hand:
        """The gripper now."""
        scene, data, mujoco = self.scene, self._data, self.scene.mujoco
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(scene.model, data, mujoco.mjtObj.mjOBJ_SITE, scene.grip_site, velocity, 0)
        first, second = scene.finger_qpos
        first_rate, second_rate = scene.finger_qvel
        return Hand(
            position=data.site_xpos[scene.grip_site].copy(),
            rotation=data.site_xmat[scene.grip_site].reshape(3, 3).copy(),
            velocity=velocity[3:],
            width=float(data.qpos[first] - data.qpos[second]),
            width_rate=float(data.qvel[first_rate] - data.qvel[second_rate]),
        )

    @property
    def base(self) -> Array:
        """The robot's base, ``float64[3]``, metres, world frame."""
        return self._data.xpos[self.scene.base_body].copy()

    def position(self, name: str) -> Array:
        """The origin of an object's root body: what LIBERO's predicates compare.  ``float64[3]``."""
        return self._data.xpos[self.scene.roots[name]].copy()

    def rotation(self, name: str) -> Array:
        """The rotation of an object's root body, ``float64[3, 3]``."""
        return self._data.xmat[self.scene.roots[name]].reshape(3, 3).copy()

    def pose(self, body: int) -> tuple[Array, Array]:
        """A body's rotation ``float64[3, 3]`` and position ``float64[3]``, world frame."""
        return self._data.xmat[body].reshape(3, 3).copy(), self._data.xpos[body].copy()

    def body_points(self, body: int) -> Array:
        """Surface points of one body, ``float64[N, 3]``, world frame."""
        return self.scene.placed_points(body, self._data.xmat[body].reshape(3, 3), self._data.xpos[body])

    def points(self, name: str) -> Array:
        """Surface points of an object or fixture, ``float64[N, 3]``, world frame."""
        return np.concatenate([self.body_points(body) for body in self.scene.bodies(name)])

    def others(self, excluded: Collection[str] = ()) -> Array:
        """Surface points of every object and fixture but the excluded, ``float64[N, 3]``, world frame."""
        parts = [self.points(name) for name in self.scene.roots if name not in excluded and self.scene.bodies(name)]
        return np.concatenate(parts) if parts else np.zeros((0, 3))

    def site(self, name: str) -> Site | None:
        """The site of this name, or None."""
        model, mujoco = self.scene.model, self.scene.mujoco
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name)
        if index < 0:
            return None
        return Site(
            position=self._data.site_xpos[index].copy(),
            rotation=self._data.site_xmat[index].reshape(3, 3).copy(),
            size=np.array(model.site_size[index], np.float64),
            body=int(model.site_bodyid[index]),
        )

    def slider(self, body: int) -> Slider | None:
        """The first joint of a body that slides or turns, or None."""
        model, mujoco = self.scene.model, self.scene.mujoco
        for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            kind = int(model.jnt_type[joint])
            if kind in (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE):
                return Slider(
                    value=float(self._data.qpos[model.jnt_qposadr[joint]]),
                    axis=self._data.xaxis[joint].copy(),
                    anchor=self._data.xanchor[joint].copy(),
                    body=body,
                    hinge=kind == mujoco.mjtJoint.mjJNT_HINGE,
                    range=(float(model.jnt_range[joint][0]), float(model.jnt_range[joint][1])),
                )
        return None

    def joint_of(self, name: str) -> Slider | None:
        """The joint behind a fixture's or region's name: the site's body, or the fixture's first moving body."""
        site = self.site(name)
        if name not in self.scene.roots and site is not None:
            return self.slider(site.body)
        root = self.scene.roots[name]
        model = self.scene.model
        for body in range(root, model.nbody):
            if model.body_rootid[body] == root and (found := self.slider(body)) is not None:
                return found
        return None

    @functools.cached_property
    def contacts(self) -> frozenset[tuple[str, str]]:
        """Pairs of names that touch, in both orders; fingers are ``"finger 0"`` and ``"finger 1"``."""
        pairs: set[tuple[str, str]] = set()
        for contact in self._data.contact[: self._data.ncon]:
            if contact.dist > 0:
                continue
            first, second = (self._name(int(geom)) for geom in contact.geom)
            pairs |= {(first, second), (second, first)}
        return frozenset(pairs)

    def touching(self, first: str, second: str) -> bool:
        """Whether two objects or fixtures touch."""
        return (first, second) in self.contacts

    def rests(self, name: str) -> bool:
        """Whether an object touches anything but the robot."""
        return any(first == name and second not in ("robot", "finger 0", "finger 1") for first, second in self.contacts)

    def fingered(self) -> list[str]:
        """The objects that at least one finger touches, by name."""
        return sorted({first for first, second in self.contacts if second.startswith("finger")} & self.scene.movable)

    def straddles(self, name: str) -> bool:
        """Whether something of an object is between the fingers, from their tips to the palm."""
        local = (self.points(name) - self.hand.position) @ self.hand.rotation
        between = (np.abs(local[:, 0]) < self.hand.width / 2 + _PAD) & (np.abs(local[:, 1]) < _PAD)
        return bool((between & (local[:, 2] > -PALM) & (local[:, 2] < TIP)).any())

    def blocked(self, name: str) -> bool:
        """Whether the hand or the arm touches anything but an object (the one that the hand holds)."""
        robot = ("robot", "finger 0", "finger 1")
        return any(first in robot and second not in (*robot, name) for first, second in self.contacts)

    @functools.cached_property
    def held(self) -> str | None:
        """The object between the fingers that both of them touch, or None; the first by name if there are several."""
        if not SHUT_WIDTH < self.hand.width < HOLDING_WIDTH:
            return None
        both = [name for name in self.fingered() if all((name, f"finger {i}") in self.contacts for i in (0, 1))]
        return both[0] if both else None

    def _name(self, geom: int) -> str:
        if geom in self.scene.finger_of_geom:
            return f"finger {self.scene.finger_of_geom[geom]}"
        if geom in self.scene.robot_geoms:
            return "robot"
        return self.scene.owner(geom) or "surroundings"


def height_along(points: Array, start: Array, end: Array, *, radius: float) -> float:
    """The height of the highest point within ``radius`` of the segment from start to end, seen from above.

    Args:
        points: ``float64[N, 3]``.
        start: ``float64[>=2]``.
        end: ``float64[>=2]``.
        radius: metres.

    Returns:
        Metres; minus infinity when nothing is there.
    """
    along = end[:2] - start[:2]
    share = (points[:, :2] - start[:2]) @ along / max(float(along @ along), 1e-9)
    nearest = start[:2] + np.clip(share, 0.0, 1.0)[:, None] * along
    near = ((points[:, :2] - nearest) ** 2).sum(axis=1) < radius**2
    return float(points[near, 2].max(initial=-np.inf))
