"""``thinktwice compare`` from end to end, with the fake world."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinktwice.rollouts import RunConfig, run
from thinktwice.scripts import cli


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    settings = {
        "weak": {"agent": "reflex", "agent_options": {"policy": "fake:0.45"}},
        "strong": {"agent": "fake", "agent_options": {"skill": 0.7}},
        "short": {"agent": "fake", "world_options": {"cap": 20}},
        "other": {"agent": "fake", "seed": 1},
    }
    for name, changed in settings.items():
        run(RunConfig(world="fake", out=folder / name, tasks="0-2", episodes=4, report=False, **changed))
    return {name: folder / name for name in settings}


@pytest.mark.slow
def test_two_agents_are_compared(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(runs["weak"]), str(runs["strong"])]) == 0
    shown = capsys.readouterr().out
    assert "12 pairs" in shown
    assert "agent.agent: 'reflex', 'fake'" in shown
    assert "exact McNemar" in shown
    assert "Newcombe's method 10" in shown
    assert "over tasks" in shown
    assert "spl" in shown


@pytest.mark.slow
def test_json_holds_the_same_figures(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(runs["weak"]), str(runs["strong"]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["both"] + found["only_a"] + found["only_b"] + found["neither"] == found["pairs"] == 12
    assert found["difference"] == pytest.approx(found["rate_b"] - found["rate_a"])
    assert found["interval"]["low"] <= found["difference"] <= found["interval"]["high"]
    assert found["methods"]["p_value"].startswith("exact McNemar")


@pytest.mark.slow
def test_a_run_against_itself_differs_in_nothing(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(runs["weak"]), str(runs["weak"]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["only_a"], found["only_b"], found["p_value"], found["difference"]) == (0, 0, 1.0, 0.0)
    assert found["metrics"]["spl"]["difference"] == 0.0


@pytest.mark.slow
def test_other_caps_are_refused_unless_accepted(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", str(runs["strong"]), str(runs["short"])]
    assert cli.run(call) == 2
    assert "world.cap: 40, 20" in capsys.readouterr().err
    assert cli.run([*call, "--accept", "world.cap"]) == 0
    assert "accepted difference  world.cap: 40, 20" in capsys.readouterr().out


@pytest.mark.slow
def test_other_seeds_cannot_be_paired(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(runs["strong"]), str(runs["other"])]) == 2
    assert "no episode in common" in capsys.readouterr().err


@pytest.mark.slow
def test_an_unfinished_run_is_compared_with_a_note(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = tmp_path / "part"
    part.mkdir()
    for name in ("run.yaml", "attempts.jsonl"):
        (part / name).write_bytes((runs["strong"] / name).read_bytes())
    kept = (runs["strong"] / "episodes.jsonl").read_text().splitlines(keepends=True)[:5]
    (part / "episodes.jsonl").write_text("".join(kept) + '{"torn')
    assert cli.run(["compare", str(part), str(runs["weak"])]) == 0
    shown = capsys.readouterr()
    assert "5 of 12 episodes" in shown.err
    assert "torn last line" in shown.err
    assert "5 pairs; unpaired: 0 of A, 7 of B" in shown.out


def test_a_folder_that_is_no_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "not a run folder" in capsys.readouterr().err
