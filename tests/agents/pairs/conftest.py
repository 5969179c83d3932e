"""Pair sets of the fake world, which take seconds to play, and a small critic to train on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.pairs.collector import CollectorOptions
from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.labelling import Counts, label
from thinktwice.agents.pairs.states import STATES, StoredStates, write_states
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.agents.training.demonstrations import SUFFIX, Demonstration, write_demonstration
from thinktwice.envs import EpisodeId
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.rollouts.pairs import PairOptions, collect_pairs

PIXELS = 24
CONVENTIONS = libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="fast")
EXPERT: dict[str, Any] = {"policy": "fake:0.5", "source": "expert", "expert": "fake:1", "execute": 2, "candidates": 5}
SMALL: dict[str, Any] = {
    "steps": 8,
    "check_every": 4,
    "log_every": 2,
    "batch": 32,
    "width": 16,
    "layers": 1,
    "heads": 2,
    "queries": 2,
    "warmup": 2,
    "ema": 0.8,
    "validation": 0.3,
    "device": "cpu",
}

type Collect = Callable[..., Counts]


def collect_fake(out: Path, *, labels: LabelOptions | None = None, collector: Any = None, **options: Any) -> Counts:
    given = {"tasks": "0,1", "episodes": 3} | options
    return collect_pairs(
        "fake",
        PairOptions(out=out, **given),
        CollectorOptions(**(EXPERT | (collector or {}))),
        labels or LabelOptions(),
    )


@pytest.fixture
def collect() -> Collect:
    return collect_fake


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair set labelled by the expert; tests read it and never write it."""
    out = tmp_path_factory.mktemp("pairs") / "expert"
    collect_fake(out)
    return out


def made_up(seed: int, count: int = 6, *, task: str = "a", phase: str = "go", **changed: Any) -> StoredStates:
    """Decisions whose right chunk, a constant one, is written in the features: twice the first two numbers."""
    random = np.random.default_rng(seed)
    summary = random.normal(size=(count, 5)).astype(np.float32)
    right = np.broadcast_to(2 * summary[:, None, None, :2], (count, 1, 4, 2))
    states = StoredStates(
        episode=EpisodeId(world="w", task=task, init_state=None, seed=seed),
        instruction="go",
        source="expert",
        policy={"policy": "bundled", "sha256": "a" * 64},
        phases=(phase,) * count,
        low=np.full(2, -9, np.float32),
        high=np.full(2, 9, np.float32),
        decision=np.arange(count),
        chunks=2 * random.normal(size=(count, 4, 4, 2)).astype(np.float32),
        extra={},
        facts={WAYS: np.ascontiguousarray(right)},
        features={"summary": summary},
        state=random.normal(size=(count, 6)).astype(np.float32),
        committed=random.normal(size=(count, 2, 2)).astype(np.float32),
        committed_length=np.array([0, *[2] * (count - 1)]),
    )
    return dataclasses.replace(states, **changed)


def store_states(folder: Path, *several: StoredStates) -> Path:
    (folder / STATES).mkdir(parents=True, exist_ok=True)
    for states in several:
        with (folder / STATES / f"{states.episode.key}.safetensors").open("wb") as file:
            write_states(file, states)
    return folder


@pytest.fixture
def decisions() -> Callable[..., StoredStates]:
    return made_up


@pytest.fixture
def store() -> Callable[..., Path]:
    return store_states


@pytest.fixture(scope="session")
def tiny_flow(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of the flow policy for LIBERO at 24 pixels; tests never write it."""
    return save_flow(tmp_path_factory.mktemp("flow"), CONVENTIONS, deviation=1.0, head_width=32, head_blocks=1)


def invent(seed: int, *, task: str, length: int = 40, init_state: int | None = None) -> Demonstration:
    random = np.random.default_rng(seed)
    label = np.clip(0.3 * random.normal(size=(length, 7)), -1, 1).astype(np.float32)
    executed = label.copy()
    executed[20] += 0.5
    images = random.integers(0, 255, (length, PIXELS, PIXELS, 3), np.uint8)
    return Demonstration(
        episode=EpisodeId(world="thinktwice/Libero-v0", task=task, init_state=init_state, seed=seed),
        instruction="pick up the milk and place it in the basket",
        conventions=CONVENTIONS,
        images={"agentview": images, "wrist": images[:, ::-1]},
        state=random.normal(size=(length, 8)).astype(np.float32),
        label=label,
        executed=executed,
    )


def save_frames(folder: Path, *demonstrations: Demonstration) -> Path:
    folder.mkdir(parents=True)
    for demonstration in demonstrations:
        with (folder / f"{demonstration.episode.key}{SUFFIX}").open("wb") as file:
            write_demonstration(file, demonstration)
    return folder


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    """Demonstrations of two tasks, disturbed at one step."""
    tasks = ("libero_object/0", "libero_object/1")
    return save_frames(tmp_path / "demos" / "frames", *(invent(seed, task=task) for seed, task in enumerate(tasks)))


@pytest.fixture
def evaluation_frames(tmp_path: Path) -> Path:
    """A demonstration that began in a stored initial state."""
    return save_frames(tmp_path / "stored", invent(0, task="libero_object/0", init_state=3))


@pytest.fixture
def learnable(tmp_path: Path) -> Path:
    """A made-up pair set of eight episodes in two tasks."""
    folder = store_states(tmp_path / "made up", *(made_up(seed, task="ab"[seed % 2]) for seed in range(8)))
    label(folder, LabelOptions(), provenance={})
    return folder


@pytest.fixture
def small(learnable: Path, tmp_path: Path) -> Callable[..., CriticTrainConfig]:
    """A configuration that trains in a second."""

    def make(**settings: Any) -> CriticTrainConfig:
        return CriticTrainConfig(**(SMALL | {"data": (learnable,), "out": tmp_path / "training"} | settings))

    return make
