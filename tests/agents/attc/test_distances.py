from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinktwice.agents.attc.distances import (
    ChunkMetric,
    action_weights,
    dtw_cost,
    pairwise_distances,
    tail_distances,
)
from thinktwice.envs.libero.conventions import ACTION
from thinktwice.errors import ConfigError, ContractError


def recurrence(first: np.ndarray, second: np.ndarray) -> float:
    """Dynamic time warping as it is defined (Sakoe and Chiba 1978, without a window)."""
    cost = np.linalg.norm(first[:, None] - second[None], axis=-1)
    total = np.full((len(first) + 1, len(second) + 1), np.inf)
    total[0, 0] = 0
    for i, j in np.ndindex(cost.shape):
        total[i + 1, j + 1] = cost[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    return float(total[-1, -1])


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_dtw_is_the_recurrence(first: int, second: int, entries: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(first, entries)), random.normal(size=(second, entries))
    assert dtw_cost(a, b) == pytest.approx(recurrence(a, b), rel=1e-9)
    assert dtw_cost(a, a) == 0


def test_dtw_forgives_what_comes_a_little_later() -> None:
    early = np.zeros((8, 2))
    early[3:5] = 1.0
    late = np.roll(early, 1, axis=0)
    other = -early
    assert dtw_cost(early, late) == 0
    assert dtw_cost(early, other) > 1
    assert pairwise_distances(np.stack([early, late]))[0, 1] > 0


def test_only_what_is_executed_counts() -> None:
    chunks = np.zeros((2, 6, 3))
    chunks[1, 4:] = 9.0
    assert pairwise_distances(ChunkMetric(weights=(1, 1, 1), execute=4).weigh(chunks))[0, 1] == 0
    assert pairwise_distances(ChunkMetric(weights=(1, 1, 1)).weigh(chunks))[0, 1] > 0


def test_weights_divide_by_the_scale_and_spare_the_gripper() -> None:
    weights = action_weights(ACTION, scale=[0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 2.0], gripper=0.5)
    np.testing.assert_allclose(weights, [2, 2, 2, 10, 10, 10, 0.25])
    assert action_weights(ACTION, scale=None, gripper=0.0) == (1, 1, 1, 1, 1, 1, 0)
    assert max(action_weights(ACTION, scale=[0.0] * 7, gripper=1.0)) == pytest.approx(1000), "an entry that never moves"


@pytest.mark.parametrize(
    ("scale", "gripper", "words"),
    [([1.0] * 6, 1.0, "7 finite"), ([1.0] * 6 + [np.nan], 1.0, "finite"), (None, -1.0, "gripper"), (None, np.nan, "0")],
)
def test_impossible_weights(scale: list[float] | None, gripper: float, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        action_weights(ACTION, scale=scale, gripper=gripper)


def test_text_worlds_have_no_distances() -> None:
    with pytest.raises(ConfigError, match="no vectors"):
        action_weights((), scale=None, gripper=1.0)
    with pytest.raises(ContractError, match="text"):
        ChunkMetric(weights=(1.0,)).weigh([["go to desk 1"], ["open drawer 2"]])


def test_candidates_that_are_not_finite_are_named() -> None:
    chunks = np.zeros((3, 4, 2))
    chunks[2, 3, 1] = np.nan
    with pytest.raises(ContractError, match=r"candidate 2 of 3 .*NaN"):
        ChunkMetric(weights=(1.0, 1.0)).weigh(chunks)
    with pytest.raises(ContractError, match="2 entries, the metric has 3"):
        ChunkMetric(weights=(1.0,) * 3).weigh(np.zeros((1, 4, 2)))


@pytest.mark.parametrize(("weights", "execute"), [((), None), ((-1.0,), None), ((0.0,), None), ((1.0,), 0)])
def test_impossible_metrics(weights: tuple[float, ...], execute: int | None) -> None:
    with pytest.raises(ConfigError):
        ChunkMetric(weights=weights, execute=execute)


def test_a_tail_is_compared_as_far_as_it_goes() -> None:
    weighed = np.zeros((2, 5, 1))
    weighed[1, :2] = 3.0
    np.testing.assert_allclose(tail_distances(weighed, np.zeros((2, 1))), [0, 3])
    np.testing.assert_allclose(tail_distances(weighed, np.zeros((9, 1))), [0, 6 / 5])
