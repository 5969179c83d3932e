"""What the scene VLM sees in Room-to-Room: the annotations in every direction."""

from __future__ import annotations

from collections.abc import Sequence

from ..envs import Observation
from ..envs.r2r.env import R2REnv
from ..errors import ContractError
from .scene_vlm import SceneVlm, SceneVlmOptions, Seen


def r2r_scene_vlm(env: R2REnv, options: SceneVlmOptions) -> SceneVlm:
    """A scene VLM that looks along every way of the present viewpoint.

    Args:
        env: the one that the observations come from.
        options: how well it sees.
    """

    def glimpse(observation: Observation) -> Sequence[Seen]:
        if observation.get("task") != env.route.instruction:
            raise ContractError("the scene VLM sees only its own environment; this observation is of another route.")
        return [
            Seen(kind=sight.label, share=sight.share, where=where if where == "here" else f"towards {where}")
            for where, sights in env.directions().items()
            for sight in sights
        ]

    return SceneVlm(glimpse, env.labels(), options)
