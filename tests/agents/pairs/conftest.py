"""Pair sets of the fake world, which take seconds to play, and a small critic to train on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinktwice.agents.pairs.collector import CollectorOptions
from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.labelling import Counts
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.rollouts.pairs import PairOptions, collect_pairs

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


@pytest.fixture
def small(collected: Path, tmp_path: Path) -> Callable[..., CriticTrainConfig]:
    """A configuration that trains in a second."""

    def make(**settings: Any) -> CriticTrainConfig:
        return CriticTrainConfig(**(SMALL | {"data": (collected,), "out": tmp_path / "training"} | settings))

    return make
