"""LIBERO's cameras."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ...errors import WorldError
from ..chunks import Array
from .install import import_mujoco
from .visuals import full_visuals, light_visuals

type Rendering = Literal["faithful", "fast"]

RENDERINGS: tuple[Rendering, ...] = get_args(Rendering.__value__)

CAMERAS: Mapping[str, str] = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Our camera names, and the simulator's."""

_COLLISION_GROUP = 0


class Cameras:
    """Draws a simulation.

    Args:
        physics: the simulation's ``mujoco.MjModel``.
        xml: its scene, with texture files.
        names: cameras, keys of `CAMERAS`.
        height: pixels.
        width: pixels.
        rendering: ``"faithful"`` for LIBERO's own pixels; ``"fast"`` without multisampling and from light meshes and
            textures.

    Raises:
        WorldError: no GL context can be made.
    """

    def __init__(
        self, physics: Any, xml: str, names: Sequence[str], *, height: int, width: int, rendering: Rendering
    ) -> None:
        mujoco = import_mujoco()
        self._physics = physics
        self._names = tuple(names)
        visuals = full_visuals(xml) if rendering == "faithful" else light_visuals(xml, physics)
        # The buffer has 640 × 480 pixels unless a frame needs more, as in robosuite.
        visuals.vis.global_.offwidth = max(width, visuals.vis.global_.offwidth)
        visuals.vis.global_.offheight = max(height, visuals.vis.global_.offheight)
        try:
            self._renderer = mujoco.Renderer(visuals, height=height, width=width)
        # Each backend raises errors of its own kinds: OpenGL's, ImportError, AttributeError, RuntimeError.
        except Exception as error:
            backend = os.environ["MUJOCO_GL"]
            raise WorldError(
                f"no GL context for LIBERO's cameras with MUJOCO_GL={backend}: {error}. If mujoco was imported before "
                "this package, set MUJOCO_GL in the environment; otherwise run `thinktwice doctor`."
            ) from error
        self._option = mujoco.MjvOption()
        self._option.geomgroup[_COLLISION_GROUP] = 0
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def render(self, data: Any) -> dict[str, Array]:
        """One upright ``uint8[H, W, 3]`` per camera.

        Args:
            data: the simulation's ``mujoco.MjData``.
        """
        mujoco = import_mujoco()
        frames: dict[str, Array] = {}
        for name in self._names:
            self._camera.fixedcamid = self._physics.camera(CAMERAS[name]).id
            everything = mujoco.mjtCatBit.mjCAT_ALL
            mujoco.mjv_updateScene(
                self._physics, data, self._option, None, self._camera, everything, self._renderer.scene
            )
            frames[name] = self._renderer.render()
        return frames

    def close(self) -> None:
        """Free the GL context."""
        self._renderer.close()
