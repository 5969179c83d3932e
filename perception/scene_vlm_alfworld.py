"""What the scene VLM sees in ALFWorld: the segmentation behind the rendered image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..envs import Array, Observation
from ..envs.alfworld.env import CAMERA, AlfworldEnv
from ..envs.alfworld.scene import known_receptacles, known_things
from ..envs.alfworld.view import Segmentation
from ..errors import ContractError
from .scene_vlm import SceneVlm, SceneVlmOptions, Seen

_LEAST_PIXELS = 4


def alfworld_scene_vlm(env: AlfworldEnv, options: SceneVlmOptions) -> SceneVlm:
    """A scene VLM that looks at an ALFWorld environment's images.

    Args:
        env: the one that the observations come from, made with images.
        options: how well it sees.
    """
    last: dict[str, Any] = {}

    def glimpse(observation: Observation) -> Sequence[Seen]:
        shown = observation.get(f"images.{CAMERA}")
        # A decision asks several times about one image, and segmenting it costs more than drawing it.
        if last.get("image") is not shown or shown is None:
            last.update(image=shown, seen=_seen(env.segmentation(), shown))
        return last["seen"]

    return SceneVlm(glimpse, list(known_things()), options)


def _seen(segmentation: Segmentation, shown: Array | None) -> list[Seen]:
    if shown is None or not np.array_equal(shown, segmentation.image):
        raise ContractError(
            "the scene VLM sees only the present image of its own environment; this observation is another."
        )
    pixels = segmentation.pixels()
    return [
        Seen(
            kind=kind,
            share=pixels[name] / segmentation.ids.size,
            furniture=kind in known_receptacles(),
            state="held" if name in segmentation.held else "open" if name in segmentation.opened else "",
        )
        for name, kind in zip(segmentation.names, segmentation.kinds, strict=True)
        if pixels.get(name, 0) >= _LEAST_PIXELS
    ]
