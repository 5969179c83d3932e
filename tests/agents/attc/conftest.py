"""Small proposals, and a flow checkpoint with random weights: it is good at nothing, but it is the real code path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.policies.factory import make_pre_post_processors

from thinktwice.agents import Proposal
from thinktwice.agents.attc import ChunkMetric, Deliberation
from thinktwice.agents.policies.flow.configuration_flow import FlowConfig
from thinktwice.agents.policies.flow.modeling_flow import FlowPolicy
from thinktwice.envs import MultiStep, Observation
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.libero.conventions import libero_conventions

PIXELS = 24


def make_deliberation(
    chunks: Any,
    *,
    weights: Sequence[float] | None = None,
    execute: int | None = None,
    committed: Any = None,
    seed: int = 0,
) -> Deliberation:
    chunks = np.asarray(chunks, np.float32)
    return Deliberation(
        observation={},
        proposal=Proposal(chunks=chunks),
        metric=ChunkMetric(weights=tuple(weights or np.ones(chunks.shape[-1])), execute=execute),
        committed=None if committed is None else np.asarray(committed, np.float32),
        seed=seed,
    )


@pytest.fixture
def deliberation() -> Callable[..., Deliberation]:
    return make_deliberation


@pytest.fixture
def env() -> MultiStep:
    return MultiStep(FakeEnv())


@pytest.fixture
def observations(env: MultiStep) -> list[Observation]:
    """Four consecutive ones of an episode of the fake world."""
    seen = [env.reset(seed=0, options={"task": "fake/1", "init_state": 2})[0]]
    return seen + [env.step(np.full((2, 2), 0.3, np.float32))[0] for _ in range(3)]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny flow checkpoint in LIBERO's conventions; tests read it and never write it."""
    return save_checkpoint(tmp_path_factory.mktemp("attc-checkpoint"), seed=0)


@pytest.fixture(scope="session")
def other_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another one of the same sizes."""
    return save_checkpoint(tmp_path_factory.mktemp("attc-other"), seed=1)


def save_checkpoint(folder: Path, *, seed: int) -> Path:
    camera = PolicyFeature(FeatureType.VISUAL, (3, PIXELS, PIXELS))
    conventions = libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="fast")
    config = FlowConfig(
        device="cpu",
        channels=8,
        blocks=1,
        keypoints=4,
        head_width=64,
        head_blocks=2,
        conventions=conventions.to_json(),
        input_features={
            "observation.images.agentview": camera,
            "observation.images.wrist": camera,
            "observation.state": PolicyFeature(FeatureType.STATE, (8,)),
        },
        output_features={"action": PolicyFeature(FeatureType.ACTION, (7,))},
    )
    policy = FlowPolicy(config)
    generator = torch.Generator().manual_seed(seed)
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.1, generator=generator)
    statistics = {
        "observation.state": {"mean": torch.zeros(8), "std": torch.ones(8)},
        "action": {"mean": torch.zeros(7), "std": torch.full((7,), 0.3)},
    }
    for part in (policy, *make_pre_post_processors(config, dataset_stats=statistics)):
        part.save_pretrained(folder)
    return folder


class LiberoLook:
    """What the builders read of a LIBERO environment before the first step, without a simulator."""

    conventions = libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="fast")

    @property
    def unwrapped(self) -> LiberoLook:
        return self


@pytest.fixture
def libero_look() -> LiberoLook:
    return LiberoLook()


@pytest.fixture
def libero_observations() -> list[Observation]:
    random = np.random.default_rng(0)
    return [
        {
            "images.agentview": random.integers(0, 255, (PIXELS, PIXELS, 3), np.uint8),
            "images.wrist": random.integers(0, 255, (PIXELS, PIXELS, 3), np.uint8),
            "state": random.normal(size=8).astype(np.float32),
            "task": "pick up the milk and place it in the basket",
        }
        for _ in range(3)
    ]
