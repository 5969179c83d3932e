"""Pairs come from on-policy rollouts that nothing disturbs; collections continue, repeat and can be labelled anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.states import STATES, read_all
from thinktwice.agents.pairs.tables import MANIFEST, PAIRS_TABLE, STATES_TABLE
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.agents.pairs.training.loop import CRITIC, train_critic
from thinktwice.envs.fakes import FakeOptions
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.rollouts import RunConfig, open_run, run
from thinktwice.rollouts import pairs as module
from thinktwice.scripts import pairs as command

type Collect = Callable[..., Any]


def tables(folder: Path) -> tuple[bytes, bytes]:
    return (folder / PAIRS_TABLE).read_bytes(), (folder / STATES_TABLE).read_bytes()


@pytest.mark.slow
def test_the_tables_say_what_was_found(collected: Path) -> None:
    pairs, states = (parquet.read_table(collected / name).to_pylist() for name in (PAIRS_TABLE, STATES_TABLE))
    counts = json.loads((collected / MANIFEST).read_text())["counts"]
    assert len(pairs) == counts["pairs"] > 100
    assert len(states) == counts["states"]
    assert counts["tasks"].keys() == {"fake/0", "fake/1"}
    assert counts["phases"].keys() == {"early", "middle", "late"}
    assert counts["pairs"] + counts["ties"] + counts["identical"] == 10 * (counts["states"] + counts["undecided"])
    stored = read_all(collected)
    for pair in pairs:
        state = states[pair["state"]]
        utility = state["utility"]
        assert utility[pair["better"]] - utility[pair["worse"]] == pytest.approx(pair["margin"], abs=1e-5)
        assert pair["margin"] > 0.05
        assert state["init_state"] is None
        assert stored[state["file"]].decision[state["row"]] == state["decision"]
    assert np.mean([pair["weight"] for pair in pairs]) == pytest.approx(1, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("collector", [{}, {"source": "branch", "continuation": "fake:1", "share": 0.5}])
def test_labelling_changes_nothing_of_what_is_played(collect: Collect, tmp_path: Path, collector: Any) -> None:
    collect(tmp_path / "pairs", collector=collector, tasks="2", episodes=2)
    fresh = FakeOptions(init_states="fresh")
    reflex = {"policy": "fake:0.5", "execute": 2}
    plain = RunConfig(
        out=tmp_path / "reflex", world="fake", tasks="2", episodes=2, world_options=fresh, agent_options=reflex
    )
    run(plain)
    labelled, undisturbed = (open_run(tmp_path / name) for name in ("pairs/run", "reflex"))
    assert [record.trajectory for record in labelled.episodes] == [record.trajectory for record in undisturbed.episodes]


@pytest.mark.slow
def test_the_share_says_how_many_decisions_are_labelled(collected: Path, collect: Collect, tmp_path: Path) -> None:
    counts = collect(tmp_path / "some", collector={"share": 0.4})
    played = sum(record.decisions for record in open_run(tmp_path / "some" / "run").episodes)
    assert 0.25 < (counts.states + counts.undecided) / played < 0.55


@pytest.mark.slow
def test_two_workers_find_the_same(collected: Path, collect: Collect, tmp_path: Path) -> None:
    collect(tmp_path / "two", workers=2)
    assert tables(tmp_path / "two") == tables(collected)


def test_a_stopped_collection_continues_to_the_same_tables(collected: Path, collect: Collect, tmp_path: Path) -> None:
    out = tmp_path / "again"
    shutil.copytree(collected, out)
    first, second, *_ = sorted((out / STATES).iterdir())
    first.unlink()
    (out / STATES / f".partial-7-{second.name}").write_bytes(b"half")
    (out / PAIRS_TABLE).unlink()
    with pytest.raises(RecordError, match="resume"):
        collect(out)
    collect(out, resume=True)
    assert tables(out) == tables(collected)
    assert not list((out / STATES).glob(".partial*"))


def test_labels_are_made_anew_without_playing(collected: Path, collect: Collect, tmp_path: Path) -> None:
    out = tmp_path / "anew"
    shutil.copytree(collected, out)
    before = (out / "run" / "attempts.jsonl").read_bytes()
    few = collect(out, labels=LabelOptions(tie=0.5), resume=True)
    many = collect(out, labels=LabelOptions(tie=0.0), resume=True)
    assert few.pairs < many.pairs
    assert few.ties > many.ties == 0
    assert (out / "run" / "attempts.jsonl").read_bytes() == before
    with pytest.raises(UsageError, match="no pair is left"):
        collect(out, labels=LabelOptions(tie=100.0), resume=True)
    for wrong in (LabelOptions(tie=-1.0), LabelOptions(tie=float("nan")), LabelOptions(label_horizon=0)):
        with pytest.raises(ConfigError, match="label_horizon"):
            collect(out, labels=wrong, resume=True)


def test_stored_initial_states_are_refused(collect: Collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fresh_options", lambda world, **options: {})
    with pytest.raises(UsageError, match="preference pairs may use fresh placements"):
        collect(tmp_path / "stored")
    assert not (tmp_path / "stored").exists()


@pytest.mark.slow
def test_a_critic_is_trained_and_then_drives_its_own_collection(
    collect: Collect, collected: Path, small: Callable[..., CriticTrainConfig], tmp_path: Path
) -> None:
    config = small(data=(collected,))
    train_critic(config)
    out = tmp_path / "second round"
    collect(out, collector={"critic": str(config.out / CRITIC)}, episodes=1)
    played = open_run(out / "run")
    assert played.agent["critic"]["critic"] == "relative"
    decisions = [decision for record in played.episodes for decision in played.trace(record.key).decisions]
    assert any(decision.chosen for decision in decisions)
    for decision in decisions:
        assert decision.preferences is not None
        assert decision.preferences.sum(axis=1).argmax() == decision.chosen


@pytest.mark.slow
def test_the_command(collected: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = "fake --tasks 0 --episodes 1 --policy fake:0.5 --expert fake:1 --execute 2 --candidates 3 --out"
    assert command.main([*given.split(), str(tmp_path / "pairs")]) == 0
    shown = capsys.readouterr().out
    assert "thinktwice train critic" in shown
    assert "ties" in shown
    with pytest.raises(ConfigError, match="--source steps alone"):
        command.main([*given.split(), str(tmp_path / "other"), "--data", str(tmp_path)])
