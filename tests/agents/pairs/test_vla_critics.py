"""The same critic on the prefix of LeRobot's real π0, π0.5 and SmolVLA classes, small and with random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.labelling import label
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.agents.pairs.training.loop import CRITIC, train_critic
from thinktwice.agents.policies.lerobot_samplers import make_sampler
from thinktwice.agents.policies.prefix_features import check_prefix, prefix_features
from thinktwice.agents.policies.random_vlas import build_random_vla, random_observation
from thinktwice.agents.policies.shared_prefix import FAMILIES
from thinktwice.critics import CriticContext, load_critic
from thinktwice.critics.conformance import check_critic
from thinktwice.errors import ConfigError


@pytest.fixture(scope="module", params=FAMILIES)
def vla(request: pytest.FixtureRequest) -> Any:
    return build_random_vla(request.param, "tiny")


def proposed(vla: Any, look: int, *, tokens: int, n: int = 4) -> tuple[Any, dict[str, Any]]:
    """Candidates ``float32[n, T, A]`` and features of one look."""
    with prefix_features(vla, tokens=tokens) as features:
        chunks, _ = make_sampler(vla).sample(random_observation(vla, seed=look), n, seed=look)
    return chunks.numpy(), features


def test_the_prefix_is_recorded_and_changes_nothing(vla: Any) -> None:
    chunks, features = proposed(vla, 1, tokens=10_000)
    plain, _ = make_sampler(vla).sample(random_observation(vla, seed=1), 4, seed=1)
    np.testing.assert_array_equal(chunks, plain.numpy())
    tokens, mask = features["tokens"], features["tokens.mask"]
    assert tokens.dtype == np.float32
    assert tokens.shape == (len(mask), 32)
    assert np.isfinite(tokens).all()
    # The two padded words count for nothing, every other token for something.
    assert (~mask).sum() >= 2
    assert np.abs(tokens[mask]).sum(axis=1).min() > 0
    assert not tokens[~mask].any()
    assert not np.array_equal(proposed(vla, 2, tokens=10_000)[1]["tokens"], tokens)
    assert "embed_prefix" not in vars(vla.model)


def test_neighbouring_tokens_are_averaged(vla: Any) -> None:
    whole, few = proposed(vla, 1, tokens=10_000)[1], proposed(vla, 1, tokens=3)[1]
    assert few["tokens"].shape == (3, 32)
    length = len(whole["tokens"])
    first = [index for index in range(length) if index * 3 // length == 0 and whole["tokens.mask"][index]]
    np.testing.assert_allclose(few["tokens"][0], whole["tokens"][first].mean(axis=0), atol=1e-5)


@pytest.mark.slow
def test_a_critic_is_trained_and_judges(
    vla: Any, tmp_path: Path, store: Callable[..., Path], decisions: Callable[..., Any]
) -> None:
    """From features to pairs, to training, to a critic that keeps the contract on this policy's proposals."""
    several: list[Any] = []
    for seed in range(4):
        drawn = [proposed(vla, 10 * seed + row, tokens=8) for row in range(3)]
        length, action = drawn[0][0].shape[1:]
        several.append(
            decisions(
                seed,
                3,
                task="ab"[seed % 2],
                low=np.full(action, -9, np.float32),
                high=np.full(action, 9, np.float32),
                policy={"policy": "lerobot", "checkpoint": vla.config.type, "sha256": "c" * 64},
                chunks=np.stack([chunks for chunks, _ in drawn]),
                facts={WAYS: np.zeros((3, 1, length, action), np.float32)},
                features={name: np.stack([features[name] for _, features in drawn]) for name in drawn[0][1]},
                committed=np.zeros((3, 2, action), np.float32),
            )
        )
    label(store(tmp_path / "pairs", *several), LabelOptions(), provenance={})
    given: dict[str, Any] = {"width": 16, "layers": 1, "heads": 2, "steps": 3, "check_every": 3, "device": "cpu"}
    config = CriticTrainConfig(data=(tmp_path / "pairs",), out=tmp_path / "training", **given)
    assert train_critic(config).pairs > 0
    critic = load_critic(config.out / CRITIC, "c" * 64)
    assert [(feature.name, feature.masked) for feature in critic.spec.features] == [("tokens", True)]
    chunks, features = proposed(vla, 99, tokens=8)
    context = CriticContext(features=features, candidates=list(chunks), committed=chunks[0][:2])
    check_critic(critic, {"state": np.zeros(6, np.float32)}, list(chunks), context)


def test_a_policy_without_a_prefix_is_refused(vla: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_prefix(vla)
    monkeypatch.setattr(vla.config, "compile_model", True)
    with pytest.raises(ConfigError, match="compile_model"):
        check_prefix(vla)
    with pytest.raises(ConfigError, match="no prefix"):
        check_prefix(SimpleNamespace(config=SimpleNamespace(type="act")))
