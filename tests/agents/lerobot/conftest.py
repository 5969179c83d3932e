"""Small LeRobot checkpoints with random weights, saved as LeRobot saves them, and a LIBERO-shaped world to act in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from thinktwice.envs import Camera, Conventions, Dim, Observation

PX = 64

KINDS: dict[str, dict[str, Any]] = {
    "act": {
        "chunk_size": 10,
        "n_action_steps": 6,
        "dim_model": 16,
        "n_heads": 2,
        "dim_feedforward": 16,
        "n_encoder_layers": 1,
        "n_vae_encoder_layers": 1,
    },
    "diffusion": {
        "n_obs_steps": 1,
        "horizon": 8,
        "n_action_steps": 5,
        "down_dims": (8, 16),
        "n_groups": 4,
        "diffusion_step_embed_dim": 8,
        "num_inference_steps": 3,
        "spatial_softmax_num_keypoints": 4,
        "use_separate_rgb_encoder_per_camera": False,
    },
}
KINDS["vqbet"] = {
    "n_obs_steps": 1,
    "crop_shape": (60, 60),
    "gpt_n_layer": 1,
    "gpt_n_head": 2,
    "gpt_hidden_dim": 16,
    "gpt_input_dim": 16,
    "gpt_output_dim": 16,
    "gpt_block_size": 64,
    "vqvae_n_embed": 4,
    "vqvae_embedding_dim": 8,
    "vqvae_enc_hidden_dim": 8,
}
KINDS["diffusion2"] = {**KINDS["diffusion"], "n_obs_steps": 2}


class ShapedWorld(gym.Env[Any, Any]):
    """Observations and actions of LIBERO's shapes, and nothing behind them."""

    conventions = Conventions(
        action=(Dim(name="all", size=7, unit="1", frame="eef", representation="delta"),),
        state=(Dim(name="all", size=8, unit="1", frame="base", representation="absolute"),),
        cameras=(Camera(name="agentview", height=PX, width=PX), Camera(name="wrist", height=PX, width=PX)),
        control_hz=20.0,
    )

    def __init__(self) -> None:
        picture = spaces.Box(0, 255, (PX, PX, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                "images.agentview": picture,
                "images.wrist": picture,
                "state": spaces.Box(-np.inf, np.inf, (8,), np.float32),
                "task": spaces.Text(200),
            }
        )
        self.action_space = spaces.Box(-1, 1, (7,), np.float32)


@pytest.fixture
def shaped_world() -> gym.Env[Any, Any]:
    return ShapedWorld()


@pytest.fixture
def look() -> Observation:
    rng = np.random.default_rng(0)
    return {
        "images.agentview": rng.integers(0, 256, (PX, PX, 3), np.uint8),
        "images.wrist": rng.integers(0, 256, (PX, PX, 3), np.uint8),
        "state": rng.standard_normal(8).astype(np.float32),
        "task": "pick up the soup",
    }


@pytest.fixture(scope="session")
def saved_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a kind's checkpoint, made once."""
    made: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind) / "checkpoint"
            cameras = ("agentview",) if kind == "vqbet" else ("agentview", "wrist")
            save_checkpoint(kind, made[kind], cameras=cameras)
        return made[kind]

    return get


@pytest.fixture
def checkpoint_copy(saved_checkpoint: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy that a test may damage."""

    def copy(kind: str) -> Path:
        return Path(shutil.copytree(saved_checkpoint(kind), tmp_path / kind))

    return copy


def save_checkpoint(kind: str, folder: Path, *, cameras: tuple[str, ...]) -> None:
    import torch
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors

    inputs = {
        f"observation.images.{camera}": PolicyFeature(type=FeatureType.VISUAL, shape=(3, PX, PX)) for camera in cameras
    }
    inputs["observation.state"] = PolicyFeature(type=FeatureType.STATE, shape=(8,))
    outputs = {"action": PolicyFeature(type=FeatureType.ACTION, shape=(7,))}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = make_policy_config(
            kind.removesuffix("2"),
            device="cpu",
            input_features=inputs,
            output_features=outputs,
            pretrained_backbone_weights=None,
            **KINDS[kind],
        )
        policy = get_policy_class(config.type)(config)
    statistics = {}
    for index, (key, feature) in enumerate({**inputs, **outputs}.items()):
        shape = (3, 1, 1) if len(feature.shape) == 3 else feature.shape
        low = torch.linspace(-2, -1, int(np.prod(shape))).reshape(shape) - index
        statistics[key] = {"mean": low, "std": low.abs(), "min": low, "max": -low}
    for part in (policy, *make_pre_post_processors(config, dataset_stats=statistics)):
        part.save_pretrained(folder)
    # A real checkpoint names the backbone it was started from; nothing here may try to download that.
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        text.replace(
            '"pretrained_backbone_weights": null', '"pretrained_backbone_weights": "ResNet18_Weights.IMAGENET1K_V1"'
        )
    )
