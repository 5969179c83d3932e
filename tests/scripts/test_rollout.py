"""``thinktwice rollout`` from end to end, with the fake world."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from thinktwice.rollouts import RunConfig, open_run
from thinktwice.rollouts.config import make_plan
from thinktwice.rollouts.pool import Ended
from thinktwice.rollouts.progress import ShownProgress
from thinktwice.rollouts.records import AttemptRecord, EpisodeRecord
from thinktwice.rollouts.writing import RunWriter
from thinktwice.scripts import cli

FAKE = ["rollout", "fake", "--agent", "fake", "--skill", "0.7", "--tasks", "0,1", "--episodes", "2"]
QUIET = [*FAKE, "--no-report"]


def test_a_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert cli.run([*FAKE, "--out", str(out), "--workers", "2"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("opening fake\n")
    assert "fake/0" in shown.out
    assert "Wilson" in shown.out
    assert f"thinktwice compare {out}" in shown.out
    assert f"report    {out}/report.html" in shown.out
    assert (out / "report.html").stat().st_size > 1000
    assert "4/4" in shown.err
    assert "2 workers with 1 numeric" in shown.err
    assert open_run(out).finished
    assert open_run(out).config["agent_options"]["skill"] == 0.7

    assert cli.run([*FAKE, "--out", str(out)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert cli.run(["rollout", "--resume", "--out", str(out)]) == 0
    assert "fake/1" in capsys.readouterr().out
    assert cli.run(["rollout", "--resume", "--out", str(out), "--seed", "3"]) == 2
    assert "config.seed: 0, 3" in capsys.readouterr().err


@pytest.mark.slow
def test_errors_in_the_record_show_in_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*QUIET, "--out", str(tmp_path / "run"), "--crash", "1:0"]) == 1
    shown = capsys.readouterr()
    assert "ERROR WorldError: the fake world was told to raise here" in shown.err
    assert "1 of 4 episodes ended in an error" in shown.out


@pytest.mark.slow
def test_a_foreign_policy_is_a_message_and_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert cli.run(["rollout", "fake", "--policy", "fake:foreign", "--out", out, "--episodes", "1"]) == 2
    shown = capsys.readouterr().err
    assert "thinktwice: fake:0.5 cannot act in" in shown
    assert "Traceback" not in shown


def test_a_terminal_gets_a_bar_with_what_was_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    plan = make_plan(RunConfig(world="fake", out=tmp_path, tasks="0", episodes=3))
    progress = ShownProgress(terminal=True)
    progress.begin(plan, RunWriter(tmp_path))
    for episode, status in zip(plan.episodes, ("success", "failure", "error"), strict=True):
        attempt = AttemptRecord(key=episode.key, attempt=1, ending="finished", worker=1, started="")
        progress.ended(Ended(attempt=attempt, record=EpisodeRecord(episode=episode, status=status, error="broke")))
    progress.end()
    shown = screen.getvalue()
    assert "3/3" in shown
    assert "1/2 solved" in shown
    assert "1 errors" in shown
    assert "ERROR broke" in shown
