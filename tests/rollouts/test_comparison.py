"""Two runs are paired by identity, judged by known arithmetic, and refused when they do not belong together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from thinktwice.envs import EpisodeId
from thinktwice.errors import RecordError
from thinktwice.rollouts import EpisodeRecord, Run, compare
from thinktwice.rollouts.records import Status
from thinktwice.rollouts.statistics import newcombe_paired

S, F, E = "success", "failure", "error"


def episode(task: int, index: int, seed: int = 0) -> EpisodeId:
    return EpisodeId(world="thinktwice/Fake-v0", task=f"fake/{task}", init_state=index, seed=1000 * seed + index)


def made(
    statuses: Sequence[Sequence[Status]],
    *,
    name: str = "run",
    seed: int = 0,
    metric: Callable[[int, int], float | None] = lambda task, index: None,
    **world: Any,
) -> Run:
    """A run whose task t has the statuses ``statuses[t]``."""
    records = [
        EpisodeRecord(
            episode=episode(task, index, seed),
            status=status,
            metrics={} if (value := metric(task, index)) is None else {"spl": value},
        )
        for task, row in enumerate(statuses)
        for index, status in enumerate(row)
    ]
    manifest = {
        "config": {
            "world": "fake",
            "agent": "fake",
            "seed": seed,
            "tasks": [f"fake/{t}" for t in range(len(statuses))],
        },
        "world": {"world": "fake", "cap": 40, **world},
        "agent": {"agent": "fake", "skill": 0.5},
        "thinktwice": "0.1.0",
        "versions": {"torch": "2.9"},
        "conventions": {"control_hz": 20.0, "cameras": [{"name": "front", "rendering": "fast"}]},
    }
    planned = tuple(record.episode for record in records)
    return Run(path=Path(name), manifest=manifest, planned=planned, episodes=tuple(records), attempts=())


def test_the_four_cells_and_what_follows_from_them() -> None:
    a = made([[S, S, F, F, F], [S, F, F, F, F]])
    b = made([[S, F, S, S, F], [S, S, S, F, F]])
    found = compare(a, b)
    assert (found.both, found.only_a, found.only_b, found.neither) == (2, 1, 4, 3)
    assert (found.pairs, found.unpaired_a, found.unpaired_b, found.errors) == (10, 0, 0, 0)
    assert (found.rate_a, found.rate_b) == (0.3, 0.6)
    assert found.difference == pytest.approx(0.3)
    # 1 against 4: twice P(X ≤ 1) of Binomial(5, ½) = 2 · 6/32.
    assert found.p_value == pytest.approx(0.375)
    assert found.reduction.value == pytest.approx(1 - 4 / 7)
    assert found.interval == newcombe_paired(both=2, only_first=4, only_second=1, neither=3)
    assert found.interval.low < 0.3 < found.interval.high
    assert found.clusters == "tasks"


def test_exchanging_the_runs_turns_the_difference_round() -> None:
    a, b = made([[S, F, F, F], [F, F, S, S]]), made([[S, S, F, S], [F, S, S, S]])
    one, other = compare(a, b), compare(b, a)
    assert one.difference == -other.difference
    assert one.p_value == other.p_value
    assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))


def test_the_bootstrap_resamples_tasks() -> None:
    """Task 0 goes from 4 failures to 0, task 1 stays at 4: resampled tasks give 1, ½ or 0 and nothing between."""
    found = compare(made([[F, F, F, F], [F, F, F, F]]), made([[S, S, S, S], [F, F, F, F]]))
    assert found.reduction.value == pytest.approx(0.5)
    assert found.reduction.interval is not None
    assert (found.reduction.interval.low, found.reduction.interval.high) == (0.0, 1.0)


def test_a_single_task_resamples_its_episodes_and_says_so() -> None:
    a, b = made([[F] * 20]), made([[S] * 10 + [F] * 10])
    found = compare(a, b)
    assert found.clusters == "episodes"
    assert "over episodes" in found.methods()["reduction"]
    assert found.reduction.interval is not None
    # Half of 20 saved, resampled: a binomial share, 0.5 ± 1.96 · 0.1118.
    assert found.reduction.interval.low == pytest.approx(0.28, abs=0.06)
    assert found.reduction.interval.high == pytest.approx(0.72, abs=0.06)


def test_the_bootstraps_are_seeded() -> None:
    a, b = made([[F] * 20]), made([[S] * 10 + [F] * 10])
    assert compare(a, b, seed=3) == compare(a, b, seed=3)


def test_no_failure_of_a_leaves_the_reduction_undefined() -> None:
    found = compare(made([[S, S], [S, S]]), made([[S, F], [S, S]]))
    assert found.reduction.value is None
    assert found.reduction.interval is None
    assert found.p_value == 1.0


def test_resamples_without_failures_are_left_out_and_counted() -> None:
    found = compare(made([[S, S], [F, F]]), made([[S, S], [F, S]]))
    assert found.reduction.value == pytest.approx(0.5)
    assert found.reduction.undefined == pytest.approx(0.25, abs=0.02)


def test_errors_of_either_run_are_left_out_and_counted() -> None:
    found = compare(made([[S, E, F, S]]), made([[E, E, S, S]]))
    assert (found.pairs, found.errors) == (2, 2)
    assert (found.both, found.only_b) == (1, 1)


def test_only_errors_in_common_is_an_error() -> None:
    with pytest.raises(RecordError, match="each of the 2 episodes"):
        compare(made([[E, S]]), made([[S, E]]))


def test_episodes_of_one_run_only_are_counted() -> None:
    found = compare(made([[S, S, S], [S, S, S]]), made([[S, F]]))
    assert (found.pairs, found.unpaired_a, found.unpaired_b) == (2, 4, 0)


def test_other_seeds_have_nothing_to_pair() -> None:
    with pytest.raises(RecordError, match=r"no episode in common.*seed 0.*seed 1"):
        compare(made([[S, S]]), made([[S, S]], seed=1))


@pytest.mark.parametrize(
    ("world", "path"),
    [
        ({"cap": 41}, "world.cap"),
        ({"rendering": "faithful"}, "world.rendering"),
        ({"protocol": {"settle": 0}}, "world.protocol"),
    ],
)
def test_other_worlds_are_refused_unless_that_is_meant(world: dict[str, Any], path: str) -> None:
    a, b = made([[S, F]]), made([[S, S]], **world)
    with pytest.raises(RecordError, match=f"not comparable.*\n.*{path}: .*\n.*--accept {path}"):
        compare(a, b)
    found = compare(a, b, accept=[path])
    assert found.accepted[0].startswith(f"{path}: ")
    with pytest.raises(RecordError, match="not comparable"):
        compare(a, b, accept=[path[:-1]])


def test_another_camera_is_refused() -> None:
    a, b = made([[S, F]]), made([[S, S]])
    cameras = {"control_hz": 20.0, "cameras": [{"name": "front", "rendering": "faithful"}]}
    other = dataclasses.replace(b, manifest={**b.manifest, "conventions": cameras})
    with pytest.raises(RecordError, match=r"cameras\.front\.rendering: 'fast', 'faithful'"):
        compare(a, other)


def test_the_simulator_that_the_world_names_counts_and_other_packages_are_noted() -> None:
    a, b = made([[S, F]], versions={"mujoco": "3.17.0"}), made([[S, S]], versions={"mujoco": "3.12.0"})
    with pytest.raises(RecordError, match=r"world\.versions\.mujoco: '3\.17\.0', '3\.12\.0'"):
        compare(a, b)
    other = dataclasses.replace(a, manifest={**a.manifest, "versions": {"torch": "2.8"}})
    assert compare(a, other).notes == ("versions.torch: '2.9', '2.8'",)
    assert compare(a, a).notes == ()


def test_what_differs_between_the_agents_is_said_and_refuses_nothing() -> None:
    a = made([[S, F]])
    b = dataclasses.replace(a, manifest={**a.manifest, "agent": {"agent": "fake", "skill": 0.9}})
    assert compare(a, b).agents == ("agent.skill: 0.5, 0.9",)
    assert compare(a, a).agents == ()


def test_metrics_are_compared_in_pairs() -> None:
    a = made([[S, S], [F, F]], metric=lambda task, index: 0.1 * index + task)
    b = made([[S, S], [F, F]], metric=lambda task, index: 0.1 * index + task + (0.5 if task else 0.25))
    spl = compare(a, b).metrics["spl"]
    assert (spl.mean_a, spl.mean_b) == pytest.approx((0.55, 0.925))
    assert spl.difference == pytest.approx(0.375)
    assert spl.count == 4
    assert spl.interval is not None
    # Whole tasks are resampled: the mean change is 0.25, 0.375 or 0.5.
    assert (spl.interval.low, spl.interval.high) == pytest.approx((0.25, 0.5))


def test_a_metric_that_a_pair_lacks_leaves_that_pair_out() -> None:
    a = made([[S, S], [F, F]], metric=lambda task, index: 1.0)
    b = made([[S, S], [F, F]], metric=lambda task, index: 2.0 if (task, index) == (0, 1) else None)
    spl = compare(a, b).metrics["spl"]
    assert (spl.count, spl.difference, spl.interval) == (1, 1.0, None)
    assert compare(a, made([[S, S], [F, F]])).metrics == {}
