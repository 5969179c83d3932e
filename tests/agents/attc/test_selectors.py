from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.attc import Deliberation
from thinktwice.agents.attc.selection import CONSENSUS
from thinktwice.agents.attc.tournaments import JUDGED, round_robin
from thinktwice.critics import CriticContext
from thinktwice.errors import ContractError

type Make = Callable[..., Deliberation]


class TableCritic:
    """Judges one-entry chunks by a table of strengths, and counts its calls."""

    def __init__(self, strengths: Sequence[float]) -> None:
        self.strengths, self.calls, self.contexts = strengths, [], []

    def prefer(self, observation: Any, pairs: Sequence[tuple[Any, Any]], context: CriticContext) -> np.ndarray:
        self.calls.append([(int(a[0, 0]), int(b[0, 0])) for a, b in pairs])
        self.contexts.append(context)
        gaps = [self.strengths[a] - self.strengths[b] for a, b in self.calls[-1]]
        return np.array([1 / (1 + np.exp(-gap)) for gap in gaps], np.float32)


class CyclicCritic(TableCritic):
    """Rock, paper, scissors among 1, 2 and 3; all three beat 0."""

    def prefer(self, observation: Any, pairs: Sequence[tuple[Any, Any]], context: CriticContext) -> np.ndarray:
        super().prefer(observation, pairs, context)
        table = {(1, 2): 0.9, (2, 3): 0.9, (3, 1): 0.8, (1, 0): 0.9, (2, 0): 0.9, (3, 0): 0.9}
        return np.array([table[p] if p in table else 1 - table[p[::-1]] for p in self.calls[-1]], np.float32)


def numbered(count: int) -> np.ndarray:
    """Candidates that say who they are."""
    return np.arange(count, dtype=np.float32)[:, None, None] * np.ones((1, 3, 1), np.float32)


def test_the_medoid_is_the_most_central_and_ties_go_to_the_reflex(deliberation: Make) -> None:
    spread = np.array([0.0, 1.0, 1.1, 1.2, 9.0])[:, None, None] * np.ones((1, 3, 2))
    assert CONSENSUS["medoid"](deliberation(spread)).index == 2
    assert CONSENSUS["medoid"](deliberation(np.ones((4, 3, 2)))).index == 0
    assert CONSENSUS["medoid"](deliberation([[[0.0]], [[1.0]]])).index == 0, "two candidates are equally central"


def test_selectors_see_what_is_executed_with_its_weights(deliberation: Make) -> None:
    chunks = np.zeros((3, 4, 2))
    chunks[0, :2, 0] = 5.0
    chunks[1:, 3] = 7.0
    chunks[2, :2, 1] = 1.0
    assert CONSENSUS["medoid"](deliberation(chunks, execute=2)).index == 1
    assert CONSENSUS["medoid"](deliberation(chunks, execute=2, weights=[0.0, 1.0])).index == 0


def test_the_mean_is_none_of_the_candidates(deliberation: Make) -> None:
    found = CONSENSUS["mean"](deliberation([[[0.0]], [[1.0]], [[5.0]]]))
    assert found.index is None
    np.testing.assert_array_equal(found.chunk, np.array([[2.0]], np.float32))
    assert np.asarray(found.chunk).dtype == np.float32


def test_the_nearest_continues_the_tail(deliberation: Make) -> None:
    chunks = [[[0.0], [0.0]], [[2.0], [9.0]], [[3.0], [3.0]]]
    assert CONSENSUS["nearest"](deliberation(chunks)).index == 0
    assert CONSENSUS["nearest"](deliberation(chunks, committed=[[2.2]])).index == 1
    assert CONSENSUS["nearest"](deliberation(chunks, committed=[[2.2], [3.0], [8.0]])).index == 2


def test_random_is_uniform_and_follows_the_seed(deliberation: Make) -> None:
    chosen = [CONSENSUS["random"](deliberation(numbered(4), seed=seed)).index for seed in range(400)]
    assert chosen == [CONSENSUS["random"](deliberation(numbered(4), seed=seed)).index for seed in range(400)]
    assert np.bincount(np.array(chosen), minlength=4).min() > 60


def test_first_is_the_reflex(deliberation: Make) -> None:
    assert CONSENSUS["first"](deliberation(numbered(3))).index == 0


