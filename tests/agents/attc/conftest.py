"""Small proposals, and flow checkpoints with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Proposal
from thinktwice.agents.attc import ChunkMetric, Deliberation
from thinktwice.envs import Conventions, MultiStep, Observation
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.libero.conventions import libero_conventions

PIXELS = 24


def conventions(pixels: int) -> Conventions:
    return libero_conventions(("agentview", "wrist"), height=pixels, width=pixels, rendering="fast")


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
def checkpoint(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny flow checkpoint in LIBERO's conventions; tests read it and never write it."""
    return save_flow(tmp_path_factory.mktemp("attc-checkpoint"), conventions(PIXELS))


@pytest.fixture(scope="session")
def other_checkpoint(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another one of the same sizes."""
    return save_flow(tmp_path_factory.mktemp("attc-other"), conventions(PIXELS), seed=1)


class LiberoLook:
    """What the builders read of a LIBERO environment before the first step, without a simulator."""

    def __init__(self, pixels: int) -> None:
        self.conventions = conventions(pixels)

    @property
    def unwrapped(self) -> LiberoLook:
        return self


@pytest.fixture
def libero_look() -> LiberoLook:
    return LiberoLook(PIXELS)


@pytest.fixture
def bundled_look() -> LiberoLook:
    """With pictures of the size that the bundled policy was trained on."""
    return LiberoLook(96)


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
