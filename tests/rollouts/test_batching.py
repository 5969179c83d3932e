"""A policy that the workers share: the same records as without sharing, whatever happens to its process."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.fakes import FakePolicy, PolicyFault
from thinktwice.agents.policy import Look, Proposal
from thinktwice.agents.reflex import ReflexOptions
from thinktwice.envs.fakes import FakeEnv, FakeOptions
from thinktwice.errors import ConfigError, ContractError, ConventionError, UsageError, WorldError
from thinktwice.rollouts import RunConfig, machine, open_run, run
from thinktwice.rollouts.batching.answering import Holder
from thinktwice.rollouts.batching.line import Answer, Call
from thinktwice.rollouts.batching.sharing import ON_CPU, ON_GPU, default_workers, share
from thinktwice.rollouts.config import make_plan
from thinktwice.rollouts.engine import PoolOptions
from thinktwice.rollouts.pool import play_all

type Config = Callable[..., RunConfig]
type Lines = Callable[[Path], list[str]]

ATTC = {"policy": "fake:0.55", "gate": "dtw", "threshold": 8.0, "execute": 3, "candidates": 5}


def reflex(policy: str) -> dict[str, Any]:
    return {"agent": "reflex", "agent_options": {"policy": policy}}


def policy_processes() -> list[int]:
    """Policy processes that this process started."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"batching.process" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose one worker holds the policy itself."""
    out = tmp_path_factory.mktemp("alone") / "run"
    run(RunConfig(world="fake", out=out, tasks="0,2", episodes=4, workers=1, report=False, **reflex("fake:0.55")))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_sharing_the_policy_changes_no_record(
    workers: int, alone: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    run(config(tmp_path / "run", workers=workers, batching="on", **reflex("fake:0.55")))
    assert lines(tmp_path / "run") == lines(alone)
    assert "proposals in" in (tmp_path / "run" / "logs" / "policy-0.log").read_text()
    assert not policy_processes()
    stages = {stage for attempt in open_run(tmp_path / "run").attempts for stage in attempt.latency}
    assert {"act.sample", "act.queue"} <= stages


@pytest.mark.slow
def test_an_agent_that_deliberates_works_over_a_shared_policy(config: Config, lines: Lines, tmp_path: Path) -> None:
    for name, settings in {"alone": {}, "shared": {"workers": 2, "batching": "on"}}.items():
        run(config(tmp_path / name, agent="attc", agent_options=ATTC, tasks="0", **settings))
    assert lines(tmp_path / "shared") == lines(tmp_path / "alone")
    assert any(record.deliberated for record in open_run(tmp_path / "shared").episodes)


@pytest.mark.slow
def test_a_policy_process_that_dies_while_it_is_asked_costs_its_episode_one_try(
    alone: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    dies = reflex(f"fake:0.55?kill=5&once={tmp_path / 'died'}")
    summary = run(config(tmp_path / "run", workers=2, batching="on", **dies))
    assert summary.overall.errors == 0
    assert lines(tmp_path / "run") == lines(alone)
    attempts = open_run(tmp_path / "run").attempts
    lost = [attempt for attempt in attempts if attempt.ending == "died"]
    # Another worker may have asked at the same moment.
    assert 1 <= len(lost) <= 2
    assert Counter(attempt.ending for attempt in attempts)["finished"] == 8
    assert "the policy process died (signal 9, SIGKILL)" in str(lost[0].error)


@pytest.mark.slow
def test_a_policy_that_always_dies_makes_every_episode_an_error_and_no_failure(config: Config, tmp_path: Path) -> None:
    dies = reflex("fake:0.55?kill=1")
    summary = run(config(tmp_path / "run", tasks="0", episodes=2, batching="on", max_tries=2, **dies))
    assert (summary.overall.planned, summary.overall.played, summary.overall.errors) == (2, 2, 2)
    found = open_run(tmp_path / "run")
    error = "the policy process died (signal 9, SIGKILL), in each of 2 tries"
    assert [record.error for record in found.episodes] == [error, error]
    assert sorted((attempt.key, attempt.attempt) for attempt in found.attempts) == sorted(
        (record.key, number) for record in found.episodes for number in (1, 2)
    )


@pytest.mark.slow
def test_a_worker_that_simulates_does_not_notice_that_the_policy_process_was_killed(
    alone: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    """Nobody waits for an answer when it dies, so its successor answers the next question."""
    slow = FakeOptions(slow="0:0", delay=3.0)
    plan = make_plan(config(tmp_path, batching="on", workers=1, world_options=slow, **reflex("fake:0.55")))
    events = play_all(plan.episodes[:1], options_of(plan, tmp_path))
    next(events)
    played = threads_call(events, lambda: os.kill(policy_processes()[0], signal.SIGKILL), after=1.5)
    assert [event.attempt.ending for event in played] == ["finished"]
    assert played[0].record.to_line() in lines(alone)


def options_of(plan: Any, folder: Path, **settings: Any) -> PoolOptions:
    given: dict[str, Any] = {"threads": 1, "timeout": 60.0, "build_timeout": 60.0, "max_tries": 2}
    return PoolOptions(
        world=plan.world,
        agent=plan.config.agent,
        agent_options=plan.config.agent_options,
        folder=folder,
        workers=plan.config.workers,
        shared=plan.shared,
        **(given | settings),
    )


def threads_call(events: Iterator[Any], action: Callable[[], None], *, after: float) -> list[Any]:
    """Everything that happens while the action is done after some seconds."""
    timer = threading.Timer(after, action)
    timer.start()
    try:
        return list(events)
    finally:
        timer.join()


@pytest.mark.slow
def test_a_policy_process_that_hangs_ends_itself(alone: Path, config: Config, lines: Lines, tmp_path: Path) -> None:
    hangs = reflex(f"fake:0.55?hang=5&once={tmp_path / 'hung'}")
    summary = run(config(tmp_path / "run", batching="on", timeout=2.0, **hangs))
    assert summary.overall.errors == 0
    assert lines(tmp_path / "run") == lines(alone)
    assert "Timeout (0:00:02)" in (tmp_path / "run" / "logs" / "policy-0.log").read_text()


@pytest.mark.slow
def test_what_a_policy_raises_is_an_error_of_the_episode_that_asked(config: Config, tmp_path: Path) -> None:
    raises = reflex(f"fake:0.55?raise=1&once={tmp_path / 'raised'}")
    summary = run(config(tmp_path / "run", tasks="0", batching="on", **raises))
    assert (summary.overall.played, summary.overall.errors) == (4, 1)
    [broken] = [record for record in open_run(tmp_path / "run").episodes if record.status == "error"]
    assert broken.error == "RuntimeError: the fake policy was told to raise here"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "error", "message"), [("fake:foreign", ConventionError, "wheel"), ("fake:skilled", ConfigError, "SKILL")]
)
def test_a_policy_that_does_not_fit_stops_the_run(
    policy: str, error: type[Exception], message: str, config: Config, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        run(config(tmp_path / "run", batching="on", workers=2, **reflex(policy)))
    assert not (tmp_path / "run" / "run.yaml").exists()
    assert not policy_processes()


@pytest.mark.slow
def test_a_policy_process_that_never_comes_up_stops_the_run(config: Config, tmp_path: Path) -> None:
    """The fake world ends the process that makes it, and the policy's process makes it too."""
    ends = FakeOptions(build="exit")
    with pytest.raises(WorldError, match=r"exit status 3"):
        run(config(tmp_path / "run", batching="on", max_tries=2, world_options=ends, **reflex("fake")))
    assert not policy_processes()


@pytest.mark.long
def test_killing_workers_and_the_policy_process_at_random_moments_loses_nothing(
    config: Config, lines: Lines, tmp_path: Path
) -> None:
    settings = {"tasks": "all", "episodes": 15, **reflex("fake:0.55")}
    run(config(tmp_path / "alone", **settings))
    done, killed, draws = threading.Event(), [], random.Random(3)

    def kill_some() -> None:
        while len(killed) < 40 and not done.wait(draws.uniform(0.2, 0.9)):
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            if children:
                killed.append(int(draws.choice(children)))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        slow = FakeOptions(slow="all", delay=1.0)
        run(config(tmp_path / "run", workers=3, batching="on", max_tries=1000, world_options=slow, **settings))
    finally:
        done.set()
        killer.join()
    assert len(killed) == 40
    assert lines(tmp_path / "run") == lines(tmp_path / "alone")
    finished = Counter(attempt.key for attempt in open_run(tmp_path / "run").attempts if attempt.ending == "finished")
    assert set(finished.values()) == {1}
    assert len(finished) == 60


class Together(FakePolicy):
    """Proposes for several at once, unless one of them is asked for no candidate."""

    passes = 0

    def propose_many(self, looks: Sequence[Look]) -> list[Proposal]:
        self.passes += 1
        return [self.propose(look.observation, look.n, seed=look.seed) for look in looks]


def test_questions_are_answered_together_and_a_wrong_one_harms_no_other() -> None:
    observation, _ = FakeEnv().reset(seed=0)
    policy = Together(0.5, None)
    holder = Holder(policy=policy)
    calls = [Call(method="propose", arguments={"observation": observation, "n": n, "seed": n}) for n in (1, 2, 3)]
    answers = holder.answer(calls)
    assert (policy.passes, holder.proposals, holder.calls) == (1, 3, 1)
    assert [len(answer.value.chunks) for answer in answers] == [1, 2, 3]
    np.testing.assert_array_equal(answers[1].value.chunks, policy.propose(observation, 2, seed=2).chunks)
    wrong = Call(method="propose", arguments={"observation": observation, "n": 0, "seed": 0})
    first, second, third = holder.answer([calls[0], wrong, calls[2]])
    assert isinstance(second.error, ContractError)
    assert (first.error, third.error) == (None, None)
    assert holder.sound


def test_after_an_error_that_no_policy_raises_on_purpose_nobody_trusts_its_process() -> None:
    observation, _ = FakeEnv().reset(seed=0)
    holder = Holder(policy=FakePolicy(0.5, None, PolicyFault(kind="raise")))
    [answer] = holder.answer([Call(method="propose", arguments={"observation": observation, "n": 1, "seed": 0})])
    assert isinstance(answer, Answer)
    assert isinstance(answer.error, RuntimeError)
    assert not holder.sound


@pytest.mark.parametrize(
    ("batching", "policy", "workers", "gpus", "shared", "devices"),
    [
        ("auto", "bundled", 4, (), None, None),
        ("auto", "bundled", 1, ("0",), None, None),
        ("auto", "expert", 4, ("0",), None, None),
        ("auto", "bundled:?device=cpu", 4, ("0",), None, None),
        ("off", "bundled", 4, ("0",), None, None),
        ("auto", "bundled", 4, ("0",), f"bundled:?batch={ON_GPU}", ("0",)),
        ("auto", "bundled:ck?steps=3", 2, ("0", "1", "2"), f"bundled:ck?steps=3&batch={ON_GPU}", ("0", "1")),
        ("auto", "bundled:?batch=16", 4, ("0",), "bundled:?batch=16", ("0",)),
        ("auto", "bundled:?device=cuda:1", 4, ("0", "1"), f"bundled:?device=cuda:1&batch={ON_GPU}", (None,)),
        ("on", "bundled", 1, (), f"bundled:?batch={ON_CPU}", (None,)),
        ("on", "lerobot:act", 2, (), "lerobot:act", (None,)),
    ],
)
def test_when_the_policy_is_shared(
    batching: Any, policy: str, workers: int, gpus: tuple[str, ...], shared: str | None, devices: Any
) -> None:
    options, held = share(batching, "reflex", ReflexOptions(policy=policy), workers=workers, gpus=lambda: gpus)
    if shared is None:
        assert (options.policy, held) == (policy, None)
    else:
        assert held is not None
        assert options.policy == held.policy == shared
        assert held.devices == devices


def test_sharing_what_cannot_be_shared_is_refused(config: Config, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'hold' cannot be shared by workers\. .*bundled, lerobot"):
        make_plan(config(tmp_path, batching="on", **reflex("hold")))
    with pytest.raises(ConfigError, match="no --policy"):
        make_plan(config(tmp_path, batching="on"))


def test_the_number_of_workers_follows_from_the_machine(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 6)
    monkeypatch.setattr(machine, "free_memory", lambda: 10.1e9)
    assert [default_workers(episodes) for episodes in (100, 3)] == [4, 3]
    monkeypatch.setattr(machine, "free_memory", lambda: 1e9)
    assert default_workers(100) == 1
    monkeypatch.setattr(machine, "free_memory", lambda: None)
    assert default_workers(100) == 6
    assert make_plan(config(tmp_path, workers=0)).config.workers == 6
    with pytest.raises(UsageError, match="workers must be at least 0"):
        make_plan(config(tmp_path, workers=-1))


@pytest.mark.parametrize(("visible", "found"), [("", ()), ("-1", ()), ("0", ("0",)), ("2, GPU-8a", ("2", "GPU-8a"))])
def test_gpus_are_those_that_cuda_may_see(
    visible: str, found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert machine.gpus() == found
