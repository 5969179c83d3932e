"""The MuJoCo model of a house, built with `MjSpec`: geometry to look at, never stepped.

Shadows and multisampling are off and curved shapes have few faces: on a CPU these three decide the frame rate
(shadows and samples alone: 298 ms against 15 ms for a 256 x 256 image, measured with MuJoCo 3.17 and Mesa 22.3).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from .gl import import_mujoco
from .house import CEILING, House, Item, Room
from .kinds import PAINTS, Part, Vector
from .textures import texture
from .walls import INWARD, Slab, on_side, room_walls

mujoco = import_mujoco()
CAMERA_HEIGHT = 1.25
VERTICAL_FOV = 79.0
"""Degrees.  The image is square, so the horizontal field of view is the same."""
OPEN_ANGLE = 1.9
"""Radians that a container's leaf swings: past a right angle, so that it hides nothing from the front."""
SLICES = 12
ROBOT = "agent"
_REPEAT = {"tiles": 1.2, "planks": 1.0, "carpet": 0.8, "plaster": 1.5}
"""Metres that one copy of a texture covers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """A compiled house.

    Attributes:
        model: its model.
        data: its data; only the agent's pose and the leaves' joints ever change.
        hinges: the address in ``qpos`` of each container's leaf, by instance id.
        instances: int32[ngeom], the instance that each geom belongs to (0: the building).
    """

    model: Any
    data: Any
    hinges: dict[int, int]
    instances: np.ndarray[tuple[int], np.dtype[np.int32]]


def build_scene(house: House, resolution: int) -> Scene:
    """Compile a house for images of up to ``resolution`` pixels a side."""
    builder = _Builder(resolution)
    for room in house.rooms:
        builder.room(room, house)
    for item in house.items:
        builder.item(item)
    model = builder.spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    owner = np.zeros(model.nbody, np.int32)
    hinges: dict[int, int] = {}
    for item in house.items:
        owner[model.body(f"item{item.id}").id] = item.id
        if item.shape.opens:
            owner[model.body(f"leaf{item.id}").id] = item.id
            hinges[item.id] = int(model.joint(f"hinge{item.id}").qposadr[0])
    return Scene(model=model, data=data, hinges=hinges, instances=owner[np.asarray(model.geom_bodyid)])


class _Builder:
    """Adds rooms and items to one spec; materials and meshes are shared."""

    def __init__(self, resolution: int) -> None:
        self.spec: Any = mujoco.MjSpec()
        self._materials: set[str] = set()
        self._meshes: dict[tuple[object, float], str] = {}
        spec = self.spec
        spec.visual.quality.shadowsize = 0
        spec.visual.quality.offsamples = 0
        spec.visual.quality.numslices = SLICES
        spec.visual.quality.numstacks = 6
        spec.visual.quality.numquads = 1
        spec.visual.global_.offwidth = resolution
        spec.visual.global_.offheight = resolution
        spec.visual.headlight.active = 0
        spec.visual.map.znear = 0.02
        spec.visual.map.zfar = 60
        spec.stat.extent = 1.0
        world = spec.worldbody
        directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        for direction, ambient, diffuse in (([0.35, 0.6, -1.0], 0.52, 0.40), ([-0.8, -0.35, -0.4], 0.0, 0.30)):
            world.add_light(
                type=directional, dir=direction, ambient=[ambient] * 3, diffuse=[diffuse] * 3, specular=[0] * 3
            )
        body = world.add_body(name=ROBOT, mocap=True)
        # Looks along +x with z up; the pitch is set by the mocap pose about this very point.
        body.add_camera(name="front", pos=[0, 0, 0], quat=[0.5, 0.5, -0.5, -0.5], fovy=VERTICAL_FOV)

    def room(self, room: Room, house: House) -> None:
        """Floor, ceiling, the room's half of its walls, and a painting or window where a wall has no door."""
        body = self.spec.worldbody.add_body(name=f"room{room.index}")
        middle = ((room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2)
        half = ((room.x1 - room.x0) / 2, (room.y1 - room.y0) / 2)
        floor = self._surface(room.floor)
        self._box(body, (*middle, -0.05), (*half, 0.05), (*room.floor_colour, 1.0), floor)
        self._box(body, (*middle, CEILING + 0.05), (*half, 0.05), (0.96, 0.96, 0.95, 1.0))
        for _, slab in room_walls(room, house.doors):
            self._slab(body, slab, room.wall_colour)
        for side in INWARD:
            if not any(on_side(room, door, side) for door in house.doors):
                self._decorate(body, room, side, house.seed)

    def item(self, item: Item) -> None:
        """A body with the item's parts, and a hinged one for a container's leaf."""
        quat = [math.cos(item.yaw / 2), 0, 0, math.sin(item.yaw / 2)]
        body = self.spec.worldbody.add_body(name=f"item{item.id}", pos=[item.x, item.y, item.z], quat=quat)
        hinge = item.shape.hinge
        swing = (0.0, 0.0)
        leaf = body
        if hinge is not None:
            swing = hinge
            leaf = body.add_body(name=f"leaf{item.id}", pos=[*hinge, 0])
            leaf.add_joint(name=f"hinge{item.id}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
            # A joint needs inertia to compile; nothing is ever simulated.
            leaf.explicitinertial = True
            leaf.mass = 1.0
            leaf.inertia = [1.0, 1.0, 1.0]
        for part in item.shape.parts:
            self._part(leaf if part.leaf else body, item, part, swing if part.leaf else (0.0, 0.0))

    def _part(self, body: Any, item: Item, part: Part, origin: tuple[float, float]) -> None:
        scale = item.scale
        base = ((part.base[0] - origin[0]) * scale, (part.base[1] - origin[1]) * scale, part.base[2] * scale)
        x, y, z = (extent * scale / 2 for extent in part.size)
        rgba = [*PAINTS[item.colour if part.paint == "body" else part.paint], 1.0]
        common: dict[str, Any] = {"pos": [base[0], base[1], base[2] + z], "rgba": rgba}
        material = self._finish(item, part)
        if material:
            common["material"] = material
        kind = mujoco.mjtGeom
        if part.shape == "box":
            body.add_geom(type=kind.mjGEOM_BOX, size=[x, y, z], **common)
        elif part.shape == "ellipsoid":
            body.add_geom(type=kind.mjGEOM_ELLIPSOID, size=[x, y, z], **common)
        elif part.shape == "cylinder":
            turn = math.sqrt(0.5)
            if part.lying == "x":
                common["quat"], size = [turn, 0, turn, 0], [y, x, 0]
            elif part.lying == "y":
                common["quat"], size = [turn, turn, 0, 0], [x, y, 0]
            else:
                size = [x, z, 0]
            body.add_geom(type=kind.mjGEOM_CYLINDER, size=size, **common)
        else:
            common["pos"] = [base[0], base[1], 0.0]
            body.add_geom(type=kind.mjGEOM_MESH, meshname=self._mesh(part, scale), **common)

    def _finish(self, item: Item, part: Part) -> str:
        """The material of a part: its texture, or how a body of this material shines."""
        if part.texture:
            return self._cube(part.texture)
        if part.paint not in {"body", "steel"}:
            return ""
        if part.paint == "steel" or item.material in ("metal", "glass"):
            return self._shiny("metal", 0.9)
        if item.is_object and item.material == "wooden":
            return self._cube("wood")
        if item.is_object and item.material == "fabric":
            return self._cube("weave")
        return self._shiny("ceramic", 0.5) if item.material == "ceramic" else ""

    def _shiny(self, name: str, specular: float) -> str:
        if name not in self._materials:
            self._materials.add(name)
            self.spec.add_material(name=name, specular=specular, shininess=0.8)
        return name

    def _cube(self, name: str) -> str:
        key = f"cube_{name}"
        if key not in self._materials:
            self._materials.add(key)
            image = texture(name)[::2, ::2]
            stack = np.ascontiguousarray(np.concatenate([image] * 6))
            added = self.spec.add_texture(
                name=key, type=mujoco.mjtTexture.mjTEXTURE_CUBE, width=64, height=384, nchannel=3
            )
            added.data = stack.tobytes()
            self.spec.add_material(name=key).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = key
        return key

    def _surface(self, name: str) -> str:
        key = f"flat_{name}"
        if key not in self._materials:
            self._materials.add(key)
            image = texture(name)
            added = self.spec.add_texture(
                name=key, type=mujoco.mjtTexture.mjTEXTURE_2D, width=image.shape[1], height=image.shape[0], nchannel=3
            )
            added.data = image.tobytes()
            repeat = 2 / _REPEAT[name]  # MuJoCo's unit is a geom's half extent
            material = self.spec.add_material(name=key, texuniform=True, texrepeat=[repeat, repeat])
            material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = key
        return key

    def _mesh(self, part: Part, scale: float) -> str:
        name = self._meshes.get((part.profile, scale), "")
        if not name:
            name = self._meshes[part.profile, scale] = f"lathe{len(self._meshes)}"
            vertices, faces = lathe_mesh(part.profile, scale)
            mesh = self.spec.add_mesh(name=name)
            mesh.uservert = vertices.reshape(-1)
            mesh.userface = faces.reshape(-1)
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        return name

    def _slab(self, body: Any, slab: Slab, colour: Vector) -> None:
        middle = [(low + high) / 2 for low, high in zip(slab.low, slab.high, strict=True)]
        half = [max((high - low) / 2, 1e-3) for low, high in zip(slab.low, slab.high, strict=True)]
        self._box(body, (middle[0], middle[1], middle[2]), (half[0], half[1], half[2]), (*colour, 1.0))
        if slab.low[2] == 0.0:
            base = (half[0] + 0.004, half[1] + 0.004, 0.05)
            self._box(body, (middle[0], middle[1], 0.05), base, (0.97, 0.97, 0.96, 1.0))

    def _decorate(self, body: Any, room: Room, side: Any, seed: int) -> None:
        rng = np.random.default_rng([seed & 0xFFFFFFFF, room.index, list(INWARD).index(side)])
        if rng.random() < 0.35:
            return
        yaw = math.radians(INWARD[side])
        x, y = (room.x0 + room.x1) / 2, (room.y0 + room.y1) / 2
        reach = (room.x1 - room.x0) / 2 if side in ("west", "east") else (room.y1 - room.y0) / 2
        turned = abs(math.sin(yaw)) > 0.5
        window = bool(rng.random() < 0.5)
        wide, tall = (0.55, 0.5) if window else (float(rng.uniform(0.25, 0.45)), float(rng.uniform(0.2, 0.32)))
        inner = (0.70, 0.86, 0.97, 1.0) if window else (*rng.uniform(0.2, 0.9, 3), 1.0)
        frame = (0.98, 0.98, 0.97, 1.0) if window else (0.30, 0.19, 0.10, 1.0)
        layers = [(0.07, wide, tall, frame), (0.075, wide - 0.05, tall - 0.05, inner)]
        if window:
            layers += [(0.08, 0.02, tall, frame)]
        else:
            layers += [(0.08, wide * 0.5, tall * 0.4, (*rng.uniform(0.2, 0.9, 3), 1.0))]
        for out, half_wide, half_tall, rgba in layers:
            depth = reach - out + 0.02
            centre = (x - math.cos(yaw) * depth, y - math.sin(yaw) * depth, 1.65)
            size = (half_wide, 0.02, half_tall) if turned else (0.02, half_wide, half_tall)
            self._box(body, centre, size, rgba)

    @staticmethod
    def _box(
        body: Any, pos: Vector, size: Vector, rgba: tuple[float, float, float, float], material: str | None = None
    ) -> None:
        extra = {} if material is None else {"material": material}
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=list(pos), size=list(size), rgba=list(rgba), **extra)


def lathe_mesh(
    profile: tuple[tuple[float, float], ...], scale: float
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int32]]]:
    """Turn a profile about the z axis.

    Args:
        profile: (radius, height) pairs; the outside's bottom first, so that the faces look outwards.
        scale: multiplies both.

    Returns:
        ``float64[len(profile) * SLICES + 1, 3]`` vertices and ``int32[F, 3]`` faces; the bottom is closed by a fan.
    """
    rings = len(profile)
    angle = 2 * np.pi * np.arange(SLICES) / SLICES
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate(
        [np.concatenate([max(r, 1e-4) * circle, np.full((SLICES, 1), z)], axis=1) for r, z in profile]
        + [np.array([[0.0, 0.0, profile[0][1]]])]
    )
    step = np.arange(SLICES)
    after = (step + 1) % SLICES
    faces = [
        face
        for ring in range(rings - 1)
        for a, b, c, d in [
            (ring * SLICES + step, ring * SLICES + after, ring * SLICES + SLICES + after, ring * SLICES + SLICES + step)
        ]
        for face in (np.stack([a, b, c], 1), np.stack([a, c, d], 1))
    ]
    faces.append(np.stack([after, step, np.full(SLICES, rings * SLICES)], 1))
    return points * scale, np.concatenate(faces).astype(np.int32)
