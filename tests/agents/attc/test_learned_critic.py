"""A trained critic's code path, with random weights, on the features of a real flow policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from thinktwice.agents.attc import AttcOptions, build_attc
from thinktwice.agents.conformance import check_agent
from thinktwice.agents.policies.bundled import build_bundled
from thinktwice.critics import Binding, CriticSpec, Feature, save_critic
from thinktwice.critics.network import CriticNetwork
from thinktwice.envs import Observation
from thinktwice.errors import WeightsError


@pytest.fixture(scope="module")
def critic(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A critic of the tiny checkpoint's candidates."""
    features = (
        Feature(name="summary", kind="vector", shape=(384,)),
        Feature(name="tokens", kind="tokens", shape=(8, 6)),
    )
    torch.manual_seed(0)
    spec = CriticSpec(
        kind="relative",
        chunk=16,
        action=7,
        state=8,
        features=features,
        horizon=8,
        width=16,
        layers=1,
        heads=2,
        queries=2,
    )
    network = CriticNetwork(spec)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    policy = build_bundled(f"{checkpoint}?device=cpu", gym.Env()).describe()
    folder = tmp_path_factory.mktemp("critic")
    save_critic(network, folder, binding=Binding(policy_sha256=policy["sha256"], policy=policy["policy"]))
    return folder


def options(checkpoint: Path, critic: Path, **changes: Any) -> AttcOptions:
    given: dict[str, Any] = {"policy": f"bundled:{checkpoint}?device=cpu", "execute": 8, "gate": "always"}
    return AttcOptions(**(given | {"critic": str(critic), "candidates": 6} | changes))


@pytest.mark.parametrize("selector", ["copeland", "knockout", "medoid-veto", "medoid-tie-break"])
def test_it_selects_by_what_the_critic_says(
    selector: Any, checkpoint: Path, critic: Path, libero_look: Any, libero_observations: list[Observation]
) -> None:
    agent = build_attc(options(checkpoint, critic, selector=selector, margin=0.0), libero_look)
    check_agent(agent, libero_observations, gym.spaces.Box(-1, 1, (7,), np.float32))
    described = agent.describe()["selector"]
    assert described["critic"]["policy_sha256"] == agent.describe()["policy"]["sha256"]
    assert described["name"] == selector


def test_it_sees_features_and_commitment(
    checkpoint: Path, critic: Path, libero_look: Any, libero_observations: list[Observation]
) -> None:
    agent = build_attc(options(checkpoint, critic, margin=0.0), libero_look)
    agent.reset(seed=0)
    tables = [agent.act(observation).preferences for observation in libero_observations]
    for table in tables:
        assert table is not None
        np.testing.assert_allclose(table + table.T, 1, atol=1e-5)
        assert table.std() > 1e-4, "an indifferent critic would hide a broken path"


def test_a_critic_of_another_policy_is_refused(
    other_checkpoint: Path, checkpoint: Path, critic: Path, libero_look: Any
) -> None:
    with pytest.raises(WeightsError, match="polic"):
        build_attc(options(other_checkpoint, critic), libero_look)
    build_attc(options(checkpoint, critic), libero_look)
