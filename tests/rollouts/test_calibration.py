from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.attc import load_clutch
from thinktwice.errors import ConfigError, WeightsError
from thinktwice.rollouts import Run, RunConfig, open_run, run
from thinktwice.rollouts.calibration import EpisodeDoubts, Target, calibrate, threshold_for, write_clutch
from thinktwice.scripts import calibrate as command
from thinktwice.scripts.cli import run as call

POLICY = "fake:0.6"


def record(out: Path, *, tasks: str = "0,2", episodes: int = 5, **options: Any) -> Run:
    given: dict[str, Any] = {"policy": POLICY, "execute": 2, "gate": "dtw", "observe": True}
    run(
        RunConfig(
            world="fake",
            tasks=tasks,
            episodes=episodes,
            agent="attc",
            agent_options=given | options,
            out=out,
            report=False,
        )
    )
    return open_run(out)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Rollouts that measured doubt and never deliberated; read only."""
    return record(tmp_path_factory.mktemp("observed") / "run")


def from_runs(*runs: Run, **changes: Any) -> Any:
    given: dict[str, Any] = {"gate": "dtw", "target": Target(kind="percentile", value=80), "gripper_weight": 1.0}
    return calibrate(runs, **(given | changes))


@pytest.mark.slow
def test_doubts_computed_again_are_those_that_were_recorded(observed: Run) -> None:
    recorded = [d.doubt for record in observed.episodes for d in observed.trace(record.key).decisions]
    clutch = from_runs(observed, scaled=False)
    assert clutch.decisions == len(recorded)
    assert clutch.episodes == 10
    assert clutch.threshold == pytest.approx(np.percentile(recorded, 80))
    assert clutch.rate == pytest.approx(0.2, abs=0.02)


@pytest.mark.slow
def test_entries_are_divided_by_their_spread(observed: Run) -> None:
    actions = np.concatenate([observed.trace(record.key).actions for record in observed.episodes])
    np.testing.assert_allclose(from_runs(observed).measure.metric.weights, 1 / actions.std(axis=0), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["dtw", "pairwise", "temporal"])
def test_one_set_of_rollouts_serves_several_gates(gate: str, observed: Run) -> None:
    clutch = from_runs(observed, gate=gate, target=Target(kind="rate", value=0.25))
    assert clutch.measure.name == gate
    assert 0.15 < clutch.rate <= 0.25


@pytest.mark.slow
def test_the_clutch_deliberates_at_the_rate_it_was_made_for(observed: Run, tmp_path: Path) -> None:
    """In the same episodes, with a selector that changes nothing, the realised rate is the calibrated one."""
    clutch = from_runs(observed, target=Target(kind="rate", value=0.3))
    write_clutch(tmp_path / "clutch.json", clutch)
    again = record(
        tmp_path / "run", gate=None, observe=False, clutch=str(tmp_path / "clutch.json"), selector="first", candidates=4
    )
    decisions = sum(record.decisions for record in again.episodes)
    assert sum(record.deliberated for record in again.episodes) / decisions == pytest.approx(clutch.rate)
    assert [record.trajectory for record in again.episodes] == [record.trajectory for record in observed.episodes]


def doubts(*largest: float, success: bool) -> list[EpisodeDoubts]:
    return [EpisodeDoubts(doubts=np.array([value - 1, value]), success=success) for value in largest]


def test_rates_are_reached_and_never_exceeded() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        values = np.round(random.exponential(size=random.integers(1, 40)), 1)  # rounding makes ties
        rate = float(random.uniform(0.01, 0.99))
        threshold = threshold_for(Target(kind="rate", value=rate), [EpisodeDoubts(doubts=values, success=True)])
        assert (values > threshold).mean() <= rate
        assert threshold in values
        lower = values[values < threshold]
        assert not lower.size or (values > lower.max()).mean() > rate, "a lower threshold would have done"


def test_conformal_thresholds_are_the_ranks_of_the_theorem() -> None:
    solved, failed = doubts(*range(1, 11), success=True), doubts(*range(21, 31), success=False)
    # ceil(11 * 0.8) = 9th of the solved, floor(11 * 0.2) = 2nd of the failed.
    assert threshold_for(Target(kind="false-alarms", value=0.2), solved + failed) == 9
    assert threshold_for(Target(kind="misses", value=0.2), solved + failed) == 22


def test_conformal_guarantees_hold_on_new_episodes() -> None:
    random, alarms, missed, trials = np.random.default_rng(1), 0, 0, 2000
    for _ in range(trials):
        past, new = random.normal(size=20), float(random.normal())
        alarms += new > threshold_for(Target(kind="false-alarms", value=0.1), doubts(*past, success=True))
        missed += new <= threshold_for(Target(kind="misses", value=0.1), doubts(*past, success=False))
    # Three standard errors of a rate of 0.1 over 2,000 trials.
    assert alarms / trials < 0.1 + 0.02
    assert missed / trials < 0.1 + 0.02


@pytest.mark.parametrize(("kind", "kept"), [("false-alarms", "solved"), ("misses", "failed")])
def test_too_few_episodes_for_a_guarantee(kind: Any, kept: str) -> None:
    few = doubts(*range(5), success=kept == "solved")
    with pytest.raises(ConfigError, match=f"at least 9 {kept} episodes, the runs have 5"):
        threshold_for(Target(kind=kind, value=0.1), few)


@pytest.mark.parametrize(("kind", "value"), [("percentile", 100.0), ("percentile", 0.0), ("rate", 1.0), ("misses", -1)])
def test_targets_that_make_no_sense(kind: Any, value: float) -> None:
    with pytest.raises(ConfigError, match="must lie between"):
        Target(kind=kind, value=value)


@pytest.mark.slow
def test_rollouts_that_do_not_fit_are_refused(observed: Run, reference: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"recorded by the agent 'fake'.*--observe"):
        from_runs(open_run(reference))
    with pytest.raises(ConfigError, match="different checkpoints"):
        from_runs(observed, record(tmp_path / "other", tasks="0", episodes=1, policy="fake:0.7"))
    with pytest.raises(ConfigError, match="execute chunks differently"):
        from_runs(observed, record(tmp_path / "longer", tasks="0", episodes=1, execute=3))
    with pytest.raises(ConfigError, match="recorded 2 candidates and the gate compares 4"):
        from_runs(observed, gate="pairwise", candidates=4)
    with pytest.raises(ConfigError, match=r"its initial state 10 belongs to the split 'reporting'"):
        from_runs(record(tmp_path / "reported", tasks="0", episodes=11))
    with pytest.raises(ConfigError, match=r"the doubt is 0 at each of the \d+ decisions"):
        from_runs(record(tmp_path / "certain", tasks="0", episodes=1, policy="fake:1"))
    with pytest.raises(ConfigError, match="did not record the velocity gate's doubt"):
        from_runs(observed, gate="velocity")
    with pytest.raises(ConfigError, match="at least one run"):
        from_runs()


@pytest.mark.slow
def test_the_command_writes_a_clutch_for_the_same_policy_only(
    observed: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "clutch.json"
    assert command.main([str(observed.path), "--rate", "0.2", "--out", str(out)]) == 0
    assert "dtw above" in capsys.readouterr().out
    assert load_clutch(out).target == {"rate": 0.2}
    play = ["rollout", "fake", "--agent", "attc", "--execute", "2", "--clutch", str(out), "--tasks", "0"]
    play += ["--episodes", "2", "--candidates", "4", "--no-report"]
    assert call([*play, "--policy", POLICY, "--out", str(tmp_path / "run")]) == 0
    assert call([*play, "--policy", "fake:0.7", "--out", str(tmp_path / "foreign")]) == 2
    assert "calibrated on another policy (skill" in capsys.readouterr().err
    out.write_text(json.dumps(json.loads(out.read_text()) | {"format": 7}))
    with pytest.raises(WeightsError, match="format is 7"):
        load_clutch(out)


@pytest.mark.slow
def test_a_critics_gate_is_calibrated_as_recorded_and_bound_to_its_critic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded = record(tmp_path / "guarded", gate="critic", critic="fake")
    recorded = [d.doubt for one in guarded.episodes for d in guarded.trace(one.key).decisions]
    clutch = from_runs(guarded, gate="critic")
    assert clutch.threshold == pytest.approx(np.percentile(recorded, 80))
    assert (clutch.measure.name, clutch.measure.candidates, clutch.measure.critic) == ("critic", 2, None)
    out = tmp_path / "clutch.json"
    write_clutch(out, clutch)
    play = ["rollout", "fake", "--agent", "attc", "--policy", POLICY, "--execute", "2", "--clutch", str(out)]
    play += ["--critic", "fake", "--tasks", "0", "--episodes", "2", "--candidates", "4", "--no-report"]
    assert call([*play, "--out", str(tmp_path / "run")]) == 0
    foreign = dataclasses.replace(clutch, measure=dataclasses.replace(clutch.measure, critic="0f3a"))
    write_clutch(out, foreign)
    assert call([*play, "--out", str(tmp_path / "foreign")]) == 2
    assert "calibrated with another critic (0f3a there, None now" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", [["--rate", "0.2", "--percentile", "80"], ["--conformal", "misses", "--rate", "0.2"]]
)
def test_one_target_at_a_time(target: list[str], observed: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one target"):
        command.main([str(observed.path), "--out", str(tmp_path / "clutch.json"), *target])