@pytest.mark.parametrize("name", ["copeland", "knockout"])
@pytest.mark.parametrize("count", [2, 3, 5, 8, 16])
def test_the_strongest_wins(name: str, count: int, deliberation: Make) -> None:
    for best in range(count):
        strengths = np.where(np.arange(count) == best, 3.0, 0.0)
        assert JUDGED[name](deliberation(numbered(count)), critic=TableCritic(strengths), margin=0.05).index == best


def test_copeland_asks_once_for_all_pairs_and_shows_them(deliberation: Make) -> None:
    critic = TableCritic([0.0, 2.0, 1.0, -1.0])
    given = deliberation(numbered(4), committed=[[1.0]])
    found = JUDGED["copeland"](given, critic=critic, margin=0.05)
    assert critic.calls == [list(itertools.combinations(range(4), 2))]
    assert found.comparisons == 6
    table = found.preferences
    assert table is not None
    np.testing.assert_allclose(table + table.T, 1, atol=1e-6)
    assert table[1, 0] == pytest.approx(1 / (1 + np.exp(-2.0)))
    (context,) = critic.contexts
    assert len(context.candidates) == 4
    np.testing.assert_array_equal(context.committed, [[1.0]])


def test_a_cycle_is_settled_by_how_clear_the_wins_are(deliberation: Make) -> None:
    found = JUDGED["copeland"](deliberation(numbered(4)), critic=CyclicCritic([0.0] * 4), margin=0.05)
    assert found.index == 1


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_a_critic_that_cannot_tell_changes_nothing(name: str, deliberation: Make) -> None:
    spread = np.array([1.0, 0.0, 2.0, 1.5, 0.5])[:, None, None] * np.ones((1, 3, 1))
    critic = TableCritic([0.0] * 5)
    assert JUDGED[name](deliberation(spread), critic=critic, margin=0.0).index == 0


@pytest.mark.parametrize("name", ["copeland", "knockout"])
def test_the_margin_protects_the_reflex(name: str, deliberation: Make) -> None:
    slightly = TableCritic([0.0, 0.1])
    assert JUDGED[name](deliberation(numbered(2)), critic=slightly, margin=0.05).index == 0
    assert JUDGED[name](deliberation(numbered(2)), critic=slightly, margin=0.0).index == 1


def test_a_knockout_takes_one_comparison_less_than_candidates(deliberation: Make) -> None:
    critic = TableCritic(np.linspace(0, 4, 16))
    found = JUDGED["knockout"](deliberation(numbered(16)), critic=critic, margin=0.05)
    assert [len(call) for call in critic.calls] == [8, 4, 2, 1]
    assert found.comparisons == 15
    assert found.notes["matches"].shape == (15, 3)
    assert found.preferences is None


def test_the_veto_keeps_the_reflex_only_where_the_critic_is_sure(deliberation: Make) -> None:
    spread = numbered(3)[[2, 0, 1]]  # the reflex is at one end, and candidate 2 is the medoid
    weak, strong = TableCritic([0.0, 0.0, 0.1]), TableCritic([0.0, 0.0, 3.0])
    assert JUDGED["medoid-veto"](deliberation(spread), critic=weak, margin=0.05).index == 2
    vetoed = JUDGED["medoid-veto"](deliberation(spread), critic=strong, margin=0.05)
    assert (vetoed.index, vetoed.comparisons) == (0, 1)
    assert "vetoes" in vetoed.why


def test_the_tie_break_is_among_the_central_alone(deliberation: Make) -> None:
    critic = TableCritic([9.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 9.0])
    found = JUDGED["medoid-tie-break"](deliberation(numbered(9)), critic=critic, margin=0.05)
    assert found.index == 4, "the middle is the medoid, and whoever is stronger is far outside"
    critic = TableCritic([9.0, 0.0, 0.0, 3.0, 2.0, 0.0, 0.0, 0.0, 9.0])
    assert JUDGED["medoid-tie-break"](deliberation(numbered(9)), critic=critic, margin=0.05).index == 3
    assert JUDGED["medoid-tie-break"](deliberation(numbered(9)), critic=critic, margin=0.3).index == 4


class MuteCritic(TableCritic):
    def prefer(self, observation: Any, pairs: Any, context: CriticContext) -> np.ndarray:
        return np.full(len(pairs), np.nan, np.float32)


def test_an_answer_that_is_no_probability_is_an_error(deliberation: Make) -> None:
    with pytest.raises(ContractError, match="3 probabilities"):
        round_robin(deliberation(numbered(3)), MuteCritic([]), range(3))
