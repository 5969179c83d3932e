"""A critic comes back as it was saved, and everything that was damaged or mixed up is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from thinktwice.critics import Binding, CriticContext, LearnedCritic, load_critic, open_critic, save_critic
from thinktwice.critics.checkpoint import CONFIG, WEIGHTS
from thinktwice.critics.spec import KINDS
from thinktwice.errors import ConfigError, WeightsError

type Make = Callable[..., LearnedCritic]
POLICY = "a" * 64


def save(critic: LearnedCritic, folder: Path) -> LearnedCritic:
    return save_critic(critic.network, folder, binding=critic.binding)


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_as_it_was_saved(
    make_critic: Make, kind: str, tmp_path: Path, look: Any, known: CriticContext
) -> None:
    saved = save(make_critic(kind=kind), tmp_path)
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    loaded = load_critic(tmp_path, POLICY)
    assert torch.equal(state, torch.random.get_rng_state())
    pairs = [(known.candidates[0], known.candidates[1])]
    np.testing.assert_array_equal(loaded.prefer(look, pairs, known), saved.prefer(look, pairs, known))
    assert loaded.describe() == saved.describe()
    json.dumps(loaded.describe())


def test_it_belongs_to_one_policy(make_critic: Make, tmp_path: Path) -> None:
    save(make_critic(), tmp_path)
    for other in ("b" * 64, None):
        with pytest.raises(WeightsError, match="knows the mistakes of one checkpoint"):
            load_critic(tmp_path, other)
    assert open_critic(tmp_path).binding.policy == "bundled"
    save_critic(make_critic().network, tmp_path, binding=Binding(policy_sha256=None, policy="fake"))
    load_critic(tmp_path, None)


def test_damaged_files_are_refused(make_critic: Make, tmp_path: Path) -> None:
    save(make_critic(), tmp_path)
    weights, config = (tmp_path / WEIGHTS).read_bytes(), (tmp_path / CONFIG).read_text()
    with pytest.raises(WeightsError, match="no critic in"):
        load_critic(tmp_path / "elsewhere", POLICY)
    (tmp_path / WEIGHTS).write_bytes(weights[:-40])
    with pytest.raises(WeightsError, match="truncated"):
        load_critic(tmp_path, POLICY)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(WeightsError, match="missing"):
        load_critic(tmp_path, POLICY)
    (tmp_path / WEIGHTS).write_bytes(weights[:-4] + b"\0\0\0\1")
    with pytest.raises(WeightsError, match="different critics"):
        load_critic(tmp_path, POLICY)
    (tmp_path / WEIGHTS).write_bytes(weights)
    (tmp_path / CONFIG).write_text(config[: len(config) // 2])
    with pytest.raises(WeightsError, match="truncated"):
        load_critic(tmp_path, POLICY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"spec": {"kind": "relative"}}, "describes no critic"),
        ({"policy": None, "training": None, "drop": "sha256"}, "lacks sha256"),
    ],
)
def test_files_of_another_kind_are_refused(
    make_critic: Make, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    save(make_critic(), tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text()) | change
    config.pop(config.pop("drop", ""), None)
    (tmp_path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=message):
        load_critic(tmp_path, POLICY)


def test_weights_of_another_size_are_refused(make_critic: Make, tmp_path: Path) -> None:
    save(make_critic(), tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    config["spec"]["width"] = 32
    (tmp_path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(WeightsError, match="does not fit"):
        load_critic(tmp_path, POLICY)


def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(make_critic: Make, tmp_path: Path) -> None:
    import hashlib

    from safetensors.torch import save as encode

    critic = make_critic()
    save(critic, tmp_path)
    with torch.no_grad():
        critic.network.get_parameter("trunk.head.weight")[0, 0] = torch.nan
    with pytest.raises(WeightsError, match="not finite"):
        save(critic, tmp_path / "new")
    weights = encode(critic.network.state_dict())
    (tmp_path / WEIGHTS).write_bytes(weights)
    config = json.loads((tmp_path / CONFIG).read_text()) | {"sha256": hashlib.sha256(weights).hexdigest()}
    (tmp_path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(WeightsError, match="not finite"):
        load_critic(tmp_path, POLICY)


@pytest.mark.parametrize(
    "wrong", [{"kind": "absolute"}, {"width": 15}, {"horizon": 7}, {"layers": 0}, {"dropout": 1.0}, {"queries": 0}]
)
def test_sizes_that_make_no_sense(make_critic: Make, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        make_critic(**wrong)
