"""Checkpoints and arguments that must be refused before the first step, with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import huggingface_hub.constants
import pytest
import torch
from gymnasium import spaces
from safetensors.torch import load_file, save_file

from thinktwice.agents.policies.lerobot import build_lerobot
from thinktwice.errors import ConfigError, ConventionError, ThinkTwiceError, WeightsError

type Damage = Callable[[Path], None]


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def empty(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def poison(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["model.action_head.bias"][3] = torch.nan
    save_file(tensors, path)


def drop_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.action_head.bias"]
    save_file(tensors, path)


def reshape_tensor(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["model.action_head.bias"] = torch.zeros(6)
    save_file(tensors, path)


def drop(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def forget_statistics(processor: str) -> Damage:
    """As a checkpoint whose processors were saved without data: LeRobot passes everything through unchanged."""

    def damage(folder: Path) -> None:
        path = folder / f"policy_{processor}.json"
        pipeline = json.loads(path.read_text())
        for step in pipeline["steps"]:
            step.pop("state_file", None)
        path.write_text(json.dumps(pipeline))

    return damage


def poison_statistics(folder: Path) -> None:
    path = folder / "policy_postprocessor_step_0_unnormalizer_processor.safetensors"
    tensors = load_file(path)
    tensors["action.std"][0] = torch.inf
    save_file(tensors, path)


def write(name: str, text: str) -> Damage:
    return lambda folder: (folder / name).write_text(text) and None


def retype(kind: str) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "type": kind}))

    return damage


def nest(folder: Path) -> None:
    inner = folder / "checkpoints" / "last" / "pretrained_model"
    inner.mkdir(parents=True)
    for path in folder.iterdir():
        if path.is_file():
            path.rename(inner / path.name)


@pytest.mark.parametrize(
    ("damage", "kind", "message"),
    [
        (truncate, WeightsError, "truncated"),
        (empty, WeightsError, r"\(0 bytes\) is truncated"),
        (poison, WeightsError, "not finite .* 'model.action_head.bias'"),
        (drop_tensor, WeightsError, "action_head.bias"),
        (reshape_tensor, WeightsError, "size mismatch"),
        (drop("model.safetensors"), WeightsError, "lacks model.safetensors; it holds config.json"),
        (drop("policy_postprocessor.json"), WeightsError, "lacks policy_postprocessor.json"),
        (
            drop("policy_preprocessor_step_3_normalizer_processor.safetensors"),
            WeightsError,
            "policy_preprocessor_step_3_normalizer_processor.safetensors",
        ),
        (forget_statistics("preprocessor"), WeightsError, "'observation.images.agentview' .* mean is missing"),
        (
            forget_statistics("postprocessor"),
            WeightsError,
            "'action' is normalised by MEAN_STD, and its mean is missing",
        ),
        (poison_statistics, WeightsError, "'action' .* std is not finite"),
        (write("config.json", "{"), WeightsError, "no configuration of LeRobot"),
        (retype("acting"), WeightsError, "acting"),
        (nest, WeightsError, "Did you mean .*pretrained_model"),
        (write("thinktwice.yaml", "camera: {}"), ConfigError, "Did you mean 'cameras'"),
        (write("thinktwice.yaml", "- 1"), ConfigError, "must hold keys and values"),
        (write("thinktwice.yaml", "a: [1"), ConfigError, "cannot be read"),
        (write("thinktwice.yaml", "cameras: {wrist: {camera: wrist, mirored: true}}"), ConfigError, "mirored"),
        (write("thinktwice.yaml", "cameras: {front: wrist}"), ConventionError, "reads no image 'front'"),
        (write("thinktwice.yaml", "conventions: {cameras: []}"), ConfigError, "declare action, state and control_hz"),
        (write("thinktwice.yaml", "conventions: {action: [{nam: x}]}"), ThinkTwiceError, "nam"),
    ],
)
def test_a_damaged_checkpoint_is_refused(
    damage: Damage,
    kind: type[ThinkTwiceError],
    message: str,
    checkpoint_copy: Callable[[str], Path],
    shaped_world: gym.Env[Any, Any],
) -> None:
    folder = checkpoint_copy("act")
    damage(folder)
    with pytest.raises(kind, match=message):
        build_lerobot(str(folder), shaped_world)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": spaces.Box(-1, 1, (9,))}, r"reads a state of \[8\], the world gives \[9\]"),
        ({"state": None}, r"reads a state of \[8\], the world gives none"),
    ],
)
def test_a_world_of_other_sizes_is_refused(
    change: dict[str, Any],
    message: str,
    saved_checkpoint: Callable[[str], Path],
    shaped_world: gym.Env[Any, Any],
) -> None:
    known = {**shaped_world.observation_space.spaces, **change}  # type: ignore[attr-defined]
    shaped_world.observation_space = spaces.Dict({key: space for key, space in known.items() if space is not None})
    with pytest.raises(ConventionError, match=message):
        build_lerobot(str(saved_checkpoint("act")), shaped_world)


def test_a_world_with_other_actions_is_refused(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any]
) -> None:
    shaped_world.action_space = spaces.Box(-1, 1, (6,))
    with pytest.raises(ConventionError, match=r"its actions are \[7\]"):
        build_lerobot(str(saved_checkpoint("act")), shaped_world)


def test_a_checkpoint_that_reads_the_past_needs_consent(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any]
) -> None:
    with pytest.raises(ConventionError, match="2 consecutive observations"):
        build_lerobot(str(saved_checkpoint("diffusion2")), shaped_world)


@pytest.mark.parametrize(
    ("argument", "kind", "message"),
    [
        ("", ConfigError, "needs a checkpoint"),
        ("x?devise=cpu", ConfigError, "Did you mean 'device'"),
        ("x?device", ConfigError, "key=value"),
        ("x?device=cpu&device=cpu", ConfigError, "given twice"),
        ("./no/such/folder", WeightsError, "there is no folder"),
        ("nobody/nothing", WeightsError, "no such folder here, the hub's local cache .*HF_HUB_OFFLINE"),
    ],
)
def test_a_wrong_argument_says_what_is_wrong(
    argument: str,
    kind: type[ThinkTwiceError],
    message: str,
    shaped_world: gym.Env[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(kind, match=message):
        build_lerobot(argument, shaped_world)


def test_an_absent_device_is_refused(saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any]) -> None:
    with pytest.raises(ConfigError, match="no device 'gpu'"):
        build_lerobot(f"{saved_checkpoint('act')}?device=gpu", shaped_world)
