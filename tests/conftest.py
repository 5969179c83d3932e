"""What several areas share: a tiny flow checkpoint.  Torch and LeRobot are imported where one is made, not before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinktwice.envs import Conventions


def save_flow_checkpoint(
    folder: Path, conventions: Conventions, *, seed: int = 0, mean: float = 0.0, deviation: float = 0.3, **settings: Any
) -> Path:
    """A small flow-matching policy with random weights and made-up statistics: good at nothing, but the real code path.

    ``mean`` and ``deviation`` are those of the actions; ``settings`` go to `FlowConfig`.
    """
    import torch
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import make_pre_post_processors

    from thinktwice.agents.policies.flow.configuration_flow import FlowConfig
    from thinktwice.agents.policies.flow.modeling_flow import FlowPolicy

    state, action = (sum(dim.size for dim in dims) for dims in (conventions.state, conventions.action))
    images = {
        f"observation.images.{camera.name}": PolicyFeature(FeatureType.VISUAL, (3, camera.height, camera.width))
        for camera in conventions.cameras
    }
    small = {"device": "cpu", "channels": 8, "blocks": 1, "keypoints": 4, "head_width": 64, "head_blocks": 2}
    config = FlowConfig(
        **(small | settings),
        conventions=conventions.to_json(),
        input_features={**images, "observation.state": PolicyFeature(FeatureType.STATE, (state,))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (action,))},
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        policy = FlowPolicy(config)
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.1, generator=generator)
    statistics = {
        "observation.state": {"mean": torch.zeros(state), "std": torch.ones(state)},
        "action": {"mean": torch.full((action,), mean), "std": torch.full((action,), deviation)},
    }
    for part in (policy, *make_pre_post_processors(config, dataset_stats=statistics)):
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def save_flow() -> Callable[..., Path]:
    return save_flow_checkpoint
