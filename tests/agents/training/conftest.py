"""Small invented demonstrations in LIBERO's conventions, and a small network to train on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.training.config import TrainConfig
from thinktwice.agents.training.demonstrations import SUFFIX, Demonstration, write_demonstration
from thinktwice.envs import EpisodeId
from thinktwice.envs.libero.conventions import libero_conventions

PIXELS = 24
SMALL: dict[str, Any] = {
    "batch": 8,
    "noise_samples": 2,
    "warmup": 2,
    "channels": 8,
    "blocks": 1,
    "keypoints": 4,
    "head_width": 32,
    "head_blocks": 1,
    "device": "cpu",
}

type Invent = Callable[..., Demonstration]


def invent(
    seed: int, *, length: int = 20, init_state: int | None = None, task: str = "libero_object/0"
) -> Demonstration:
    """A demonstration whose label is written in its images and its state."""
    random = np.random.default_rng(seed)
    label = np.clip(random.normal(size=(length, 7)).cumsum(axis=0) * 0.1, -1, 1).astype(np.float32)
    executed = label.copy()
    executed[5:8, :3] = np.clip(executed[5:8, :3] + 0.3, -1, 1)
    shown = np.clip(128 + 100 * label[:, None, None, :3], 0, 255).astype(np.uint8)
    images = np.broadcast_to(shown, (length, PIXELS, PIXELS, 3))
    state = np.concatenate([label, random.normal(size=(length, 1)).astype(np.float32)], axis=1)
    return Demonstration(
        episode=EpisodeId(world="thinktwice/Libero-v0", task=task, init_state=init_state, seed=seed),
        instruction="pick up the milk and place it in the basket",
        conventions=libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="fast"),
        images={"agentview": images, "wrist": images[:, ::-1]},
        state=state,
        label=label,
        executed=executed,
    )


@pytest.fixture
def invented() -> Invent:
    return invent


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder of four demonstrations."""
    folder = tmp_path / "frames"
    folder.mkdir()
    for seed in range(4):
        save_demonstration(folder, invent(seed))
    return folder


def save_demonstration(folder: Path, demonstration: Demonstration) -> Path:
    path = folder / f"{demonstration.episode.key}{SUFFIX}"
    with path.open("wb") as file:
        write_demonstration(file, demonstration)
    return path


@pytest.fixture
def save() -> Callable[[Path, Demonstration], Path]:
    return save_demonstration


@pytest.fixture
def small(stored: Path, tmp_path: Path) -> Callable[..., TrainConfig]:
    """A configuration that trains in a second."""

    def make(**settings: Any) -> TrainConfig:
        given = {"data": (stored,), "out": tmp_path / "training", "steps": 6, "check_every": 3, "log_every": 1}
        return TrainConfig(**(SMALL | given | settings))

    return make
