"""Two rendering passes per look: one for colour, one for instance ids and depth together.

Nothing in a house moves but its leaves, so the scene's geometry is handed to the renderer when one opens and only
the camera on every other frame.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ...errors import WorldError
from ..chunks import Array
from .gl import import_mujoco
from .scene import CAMERA_HEIGHT, Scene

mujoco = import_mujoco()
_MAX_GEOMS = 4000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frame:
    """One look.

    Attributes:
        image: ``uint8[H, W, 3]``.
        depth: ``float32[H, W]``, metres along the optical axis.
        instances: ``int32[H, W]``, the instance id under every pixel; 0 is the building.
    """

    image: Array
    depth: Array
    instances: Array


class Renderer:
    """Renders one scene with its own GL context; `close` frees both.

    Args:
        scene: what to look at.
        size: the largest image's pixels a side; at most the resolution that the scene was built for.

    Raises:
        WorldError: no OpenGL context can be made here.
    """

    def __init__(self, scene: Scene, size: int) -> None:
        self._scene = scene
        try:
            self._gl: Any = mujoco.GLContext(size, size)
            self._gl.make_current()
        except Exception as error:
            raise WorldError(
                f"no OpenGL context for the rooms ({error}). Set MUJOCO_GL=egl or MUJOCO_GL=osmesa and install Mesa."
            ) from error
        model = scene.model
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._view = mujoco.MjvScene(model, _MAX_GEOMS)
        flags = mujoco.mjtRndFlag
        for flag in (flags.mjRND_SHADOW, flags.mjRND_REFLECTION, flags.mjRND_SKYBOX, flags.mjRND_HAZE, flags.mjRND_FOG):
            self._view.flags[flag] = 0
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera("front").id
        self._option = mujoco.MjvOption()
        near, far = model.vis.map.znear * model.stat.extent, model.vis.map.zfar * model.stat.extent
        self._near, self._ratio = float(near), float(near / far)
        self._table = np.zeros(1, np.int32)
        self._stale = True
        self._closed = False

    def refresh(self) -> None:
        """Say that something besides the agent has moved."""
        self._stale = True

    def look(self, x: float, y: float, yaw: float, pitch: float, *, size: int, colour: bool = True) -> Frame:
        """What the camera sees from a pose.

        Args:
            x: metres, house frame.
            y: metres, house frame.
            yaw: radians from x towards y.
            pitch: radians, positive upwards.
            size: pixels a side; at most the renderer's.
            colour: without it the image stays black and one pass is saved.
        """
        scene, view, rect = self._scene, self._view, mujoco.MjrRect(0, 0, size, size)
        self._gl.make_current()
        scene.data.mocap_pos[0] = (x, y, CAMERA_HEIGHT)
        cy, sy, cp, sp = math.cos(yaw / 2), math.sin(yaw / 2), math.cos(-pitch / 2), math.sin(-pitch / 2)
        scene.data.mocap_quat[0] = (cy * cp, -sy * sp, cy * sp, sy * cp)
        mujoco.mj_kinematics(scene.model, scene.data)
        mujoco.mj_camlight(scene.model, scene.data)
        if self._stale:
            everything = mujoco.mjtCatBit.mjCAT_ALL.value
            mujoco.mjv_updateScene(scene.model, scene.data, self._option, None, self._camera, everything, view)
            self._table = self._segments()
            self._stale = False
        else:
            mujoco.mjv_updateCamera(scene.model, scene.data, self._camera, view)
        image = np.zeros((size, size, 3), np.uint8)
        ids = np.empty((size, size, 3), np.uint8)
        depth = np.empty((size, size), np.float32)
        flags = mujoco.mjtRndFlag
        if colour:
            view.flags[flags.mjRND_SEGMENT] = view.flags[flags.mjRND_IDCOLOR] = 0
            mujoco.mjr_render(rect, view, self._context)
            mujoco.mjr_readPixels(image, None, rect, self._context)
        view.flags[flags.mjRND_SEGMENT] = view.flags[flags.mjRND_IDCOLOR] = 1
        mujoco.mjr_render(rect, view, self._context)
        mujoco.mjr_readPixels(ids, depth, rect, self._context)
        packed = (
            ids[..., 0].astype(np.int32) | (ids[..., 1].astype(np.int32) << 8) | (ids[..., 2].astype(np.int32) << 16)
        )
        instances = self._table[np.clip(packed, 0, len(self._table) - 1)]
        if self._context.readDepthMap == mujoco.mjtDepthMap.mjDEPTH_ZEROFAR:
            depth = 1 - depth
        metres = self._near / (1 - depth * (1 - self._ratio))
        return Frame(
            image=np.ascontiguousarray(image[::-1]),
            depth=np.ascontiguousarray(metres[::-1], np.float32),
            instances=np.ascontiguousarray(instances[::-1]),
        )

    def _segments(self) -> Array:
        """Instance id by segment colour; colour 0 is the background."""
        view = self._view
        table = np.zeros(view.ngeom + 1, np.int32)
        for index in range(view.ngeom):
            geom = view.geoms[index]
            if geom.segid != -1 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                table[geom.segid + 1] = self._scene.instances[geom.objid]
        return table

    def close(self) -> None:
        """Free the context; GPU and process memory would grow with every house otherwise."""
        if not self._closed:
            self._closed = True
            self._gl.make_current()
            self._context.free()
            self._gl.free()
