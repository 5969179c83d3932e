"""From facts to pairs, on made-up decisions: ties, repetitions, balance, and files that were damaged or mixed up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.labelling import Counts, action_scale, label
from thinktwice.agents.pairs.pairset import read_pairs
from thinktwice.agents.pairs.states import STATES, StoredStates, read_states
from thinktwice.agents.pairs.tables import MANIFEST, PAIRS_TABLE
from thinktwice.envs import EpisodeId
from thinktwice.errors import RecordError, UsageError

ANY = LabelOptions()


type Make = Callable[..., StoredStates]
type Store = Callable[..., Path]
type Label = Callable[..., Counts]


@pytest.fixture
def labelled(store: Callable[..., Path]) -> Callable[..., Counts]:
    return lambda folder, *several: label(store(folder, *several), ANY, provenance={})


def test_decisions_come_back_as_they_were(decisions: Make, store: Store, tmp_path: Path) -> None:
    states = decisions(1)
    store(tmp_path, states)
    read = read_states(next((tmp_path / STATES).iterdir()))
    assert read.episode == states.episode
    assert read.phases == states.phases
    for name in ("chunks", "state", "committed", "decision", "low"):
        np.testing.assert_array_equal(getattr(read, name), getattr(states, name))
    np.testing.assert_array_equal(read.features["summary"], states.features["summary"])
    assert read.tail(0) is None
    np.testing.assert_array_equal(read.tail(1), states.committed[1])


def test_equal_chunks_and_ties_and_repeated_decisions_are_dropped_and_counted(
    decisions: Make, labelled: Label, tmp_path: Path
) -> None:
    states = decisions(1, 4, facts={WAYS: np.zeros((4, 1, 4, 2), np.float32)})
    chunks, state = states.chunks.copy(), states.state.copy()
    chunks[0, 1] = chunks[0, 0]
    chunks[1, 1] = -chunks[1, 0]
    chunks[2:4] = chunks[3]
    state[2:4] = state[3]
    counts = labelled(tmp_path, dataclasses.replace(states, chunks=chunks, state=state))
    assert counts.identical == 1
    assert counts.ties >= 1
    assert counts.repeated == 1
    assert counts.states == 3
    assert counts.pairs + counts.ties + counts.identical == 3 * 6


def test_actions_beyond_the_bounds_act_as_the_bounds(decisions: Make, labelled: Label, tmp_path: Path) -> None:
    """Two candidates that the world executes alike are a tie."""
    chunks = np.stack([np.full((4, 2), value, np.float32) for value in (3.0, 5.0, 0.1)])[None]
    bounds = {"low": -np.ones(2, np.float32), "high": np.ones(2, np.float32)}
    facts = {WAYS: np.zeros((1, 1, 4, 2), np.float32)}
    counts = labelled(tmp_path, decisions(1, 1, chunks=chunks, facts=facts, **bounds))
    assert (counts.pairs, counts.ties) == (2, 1)


def test_every_task_counts_alike_and_within_it_every_phase(decisions: Make, labelled: Label, tmp_path: Path) -> None:
    labelled(
        tmp_path,
        decisions(1, 20, task="a", phase="reach"),
        decisions(2, 10, task="a", phase="grasp"),
        decisions(3, 15, task="b", phase="reach"),
    )
    pairs = read_pairs([tmp_path])
    share = {
        (task, phase): sum(
            float(weight)
            for weight, state in zip(pairs.weight, pairs.state, strict=True)
            if (pairs.states[state].task, pairs.states[state].phase) == (task, phase)
        )
        / float(pairs.weight.sum())
        for task, phase in (("a", "reach"), ("a", "grasp"), ("b", "reach"))
    }
    assert share == {
        key: pytest.approx(value, abs=0.02)
        for key, value in {("a", "reach"): 0.25, ("a", "grasp"): 0.25, ("b", "reach"): 0.5}.items()
    }


def test_a_rare_phase_does_not_take_over(decisions: Make, labelled: Label, tmp_path: Path) -> None:
    labelled(tmp_path, decisions(1, 200, phase="reach"), decisions(2, 1, phase="grasp"), decisions(3, 50, task="b"))
    pairs = read_pairs([tmp_path])
    # Equal shares would make the one pair of that phase count a hundred times as much as the average one.
    assert 3 < pairs.weight.max() < 6


def test_entries_that_hardly_move_are_not_blown_up() -> None:
    chunks = np.random.default_rng(0).normal(size=(50, 4, 3)).astype(np.float32) * [1.0, 0.5, 1e-9]
    np.testing.assert_allclose(action_scale([chunks]), [1.0, 0.5, 0.05], rtol=0.2)
    assert (action_scale([np.zeros((5, 4, 3), np.float32)]) > 0).all()


@pytest.mark.parametrize("name", ["chunks", "state", "committed", "summary", WAYS])
def test_numbers_that_are_not_finite_are_refused(decisions: Make, store: Store, tmp_path: Path, name: str) -> None:
    states = decisions(1)
    broken = {"summary": states.features, WAYS: states.facts}.get(name, {}).get(name, getattr(states, name, None))
    broken.reshape(-1)[3] = np.nan
    store(tmp_path, states)
    with pytest.raises(RecordError, match="not finite"):
        label(tmp_path, ANY, provenance={})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"source": "branch"}, "one source"),
        ({"policy": {"policy": "bundled", "sha256": "b" * 64}}, "another policy"),
        ({"chunks": np.zeros((6, 4, 5, 2), np.float32)}, "chunks of shape"),
        ({"chunks": np.zeros((6, 2, 4, 2), np.float32)}, "roles"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    decisions: Make, store: Store, tmp_path: Path, other: Any, message: str
) -> None:
    store(tmp_path, decisions(1), decisions(2, **other))
    with pytest.raises(RecordError, match=message):
        label(tmp_path, ANY, provenance={})


def test_damaged_files_are_refused(decisions: Make, labelled: Label, tmp_path: Path) -> None:
    labelled(tmp_path, decisions(1))
    path = next((tmp_path / STATES).iterdir())
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(RecordError, match="no labelled decisions"):
        read_pairs([tmp_path])
    path.unlink()
    with pytest.raises(RecordError, match="which its tables name"):
        read_pairs([tmp_path])
    path.write_bytes(whole)
    (tmp_path / PAIRS_TABLE).write_bytes((tmp_path / PAIRS_TABLE).read_bytes()[:50])
    with pytest.raises(RecordError, match="damaged"):
        read_pairs([tmp_path])
    (tmp_path / MANIFEST).write_text((tmp_path / MANIFEST).read_text().replace('"format": 1', '"format": 9'))
    labelled_again = tmp_path / PAIRS_TABLE
    parquet.write_table(parquet.read_table(tmp_path / "states.parquet"), labelled_again)
    with pytest.raises(RecordError, match="pair format 9"):
        read_pairs([tmp_path])


def test_reading_several_sets(decisions: Make, labelled: Label, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        labelled(tmp_path / name, decisions(seed))
    labelled(tmp_path / "stored", decisions(3, episode=EpisodeId(world="w", task="a", init_state=3, seed=1)))
    labelled(tmp_path / "foreign", decisions(4, policy={"policy": "bundled", "sha256": "b" * 64}))
    labelled(tmp_path / "wide", decisions(5, features={"summary": np.zeros((6, 9), np.float32)}))
    both = read_pairs([tmp_path / "one", tmp_path / "two"])
    alone = [read_pairs([tmp_path / name]) for name in ("one", "two")]
    assert len(both) == len(alone[0]) + len(alone[1])
    last = both.states[both.state[-1]]
    np.testing.assert_array_equal(last.candidates, alone[1].states[alone[1].state[-1]].candidates)
    assert both.margin[: len(alone[0])].mean() == pytest.approx(1, abs=1e-5)
    for name, error, message in (
        ("one", UsageError, "named twice"),
        ("stored", UsageError, "fresh placements"),
        ("foreign", RecordError, "belongs to one checkpoint"),
        ("wide", RecordError, "shapes"),
        ("nowhere", UsageError, "no pair set"),
    ):
        with pytest.raises(error, match=message):
            read_pairs([tmp_path / "one", tmp_path / name])


def test_nothing_to_label_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no labelled decisions"):
        label(tmp_path, ANY, provenance={})
