"""An earlier set's episodes are played again, and another policy's candidates get its expert's labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.pairs.again import RecordedEpisodes
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.states import read_all
from thinktwice.errors import UsageError
from thinktwice.rollouts import open_run


@pytest.mark.slow
def test_the_same_states_and_labels_with_other_candidates(
    collect: Callable[..., Any], collected: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    collect(out, collector={"policy": "fake:0.9", "again": collected, "candidates": 4})
    old, new = read_all(collected), read_all(out)
    assert set(old) == set(new)
    for name, before in old.items():
        after = new[name]
        np.testing.assert_array_equal(before.state, after.state)
        np.testing.assert_array_equal(before.facts[WAYS], after.facts[WAYS])
        np.testing.assert_array_equal(before.committed, after.committed)
        assert before.phases == after.phases
        assert after.chunks.shape[1] == 4
        assert not np.allclose(before.chunks[:, :4], after.chunks)
        assert after.policy != before.policy
    assert open_run(out / "run").agent["again"] == collected.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"again": Path("nothing/here")}, "no labelled decisions"),
        ({"source": "branch"}, "--source expert's labels"),
        ({"critic": "some"}, "without --critic"),
    ],
)
def test_what_cannot_be_played_again(
    collect: Callable[..., Any], collected: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        collect(tmp_path / "out", collector={"again": collected} | changes)


@pytest.mark.slow
def test_other_episodes_and_another_way_are_told(collect: Callable[..., Any], collected: Path, tmp_path: Path) -> None:
    one = {"tasks": "0", "episodes": 1}
    with pytest.raises(UsageError, match="no labelled decisions"):
        collect(tmp_path / "seed", collector={"again": collected}, seed=1, **one)
    for record in open_run(tmp_path / "seed" / "run").episodes:
        assert record.status == "error"
        assert "give the --tasks, --episodes and --seed" in str(record.error)
    with pytest.raises(UsageError, match="no labelled decisions"):
        collect(tmp_path / "execute", collector={"again": collected, "execute": 1}, **one)
    assert any("goes another way" in str(record.error) for record in open_run(tmp_path / "execute" / "run").episodes)


@pytest.mark.slow
def test_a_share_of_the_decisions_is_not_enough(collect: Callable[..., Any], tmp_path: Path) -> None:
    collect(tmp_path / "some", collector={"share": 0.5}, tasks="0", episodes=1)
    with pytest.raises(UsageError, match="with --share 1"):
        RecordedEpisodes(tmp_path / "some")
