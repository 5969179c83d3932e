"""The table counts what it says, over the denominators that it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinktwice.cost import Cost
from thinktwice.envs import EpisodeId
from thinktwice.rollouts import AttemptRecord, EpisodeRecord, Run, open_run
from thinktwice.rollouts.records import Ending, Status
from thinktwice.rollouts.statistics import wilson
from thinktwice.rollouts.summary import summarise


def episode(task: int, index: int) -> EpisodeId:
    return EpisodeId(world="thinktwice/Fake-v0", task=f"fake/{task}", init_state=index, seed=index)


def record(task: int, index: int, status: Status, *, steps: int = 10, spl: float | None = None) -> EpisodeRecord:
    return EpisodeRecord(
        episode=episode(task, index),
        status=status,
        success_once=status == "success",
        steps=steps,
        decisions=steps // 5,
        deliberated=1,
        cost=Cost(candidates=2),
        metrics={} if spl is None else {"spl": spl},
    )


def attempt(task: int, index: int, seconds: float, ending: Ending = "finished", act: float = 0.1) -> AttemptRecord:
    return AttemptRecord(
        key=episode(task, index).key,
        attempt=1,
        ending=ending,
        worker=1,
        started="",
        seconds={"total": seconds},
        latency={"act": [act, 3 * act], "act.prefix": [act / 2]},
    )


@pytest.fixture
def mixed() -> Run:
    return Run(
        path=Path("run"),
        manifest={"config": {"world": "fake", "agent": "fake"}},
        planned=tuple(episode(task, index) for task in (0, 1) for index in range(4)),
        episodes=(
            record(0, 0, "success", steps=10, spl=1.0),
            record(0, 1, "success", steps=20, spl=0.5),
            record(0, 2, "failure", steps=40, spl=0.0),
            record(0, 3, "error", steps=5, spl=0.9),
            record(1, 0, "error", steps=0),
        ),
        attempts=(
            attempt(0, 0, 1.0, "died", act=9.0),
            attempt(0, 0, 2.0, act=0.1),
            attempt(0, 1, 4.0, act=0.2),
            attempt(1, 0, 8.0, "exception", act=0.3),
        ),
    )


def test_errors_are_neither_successes_nor_failures(mixed: Run) -> None:
    overall = summarise(mixed).overall
    assert (overall.planned, overall.played, overall.errors, overall.judged) == (8, 5, 2, 3)
    assert overall.successes == 2
    assert overall.rate == pytest.approx(2 / 3)
    assert overall.interval == wilson(2, 3)
    assert overall.metrics["spl"].mean == pytest.approx(0.5)
    assert overall.metrics["spl"].count == 3
    assert overall.steps_of_a_success == 15.0


def test_costs_and_steps_count_errors_too(mixed: Run) -> None:
    overall = summarise(mixed).overall
    assert overall.steps == 75
    assert overall.cost.candidates == 10
    assert overall.deliberated == 5


def test_wall_seconds_count_every_attempt_and_latency_the_recorded_ones(mixed: Run) -> None:
    summary = summarise(mixed)
    assert summary.overall.wall_seconds == 15.0
    assert summary.latency["act"].count == 6
    assert summary.latency["act"].p50 == pytest.approx(0.3)
    assert summary.latency["act.prefix"].p95 < 1.0
    assert summary.overall.cost.seconds["prefix"] == pytest.approx(0.05 + 0.1 + 0.15)


def test_tasks_are_apart_and_one_with_errors_only_has_no_rate(mixed: Run) -> None:
    first, second = summarise(mixed).tasks
    assert (first.task, first.judged, first.successes) == ("fake/0", 3, 2)
    assert (second.task, second.judged, second.rate, second.interval) == ("fake/1", 0, None, None)
    assert second.wall_seconds == 8.0


def test_an_unfinished_run_says_so(mixed: Run) -> None:
    assert not summarise(mixed).finished


def test_a_run_without_episodes_has_a_table() -> None:
    empty = Run(path=Path("run"), manifest={"config": {"world": "fake", "agent": "a"}}, planned=(episode(0, 0),),
                episodes=(), attempts=())  # fmt: skip
    summary = summarise(empty)
    assert (summary.overall.judged, summary.overall.rate, summary.latency) == (0, None, {})
    json.dumps(summary.to_json(), allow_nan=False)


def test_the_file_is_the_table_sorted_as_planned(reference: Path) -> None:
    written = json.loads((reference / "summary.json").read_text())
    assert written == json.loads(json.dumps(open_run(reference).summary().to_json()))
    assert [group["task"] for group in written["tasks"]] == ["fake/0", "fake/2"]
    assert sum(group["successes"] for group in written["tasks"]) == written["overall"]["successes"]
    assert "judged" in written["notes"]["rate"]
