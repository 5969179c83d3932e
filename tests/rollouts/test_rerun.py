"""An episode for the Rerun viewer, read back with Rerun's own reader."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import MissingDependency, RecordError, UsageError
from thinktwice.rollouts import Run, RunConfig, open_run, rerun_export, run
from thinktwice.rollouts.rerun_export import export_episode

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("rerun") / "run"
    options: dict[str, Any] = {"cap": 12, "crash": "0:1"}
    run(RunConfig(world="fake", world_options=options, agent="fake", tasks="0", episodes=2, out=folder, report=False))
    return open_run(folder)


def rows(path: Path, entity: str, column: str) -> dict[int, Any]:
    """What a column of an entity holds at each step, by Rerun's own reader."""
    from rerun.experimental import RrdReader

    found: dict[int, Any] = {}
    for chunk in RrdReader(path).stream():
        batch = chunk.to_record_batch()
        if chunk.entity_path == entity and not chunk.is_static and column in batch.schema.names:
            found |= dict(zip(batch["step"].to_pylist(), batch[column].to_pylist(), strict=True))
    return dict(sorted(found.items()))


def test_the_recording_holds_what_the_trace_and_the_replay_show(recorded: Run, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    sound, _ = recorded.episodes
    trace = recorded.trace(sound.key)
    out = export_episode(recorded.path, sound.key, tmp_path / "out" / "episode.rrd")
    assert list(out.parent.iterdir()) == [out]
    actions = rows(out, "/action", "Scalars:scalars")
    assert list(actions) == list(range(len(trace.actions)))
    np.testing.assert_array_equal(np.array(list(actions.values()), np.float32), trace.actions)
    begins = np.cumsum([0, *(decision.executed for decision in trace.decisions)])
    doubts = rows(out, "/agent/doubt", "Scalars:scalars")
    expected = {begin: [decision.doubt] for begin, decision in zip(begins, trace.decisions, strict=False)}
    assert doubts == expected
    # One picture more than there are actions: what was seen at the end.
    assert list(rows(out, "/images/front", "EncodedImage:blob")) == list(range(len(trace.actions) + 1))
    drawn = {step: len(lines) for step, lines in rows(out, "/images/front/candidates", "LineStrips2D:strips").items()}
    chose = zip(begins, trace.decisions, strict=False)
    assert drawn == {begin: len(each.candidates) for begin, each in chose if len(each.candidates) > 1}
    assert drawn


def test_what_cannot_be_exported_is_refused(recorded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rerun")
    sound, broken = recorded.episodes
    with pytest.raises(UsageError, match="there is no episode 'nothing'"):
        export_episode(recorded.path, "nothing", tmp_path / "a.rrd")
    with pytest.raises(UsageError, match="2 episodes begin with 'fake'"):
        export_episode(recorded.path, "fake", tmp_path / "a.rrd")
    with pytest.raises(UsageError, match="ended in an error"):
        export_episode(recorded.path, broken.key, tmp_path / "a.rrd")
    with pytest.raises(UsageError, match=r"ends with \.rrd"):
        export_episode(recorded.path, sound.key, tmp_path / "a.mp4")
    (tmp_path / "there.rrd").write_text("mine")
    with pytest.raises(RecordError, match="never written over"):
        export_episode(recorded.path, sound.key, tmp_path / "there.rrd")
    assert (tmp_path / "there.rrd").read_text() == "mine"
    # A world that no longer does what it did leaves no file.
    monkeypatch.setattr(FakeEnv, "_solved", lambda _: True)
    with pytest.raises(RecordError, match="differs from its record"):
        export_episode(recorded.path, sound.key, tmp_path / "b.rrd")
    assert {path.name for path in tmp_path.iterdir()} == {"there.rrd"}


def test_without_rerun_the_error_names_the_extra(
    recorded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingDependency, match=r"\[rerun\]"):
        export_episode(recorded.path, recorded.episodes[0].key, tmp_path / "a.rrd")


def test_of_many_episodes_that_are_meant_ten_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rerun")
    keys = ["other/0", *(f"fake/{index:02d}" for index in range(25))]
    run = SimpleNamespace(path=tmp_path, episodes=[SimpleNamespace(key=key, status="success") for key in keys])
    monkeypatch.setattr(rerun_export, "open_run", lambda folder: run)
    with pytest.raises(UsageError) as refused:
        export_episode(tmp_path, "fake/", tmp_path / "a.rrd")
    assert "25 episodes begin with 'fake/'" in str(refused.value)
    assert "fake/09, … (25 in all)" in str(refused.value)
    assert "fake/10" not in str(refused.value)
    assert "other/0" not in str(refused.value)
