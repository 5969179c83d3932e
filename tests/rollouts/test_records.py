"""Records and traces come back as they were written, and refuse what is not theirs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Decision
from thinktwice.cost import Cost
from thinktwice.envs import EpisodeId
from thinktwice.errors import ContractError, RecordError
from thinktwice.rollouts import AttemptRecord, EpisodeRecord, Step, open_run
from thinktwice.rollouts.playing import Recording
from thinktwice.rollouts.traces import read_trace, trace_files, write_trace

EPISODE = EpisodeId(world="thinktwice/Fake-v0", task="fake/0", init_state=3, seed=2**62 + 1)


def step(
    decision: Decision, *, index: int = 0, success: tuple[bool, ...] = (False,), metrics: Any = None, **seen: Any
) -> Step:
    observation = {"state": np.array([index, 0], np.float32)} | seen
    infos: tuple[dict[str, Any], ...] = tuple({"is_success": solved} for solved in success)
    if metrics is not None:
        infos[-1]["metrics"] = metrics
    return Step(
        index=index,
        observation=observation,
        decision=decision,
        executed=decision.chunk[: len(success)],
        rewards=np.array(success, np.float32),
        terminated=success[-1],
        truncated=not success[-1],
        success=success[-1],
        infos=infos,
        next_observation={"state": np.array([index + 1, 0], np.float32)} | seen,
        seconds={"act": 0.25, "world": 0.5},
    )


def recorded(*steps: Step) -> Recording:
    recording = Recording(episode=EPISODE)
    for one in steps:
        recording.add(one)
    return recording


def test_an_episode_record_comes_back_from_its_line() -> None:
    record = EpisodeRecord(
        episode=EPISODE,
        status="error",
        success_once=True,
        steps=7,
        decisions=2,
        deliberated=1,
        episode_return=0.1 + 0.2,
        truncated=True,
        cost=Cost(llm_calls=3, prompt_tokens=10**7),
        metrics={"spl": 1 / 3},
        trajectory="ab" * 32,
        error='a "quoted"\nline, µ',
    )
    line = record.to_line()
    assert "\n" not in line
    assert EpisodeRecord.from_line(line) == record
    assert EpisodeRecord.from_line(line).to_line() == line


def test_a_record_leaves_the_seconds_of_its_cost_out() -> None:
    costs = [Cost(candidates=2, seconds={"prefix": seconds}) for seconds in (0.1, 0.2)]
    lines = {EpisodeRecord(episode=EPISODE, status="success", cost=cost).to_line() for cost in costs}
    assert len(lines) == 1


def test_an_attempt_comes_back_from_its_line() -> None:
    attempt = AttemptRecord(
        key=EPISODE.key,
        attempt=2,
        ending="timeout",
        worker=7,
        started="2030-01-01T00:00:00+00:00",
        seconds={"total": 1.5},
        latency={"act": [0.1, 0.2], "act.prefix": [0.05]},
        error="Traceback …\n  at µ",
    )
    assert AttemptRecord.from_line(attempt.to_line()) == attempt


def test_the_folder_reads_as_documented(reference: Path) -> None:
    run = open_run(reference)
    assert run.config["world"] == "fake"
    assert run.config["agent_options"]["skill"] == 0.55
    assert run.world == {"world": "fake", "fake": True, "cap": 40, "stay": False}
    assert run.agent["policy"] == {"policy": "fake", "skill": 0.55}
    assert run.manifest["thinktwice"]
    assert run.manifest["versions"]["numpy"] == np.__version__
    assert run.manifest["conventions"]["control_hz"] == 20.0
    assert run.manifest["command"]
    assert {attempt.key for attempt in run.attempts} == {record.key for record in run.episodes}
    assert (reference / "summary.json").exists()


def test_every_trace_agrees_with_its_record(reference: Path) -> None:
    run = open_run(reference)
    for record in run.episodes:
        trace = run.trace(record.key)
        assert trace.episode == record.episode
        assert trace.digest() == record.trajectory
        assert len(trace.actions) == len(trace.rewards) == len(trace.success) == record.steps
        assert sum(decision.executed for decision in trace.decisions) == record.steps
        assert trace.states is not None
        assert trace.states.shape == (record.decisions + 1, 4)
        assert trace.instruction == f"go to goal {record.episode.task[-1]}"
        assert bool(trace.success[-1]) == record.success_at_end
        executed = np.concatenate([decision.chunk[: decision.executed] for decision in trace.decisions])
        assert np.array_equal(executed, trace.actions)
        deliberate = [decision for decision in trace.decisions if decision.mode == "deliberate"]
        assert len(deliberate) == record.deliberated
        for decision in deliberate:
            assert decision.candidates.shape == (3, 4, 2)
            assert np.array_equal(decision.candidates[decision.chosen], decision.chunk)
            assert decision.preferences is not None
            assert decision.preferences.shape == (3, 3)
            assert decision.notes["away"].argmin() == decision.chosen
            assert len(decision.notes["asked"]["goal"]) == 2


def test_a_full_decision_survives_the_files(tmp_path: Path) -> None:
    decision = Decision(
        chunk=np.arange(6, dtype=np.float32).reshape(3, 2),
        mode="deliberate",
        why="because",
        doubt=0.5,
        candidates=[np.zeros((3, 2), np.float32), np.ones((3, 2), np.float32)],
        chosen=1,
        preferences=np.eye(2, dtype=np.float32),
        cost=Cost(comparisons=2, seconds={"critic": 0.125}),
        notes={"map": np.ones((4, 4), np.uint8), "asked": ["where?", {"room": 3}], "score": np.float32(0.5)},
    )
    trace = recorded(step(decision, success=(False, True), task="put it there", text="ok")).trace()
    assert trace is not None
    write_trace(tmp_path, trace)
    back = read_trace(tmp_path, EPISODE.key)
    assert back.digest() == trace.digest()
    assert (back.instruction, back.final_text) == ("put it there", "ok")
    [found] = back.decisions
    assert (found.mode, found.why, found.doubt, found.chosen, found.executed) == ("deliberate", "because", 0.5, 1, 2)
    assert found.chunk.dtype == np.float32
    assert np.array_equal(found.chunk, decision.chunk)
    assert np.array_equal(found.candidates, np.stack([np.zeros((3, 2)), np.ones((3, 2))]))
    assert found.preferences is not None
    assert np.array_equal(found.preferences, np.eye(2))
    assert found.cost == decision.cost
    assert found.text == "ok"
    assert found.notes["asked"] == ["where?", {"room": 3}]
    assert found.notes["score"] == 0.5
    assert np.array_equal(found.notes["map"], np.ones((4, 4)))
    assert found.seconds == {"act": 0.25, "world": 0.5}


@pytest.mark.parametrize("chunk", [["go to desk 1", "take pen"], [3, 1]])
def test_text_and_discrete_actions_are_kept_without_pickle(chunk: list[Any], tmp_path: Path) -> None:
    decision = Decision(chunk=chunk, candidates=[chunk, chunk[:1]], chosen=0)
    trace = recorded(step(decision, success=(False, True))).trace()
    assert trace is not None
    write_trace(tmp_path, trace)
    back = read_trace(tmp_path, EPISODE.key)
    assert back.actions.tolist() == chunk
    assert back.decisions[0].chunk == chunk
    assert back.decisions[0].candidates == [chunk, chunk[:1]]
    assert back.digest() == trace.digest()


def test_the_digest_sees_every_action_reward_and_state() -> None:
    base = recorded(step(Decision(chunk=np.zeros((2, 2), np.float32)), success=(False, True))).trace()
    assert base is not None
    changed = [
        dataclasses.replace(base, actions=base.actions + np.float32(1e-7)),
        dataclasses.replace(base, rewards=base.rewards[::-1].copy()),
        dataclasses.replace(base, states=None),
        dataclasses.replace(base, actions=base.actions.reshape(4, 1)),
    ]
    assert len({trace.digest() for trace in [base, *changed]}) == 5


@pytest.mark.parametrize(
    "decision",
    [
        Decision(chunk=[1], notes={"model": object()}),
        Decision(chunk=[1], doubt=float("nan")),
        Decision(chunk=[1], notes={"score": float("inf")}),
    ],
)
def test_what_json_cannot_hold_is_a_broken_contract(decision: Decision, tmp_path: Path) -> None:
    trace = recorded(step(decision)).trace()
    assert trace is not None
    with pytest.raises(ContractError, match="cannot be recorded"):
        write_trace(tmp_path, trace)
    assert not list(tmp_path.iterdir())


def test_a_metric_that_is_not_finite_is_a_broken_contract() -> None:
    with pytest.raises(ContractError, match="spl"):
        recorded(step(Decision(chunk=[1]), metrics={"spl": float("nan")})).record()


def test_a_world_that_is_silent_about_success_breaks_its_contract_and_leaves_the_recording_whole() -> None:
    recording = recorded(step(Decision(chunk=[1])))
    silent = dataclasses.replace(step(Decision(chunk=[1, 2]), index=1, success=(False, False)), infos=({}, {}))
    with pytest.raises(ContractError, match="is_success"):
        recording.add(silent)
    assert recording.record(error="broke").steps == 1


def test_metrics_are_those_of_the_last_step() -> None:
    first = step(Decision(chunk=[1]), metrics={"spl": 0.5, "old": 1.0})
    last = step(Decision(chunk=[1]), index=1, metrics={"spl": np.float32(0.25)})
    assert recorded(first, last).record().metrics == {"spl": 0.25}


def test_reaching_the_goal_once_is_no_success_at_the_end() -> None:
    record = recorded(step(Decision(chunk=[1, 2, 3]), success=(False, True, False))).record()
    assert (record.status, record.success_once, record.success_at_end) == ("failure", True, False)
    assert (record.terminated, record.truncated) == (False, True)


def test_an_error_keeps_what_was_played_before_it() -> None:
    record = recorded(step(Decision(chunk=[1, 2], cost=Cost(llm_calls=4)), success=(False, False))).record(
        error="broke"
    )
    assert (record.status, record.steps, record.cost.llm_calls, record.error) == ("error", 2, 4, "broke")
    nothing = recorded().record(error="broke at once")
    assert (nothing.status, nothing.steps, nothing.trajectory) == ("error", 0, "")


@pytest.mark.parametrize("damage", ["truncate", "garbage", "missing", "other"])
def test_a_damaged_trace_is_an_error(damage: str, tmp_path: Path) -> None:
    trace = recorded(step(Decision(chunk=np.zeros((1, 2), np.float32)))).trace()
    assert trace is not None
    write_trace(tmp_path, trace)
    npz, text = trace_files(tmp_path, EPISODE.key)
    if damage == "truncate":
        npz.write_bytes(npz.read_bytes()[:100])
    elif damage == "garbage":
        text.write_text("{")
    elif damage == "missing":
        npz.unlink()
    else:
        text.write_text(json.dumps({"episode": 3}))
    with pytest.raises(RecordError, match="no trace" if damage == "missing" else "damaged"):
        read_trace(tmp_path, EPISODE.key)


def test_a_trace_never_runs_code(tmp_path: Path) -> None:
    """An array that needs pickle is refused, whoever made the file."""
    trace = recorded(step(Decision(chunk=np.zeros((1, 2), np.float32)))).trace()
    assert trace is not None
    write_trace(tmp_path, trace)
    npz, _ = trace_files(tmp_path, EPISODE.key)
    np.savez(npz, actions=np.array([print], object), rewards=trace.rewards, success=trace.success)
    with pytest.raises(RecordError, match="damaged"):
        read_trace(tmp_path, EPISODE.key)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        open_run(tmp_path)
    with pytest.raises(RecordError, match="not a run folder"):
        open_run(tmp_path / "nothing")


def test_a_run_without_a_trace_says_so(reference: Path) -> None:
    with pytest.raises(RecordError, match="there is no trace 'x'"):
        open_run(reference).trace("x")
