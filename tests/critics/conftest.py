"""Untrained critics and things for them to judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from thinktwice.critics import Binding, CriticContext, CriticSpec, Feature, LearnedCritic
from thinktwice.critics.network import CriticNetwork

CHUNK, ACTION, STATE = 6, 3, 4
FEATURES = (
    Feature(name="summary", kind="vector", shape=(10,)),
    Feature(name="tokens", kind="tokens", shape=(5, 7), masked=True),
    Feature(name="images.front", kind="image", shape=(32, 48, 3)),
)


def untrained(**changed: Any) -> LearnedCritic:
    """A critic with random weights, its gates half open so that it looks."""
    given: dict[str, Any] = {
        "kind": "relative",
        "chunk": CHUNK,
        "action": ACTION,
        "state": STATE,
        "features": FEATURES,
        "horizon": CHUNK,
        "width": 16,
        "layers": 2,
        "heads": 2,
        "queries": 3,
    }
    torch.manual_seed(0)
    network = CriticNetwork(CriticSpec(**(given | changed)))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("gate"):
                parameter.fill_(0.5)
    return LearnedCritic(network.eval(), Binding(policy_sha256="a" * 64, policy="bundled"))


@pytest.fixture
def make_critic() -> Callable[..., LearnedCritic]:
    return untrained


@pytest.fixture
def look() -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        "images.front": random.integers(0, 255, (32, 48, 3), np.uint8),
        "state": random.normal(size=STATE).astype(np.float32),
        "task": "anything",
    }


@pytest.fixture
def candidates() -> list[Any]:
    return list(np.random.default_rng(1).normal(size=(5, CHUNK, ACTION)).astype(np.float32))


@pytest.fixture
def known(candidates: list[Any]) -> CriticContext:
    random = np.random.default_rng(2)
    features = {
        "summary": random.normal(size=10).astype(np.float32),
        "tokens": random.normal(size=(5, 7)).astype(np.float32),
        "tokens.mask": np.array([True, True, True, False, False]),
    }
    return CriticContext(features=features, candidates=candidates, committed=candidates[0][:2] + 0.1)
