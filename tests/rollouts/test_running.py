"""Episodes are played once, alike in any process and order, and an accident is never a failure."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinktwice.envs.fakes import FakeOptions, FakeWorld
from thinktwice.errors import (
    ConfigError,
    ContractError,
    ConventionError,
    IdentityError,
    MissingDependency,
    UsageError,
    WeightsError,
    WorldError,
)
from thinktwice.rollouts import RunConfig, messages, open_run, run
from thinktwice.rollouts.config import Plan, make_plan
from thinktwice.rollouts.pool import Ended, PoolOptions, play_all

type Config = Callable[..., RunConfig]
type Lines = Callable[[Path], list[str]]


def pool_options(plan: Plan, folder: Path, **settings: Any) -> PoolOptions:
    given: dict[str, Any] = {"workers": 1, "threads": 1, "timeout": 60.0, "build_timeout": 60.0, "max_tries": 2}
    return PoolOptions(
        world=plan.world,
        agent=plan.config.agent,
        agent_options=plan.config.agent_options,
        folder=folder,
        **(given | settings),
    )


def children() -> set[int]:
    """The processes that this one started and that were not waited for."""
    return {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}


def test_a_run_records_every_planned_episode(reference: Path) -> None:
    found = open_run(reference)
    assert found.finished
    assert [record.episode for record in found.episodes] == list(found.planned)
    statuses = Counter(record.status for record in found.episodes)
    assert statuses["success"] > 0
    assert statuses["failure"] > 0
    assert statuses["error"] == 0
    for record in found.episodes:
        assert record.terminated == (record.status == "success")
        assert record.truncated == (record.status == "failure")
        assert record.cost.prefix_passes == record.decisions
        assert record.cost.candidates == record.decisions + 2 * record.deliberated
        assert set(record.metrics) == {"distance", "spl"}


def test_records_hold_no_wall_clock(reference: Path) -> None:
    text = (reference / "episodes.jsonl").read_text()
    assert "seconds" not in text
    assert "started" not in text


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(
    workers: int, reference: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    run(config(tmp_path / "run", workers=workers))
    assert lines(tmp_path / "run") == lines(reference)
    used = {attempt.worker for attempt in open_run(tmp_path / "run").attempts}
    assert 1 <= len(used) <= workers  # on a busy machine one may be done before the last has started


@pytest.mark.slow
def test_the_order_changes_nothing(reference: Path, config: Config, lines: Lines, tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path))
    shuffled = list(plan.episodes)
    random.Random(5).shuffle(shuffled)
    assert shuffled != list(plan.episodes)
    options = pool_options(plan, tmp_path)
    events = [event for event in play_all(shuffled, options) if isinstance(event, Ended)]
    played = [event.record for event in events if event.record is not None]
    assert [record.episode for record in played] == shuffled
    assert sorted(record.to_line() for record in played) == lines(reference)


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_episode_tried_again(
    reference: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    faults = FakeOptions(kill="0:1,2:0", once=tmp_path)
    summary = run(config(tmp_path / "run", workers=2, world_options=faults))
    assert summary.overall.errors == 0
    assert lines(tmp_path / "run") == lines(reference)
    endings = Counter(attempt.ending for attempt in open_run(tmp_path / "run").attempts)
    assert endings == {"finished": 8, "died": 2}


@pytest.mark.slow
def test_a_worker_that_always_dies_makes_an_error_and_no_failure(config: Config, tmp_path: Path) -> None:
    summary = run(config(tmp_path / "run", tasks="0", world_options=FakeOptions(kill="0:1"), max_tries=2))
    assert (summary.overall.planned, summary.overall.played, summary.overall.errors) == (4, 4, 1)
    assert summary.overall.judged == 3
    found = open_run(tmp_path / "run")
    [broken] = [record for record in found.episodes if record.status == "error"]
    assert broken.episode.init_state == 1
    assert broken.error == "the worker process died (signal 9, SIGKILL), in each of 2 tries"
    tries = [attempt for attempt in found.attempts if attempt.key == broken.key]
    assert [(attempt.attempt, attempt.ending) for attempt in tries] == [(1, "died"), (2, "died")]


@pytest.mark.slow
def test_a_hanging_world_is_killed_after_the_timeout(config: Config, tmp_path: Path) -> None:
    hangs = FakeOptions(hang="0:1")
    summary = run(config(tmp_path / "run", tasks="0", world_options=hangs, timeout=0.7, max_tries=1))
    assert summary.overall.errors == 1
    found = open_run(tmp_path / "run")
    [broken] = [record for record in found.episodes if record.status == "error"]
    assert "nothing came back within 0.7 s" in str(broken.error)
    [attempt] = [attempt for attempt in found.attempts if attempt.key == broken.key]
    assert attempt.ending == "timeout"
    assert not Path(f"/proc/{attempt.worker}").exists()


@pytest.mark.slow
def test_an_exception_is_an_error_with_its_traceback_and_what_was_played(config: Config, tmp_path: Path) -> None:
    summary = run(config(tmp_path / "run", tasks="0", world_options=FakeOptions(crash="0:2")))
    assert summary.overall.errors == 1
    found = open_run(tmp_path / "run")
    [broken] = [record for record in found.episodes if record.status == "error"]
    assert broken.error == "WorldError: the fake world was told to raise here"
    [attempt] = [attempt for attempt in found.attempts if attempt.key == broken.key]
    assert attempt.ending == "exception"
    assert "Traceback" in str(attempt.error)
    others = {attempt.worker for attempt in found.attempts if attempt.ending == "finished"}
    assert len(others) == 2, "after an exception the next episode gets a new process"


def test_a_world_that_cannot_be_solved_is_a_failure(config: Config, tmp_path: Path) -> None:
    summary = run(config(tmp_path / "run", tasks="0", world_options=FakeOptions(fail="all")))
    assert (summary.overall.judged, summary.overall.successes, summary.overall.errors) == (4, 0, 0)


def test_success_once_and_success_at_the_end_are_apart(config: Config, tmp_path: Path) -> None:
    run(config(tmp_path / "run", tasks="0", episodes=6, world_options=FakeOptions(stay=True)))
    records = open_run(tmp_path / "run").episodes
    assert all(record.truncated and record.steps == 40 for record in records)
    assert all((record.status == "success") == record.success_at_end for record in records)
    assert any(record.success_once and not record.success_at_end for record in records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        ("refuse", ConventionError, "told to refuse"),
        ("raise", WorldError, "told to fail while it is made"),
        ("exit", WorldError, "exit status 3"),
    ],
)
def test_a_world_that_cannot_be_built_stops_the_run_before_any_record(
    build: str, error: type[Exception], message: str, config: Config, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        run(config(tmp_path / "run", world_options={"build": build}, max_tries=2))
    assert not (tmp_path / "run" / "run.yaml").exists()
    run(config(tmp_path / "run", tasks="0", episodes=1))


def test_an_interpreter_that_cannot_start_stops_the_run(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(WorldError, match="exit status 1"):
        run(config(tmp_path / "run"))


def test_a_world_that_does_not_pickle_breaks_its_contract(config: Config, tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path))
    local = type("LocalWorld", (FakeWorld,), {})
    world = local(name="fake", options=FakeOptions())
    with pytest.raises(ContractError, match="must pickle"):
        next(play_all(plan.episodes, dataclasses.replace(pool_options(plan, tmp_path), world=world)))
    assert not list(tmp_path.iterdir())


def test_a_build_that_hangs_stops_the_run(config: Config, tmp_path: Path) -> None:
    with pytest.raises(WorldError, match=r"within 0\.5 s"):
        run(config(tmp_path / "run", world_options={"build": "hang"}, max_tries=1, build_timeout=0.5))


def test_foreign_conventions_stop_the_run(config: Config, tmp_path: Path) -> None:
    with pytest.raises(ConventionError, match="wheel"):
        run(config(tmp_path / "run", agent="reflex", agent_options={"policy": "fake:foreign"}))


def acts(policy: str) -> dict[str, object]:
    return {"agent": "reflex", "agent_options": {"policy": policy}}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"world": "fakes"}, UsageError, "Did you mean 'fake'"),
        ({"agent": "reflexx"}, UsageError, "Did you mean 'reflex'"),
        ({"tasks": "0,9"}, UsageError, "tasks 0 to 3"),
        ({"tasks": "3-1"}, UsageError, "no task 3-1"),
        ({"tasks": "fake/11"}, UsageError, "Did you mean 'fake/1'"),
        ({"tasks": "0,fake/0"}, UsageError, "named twice"),
        ({"tasks": ""}, UsageError, "no task ''"),
        ({"episodes": 51}, IdentityError, "has 50"),
        ({"episodes": 0}, ConfigError, "episodes must be at least 1"),
        ({"workers": -1}, ConfigError, "workers must be at least 0"),
        ({"timeout": 0.0}, ConfigError, "timeout must be more than 0"),
        ({"seed": -1}, ConfigError, "seed must not be negative"),
        ({"world_options": {"capp": 3}}, ConfigError, "Did you mean 'cap'"),
        ({"world_options": {"cap": "3"}}, ConfigError, "valid integer"),
        ({"agent_options": FakeOptions()}, ConfigError, "FakeAgentOptions"),
        (acts("fake:two"), ConfigError, "fake:two is no fake policy. Use fake, fake:SKILL"),
        (acts("fake:1.5"), ConfigError, "from 0 to 1, got 1.5"),
        (acts("fake:1?kil=3"), ConfigError, "Did you mean 'kill'"),
        (acts("bundled:/no/such"), WeightsError, "no policy checkpoint in /no/such"),
        (acts("bundled:?steps=few"), ConfigError, "steps must be a whole number of Euler steps"),
        (acts("lerobot:/no/such"), WeightsError, "no folder /no/such"),
        (acts("lerobot:/"), WeightsError, "/ is no LeRobot checkpoint: it lacks config.json"),
        (acts("lerobot:some/policy?features=many"), ConfigError, "features: Input should be a valid integer"),
    ],
)
def test_bad_input_is_refused_before_a_folder_is_made(
    settings: dict[str, object], error: type[Exception], message: str, config: Config, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        run(config(tmp_path / "run", **settings))
    assert not (tmp_path / "run").exists()


def test_tasks_are_places_ranges_and_names(config: Config, tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path, tasks="3, 0-1,fake/2", episodes=1))
    assert [episode.task for episode in plan.episodes] == ["fake/3", "fake/0", "fake/1", "fake/2"]
    assert len(make_plan(config(tmp_path, tasks="all", episodes=2)).episodes) == 8


def test_other_seeds_give_other_episodes_of_the_same_init_states(config: Config, tmp_path: Path) -> None:
    first, second = (make_plan(config(tmp_path, seed=seed)).episodes for seed in (0, 1))
    assert [e.init_state for e in first] == [e.init_state for e in second]
    assert not {e.seed for e in first} & {e.seed for e in second}


@pytest.mark.slow
def test_a_hundred_short_episodes_keep_the_queue_full(config: Config, lines: Lines, tmp_path: Path) -> None:
    settings = {"tasks": "all", "episodes": 25, "workers": 3, "world_options": {"cap": 1}}
    summary = run(config(tmp_path / "run", **settings))
    assert summary.overall.played == 100
    assert len({json.loads(line)["key"] for line in lines(tmp_path / "run")}) == 100


@pytest.mark.slow
def test_workers_leave_with_a_driver_that_stops_listening(config: Config, tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path, world_options={"slow": "all", "delay": 30.0}))
    options = pool_options(plan, tmp_path, workers=2)
    before = children()
    events = play_all(plan.episodes, options)
    next(events)
    started = children() - before
    assert len(started) == 2
    events.close()
    assert not children() & started


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_waits_is_replaced(config: Config, tmp_path: Path) -> None:
    plan = make_plan(config(tmp_path, tasks="0", episodes=2))
    before = children()
    events = play_all(plan.episodes, pool_options(plan, tmp_path))
    next(events)
    [process] = children() - before
    os.kill(process, signal.SIGKILL)
    ended = [event for event in events if isinstance(event, Ended)]
    assert [event.attempt.ending for event in ended] == ["died", "finished", "finished"]
    assert [event.record is None for event in ended] == [True, False, False]


@pytest.mark.slow
def test_workers_get_the_threads_of_the_run_whatever_their_number(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    plan = make_plan(config(tmp_path, tasks="0", episodes=2))
    before = children()
    events = play_all(plan.episodes, pool_options(plan, tmp_path, workers=2, threads=3))
    next(events)
    for process in children() - before:
        environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        assert {b"OMP_NUM_THREADS=3", b"MKL_NUM_THREADS=3", b"PYTHONHASHSEED=0"} <= set(environment)
    events.close()


def test_errors_of_the_call_survive_the_way_from_the_worker() -> None:
    missing = MissingDependency("textworld", purpose="ALFWorld", install="pip install x")
    for error in (missing, ConventionError("a"), WeightsError("b"), ContractError("c")):
        sent = messages.portable(error)
        assert type(sent) is type(error)
        assert str(pickle.loads(pickle.dumps(sent))) == str(error)
    assert messages.portable(WorldError("the bridge is down")) is None
    assert messages.portable(RuntimeError("anything")) is None


@pytest.mark.slow
def test_nothing_is_left_running(config: Config, tmp_path: Path) -> None:
    before = children()
    run(config(tmp_path / "run", workers=2))
    assert children() <= before
