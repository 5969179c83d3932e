"""LIBERO's cameras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ...errors import WorldError
from ..chunks import Array
from .install import import_mujoco

type Rendering = Literal["faithful", "fast"]

CAMERAS: Mapping[str, str] = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Our camera names, and the simulator's."""


class Cameras:
    """Renders a physics model and its data.

    Args:
        model: ``mujoco.MjModel``.
        names: cameras, keys of `CAMERAS`.
        height: pixels.
        width: pixels.

    Raises:
        WorldError: no GL context can be made.
    """

    def __init__(self, model: Any, names: Sequence[str], *, height: int, width: int) -> None:
        mujoco = import_mujoco()

        self._names = tuple(names)
        # As robosuite does for frames larger than its 640 × 480 buffer.
        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        try:
            self._renderer = mujoco.Renderer(model, height=height, width=width)
        # The backends raise errors of their own kinds: OpenGL's, ImportError, AttributeError.
        except Exception as error:
            raise WorldError(f"no GL context for LIBERO's cameras: {error}. Run `thinktwice doctor`.") from error
        self._option = mujoco.MjvOption()
        self._option.geomgroup[0] = 0  # collision shapes

    def render(self, data: Any) -> dict[str, Array]:
        """One upright ``uint8[H, W, 3]`` per camera."""
        frames: dict[str, Array] = {}
        for name in self._names:
            self._renderer.update_scene(data, CAMERAS[name], self._option)
            frames[name] = self._renderer.render()
        return frames

    def close(self) -> None:
        """Free the GL context."""
        self._renderer.close()
