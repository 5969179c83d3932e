from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Proposal
from thinktwice.agents.attc import COMMITTED, AttcAgent, AttcOptions, ChunkMetric, FixedGate, build_attc
from thinktwice.agents.attc.selection import CONSENSUS
from thinktwice.agents.conformance import check_agent
from thinktwice.agents.fakes import FakePolicy
from thinktwice.agents.reflex import ReflexOptions, build_reflex
from thinktwice.envs import MultiStep, Observation
from thinktwice.errors import ConfigError, ContractError, UsageError, WeightsError


def options(**changes: Any) -> AttcOptions:
    given: dict[str, Any] = {"policy": "fake:0.5", "execute": 2, "gate": "always", "candidates": 8}
    return AttcOptions(**(given | changes))


def play(agent: Any, observations: list[Observation], seed: int = 3) -> list[Any]:
    agent.reset(seed=seed)
    return [agent.act(observation) for observation in observations]


@pytest.mark.parametrize("selector", [*sorted(CONSENSUS), "copeland", "knockout", "medoid-veto", "medoid-tie-break"])
def test_the_contract(selector: Any, env: MultiStep, observations: list[Observation]) -> None:
    judged = selector not in CONSENSUS
    for gate in ({"gate": "always"}, {"gate": "dtw", "threshold": 6.0}, {"gate": "temporal", "threshold": 1.0}):
        agent = build_attc(options(selector=selector, critic="fake" if judged else None, **gate), env)
        check_agent(agent, observations, env.env.action_space)


@pytest.mark.parametrize(
    "gate",
    [
        {"gate": "never"},
        {"gate": "dtw", "observe": True},
        {"gate": "always", "selector": "first"},
        {"gate": "dtw", "threshold": 0.0, "selector": "first"},
        {"gate": "random", "rate": 0.5, "selector": "first"},
    ],
)
def test_the_reflex_is_the_same_under_every_gate(
    gate: dict[str, Any], env: MultiStep, observations: list[Observation]
) -> None:
    reflex = play(build_reflex(ReflexOptions(policy="fake:0.5", execute=2), env), observations)
    for ours, theirs in zip(play(build_attc(options(**gate), env), observations), reflex, strict=True):
        np.testing.assert_array_equal(ours.chunk, theirs.chunk)


def test_more_candidates_change_no_candidate(env: MultiStep, observations: list[Observation]) -> None:
    few = play(build_attc(options(candidates=4, selector="first"), env), observations)
    many = play(build_attc(options(candidates=16, selector="first"), env), observations)
    for ours, theirs in zip(few, many, strict=True):
        np.testing.assert_array_equal(ours.candidates, theirs.candidates[:4])


def test_a_closed_gate_costs_what_it_looked_at(env: MultiStep, observations: list[Observation]) -> None:
    (decision, *_) = play(build_attc(options(gate="dtw", observe=True), env), observations)
    assert (decision.mode, decision.cost.candidates, decision.cost.prefix_passes) == ("reflex", 2, 1)
    assert (len(decision.candidates), decision.chosen) == (2, 0)
    assert decision.doubt > 0
    assert {"sample", "gate"} == set(decision.cost.seconds)
    (decision, *_) = play(build_attc(options(gate="never"), env), observations)
    assert (decision.cost.candidates, decision.doubt, len(decision.candidates)) == (1, None, 0)


def test_an_open_gate_shows_everything(env: MultiStep, observations: list[Observation]) -> None:
    decisions = play(build_attc(options(gate="dtw", threshold=0.0, critic="fake"), env), observations)
    for decision in decisions:
        assert decision.mode == "deliberate"
        assert len(decision.candidates) == 8
        np.testing.assert_array_equal(decision.chunk, decision.candidates[decision.chosen][:2])
        assert decision.preferences.shape == (8, 8)
        assert decision.cost.comparisons == 28
        # A policy that cannot extend proposes anew, and the ledger says so.
        assert (decision.cost.candidates, decision.cost.prefix_passes) == (10, 2)
        assert {"sample", "gate", "select"} == set(decision.cost.seconds)
    assert COMMITTED not in decisions[0].notes
    for before, after in itertools.pairwise(decisions):
        np.testing.assert_array_equal(after.notes[COMMITTED], before.candidates[before.chosen][2:])


def test_the_critic_may_guard_the_gate_alone(env: MultiStep, observations: list[Observation]) -> None:
    agent = build_attc(options(gate="critic", critic="fake", selector="medoid", threshold=0.5), env)
    described = agent.describe()
    assert (described["gate"]["name"], described["selector"]) == ("critic", {"name": "medoid"})
    for decision in play(agent, observations):
        assert decision.cost.comparisons == 1
        assert (decision.mode == "deliberate") is (decision.doubt > 0.5)
        assert len(decision.candidates) == (8 if decision.doubt > 0.5 else 2)


def test_an_agent_that_always_deliberates_proposes_once(env: MultiStep, observations: list[Observation]) -> None:
    (decision, *_) = play(build_attc(options(), env), observations)
    assert (decision.cost.candidates, decision.cost.prefix_passes, decision.doubt) == (8, 1, None)


def test_nothing_is_left_over_of_an_earlier_episode(env: MultiStep, observations: list[Observation]) -> None:
    agent = build_attc(options(gate="temporal", observe=True), env)
    assert play(agent, observations)[0].doubt == 0.0
    assert play(agent, observations)[0].doubt == 0.0


class BrokenPolicy(FakePolicy):
    """Its candidates from the third on are no numbers."""

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        proposal = super().propose(observation, n, seed=seed)
        chunks = np.array(proposal.chunks)
        chunks[2:, 1] = np.nan
        return dataclasses.replace(proposal, chunks=chunks)


def test_candidates_that_are_not_numbers_stop_the_episode(observations: list[Observation]) -> None:
    agent = AttcAgent(
        policy=BrokenPolicy(0.5, None),
        gate=FixedGate(always=True),
        select=CONSENSUS["medoid"],
        candidates=5,
        metric=ChunkMetric(weights=(1.0, 1.0)),
        settings={},
    )
    agent.reset(seed=0)
    with pytest.raises(ContractError, match=r"candidate 2 of 5 .*NaN"):
        agent.act(observations[0])


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"policy": None}, UsageError, "needs a policy"),
        ({"candidates": 1}, ConfigError, r"at least 2.*got 1.*--agent reflex"),
        ({"gate": "pairwise", "gate_candidates": 9, "threshold": 1.0}, ConfigError, "at least 9"),
        ({"gate": "pairwise", "gate_candidates": 1, "threshold": 1.0}, ConfigError, "at least 2"),
        ({"execute": 0}, ConfigError, "execute must be at least 1"),
        ({"gate": None}, UsageError, "say when to deliberate"),
        ({"gate": "dtw"}, ConfigError, "--clutch FILE"),
        ({"gate": "dtw", "threshold": float("nan")}, ConfigError, "nan"),
        ({"gate": "dtw", "rate": 0.2}, ConfigError, "--gate random"),
        ({"gate": "dtw", "threshold": 1.0, "observe": True}, ConfigError, "never deliberates"),
        ({"gate": "random"}, ConfigError, "--rate"),
        ({"gate": "random", "rate": 1.5}, ConfigError, r"from 0 to 1, got 1\.5"),
        ({"gate": "never", "threshold": 1.0}, ConfigError, "looks at nothing"),
        ({"gate": "velocity", "threshold": 1.0}, ConfigError, "fake:0.5 shows none"),
        ({"gate": "temporal", "threshold": 1.0, "gripper_weight": -1.0}, ConfigError, "gripper"),
        ({"gate": "critic", "observe": True}, ConfigError, "gate 'critic' asks a critic: --critic"),
        ({"gate": "critic", "critic": "fake"}, ConfigError, "--gate critic needs a threshold"),
        ({"gate": "critic", "critic": "fake", "threshold": 0.5, "gate_candidates": 1}, ConfigError, "got 1"),
        ({"selector": "copeland"}, ConfigError, "asks a critic: --critic"),
        ({"selector": "medoid", "critic": "fake"}, ConfigError, "asks no critic"),
        ({"margin": 0.1}, ConfigError, "asks no critic"),
        ({"critic": "fake", "margin": 0.5}, ConfigError, "below 0.5"),
        ({"critic": "no/such/folder"}, WeightsError, "no/such/folder"),
        ({"selector": "oracle"}, UsageError, "LIBERO's expert"),
        ({"clutch": Path("no.json"), "gate": None}, WeightsError, r"no\.json"),
    ],
)
def test_calls_that_make_no_sense(changes: dict[str, Any], error: type[Exception], words: str, env: MultiStep) -> None:
    with pytest.raises(error, match=words):
        build_attc(options(**changes), env)


def bundled(checkpoint: Path, **changes: Any) -> AttcOptions:
    return options(policy=f"bundled:{checkpoint}?device=cpu", execute=8, candidates=16, **changes)


def test_a_real_flow_extends_instead_of_proposing_anew(
    checkpoint: Path, libero_look: Any, libero_observations: list[Observation]
) -> None:
    agent = build_attc(bundled(checkpoint, gate="dtw", threshold=0.0), libero_look)
    for decision in play(agent, libero_observations):
        assert decision.cost.counts() == {
            **decision.cost.counts(),
            "prefix_passes": 1,
            "candidates": 16,
            "denoising_steps": 160,
        }
        assert {"prefix", "denoise", "gate", "select"} == set(decision.cost.seconds)
    whole = play(build_attc(bundled(checkpoint, gate="always"), libero_look), libero_observations)
    for ours, theirs in zip(play(agent, libero_observations), whole, strict=True):
        np.testing.assert_array_equal(ours.candidates, theirs.candidates)


def test_a_velocity_gate_accounts_for_its_evaluations(
    checkpoint: Path, libero_look: Any, libero_observations: list[Observation]
) -> None:
    agent = build_attc(bundled(checkpoint, gate="velocity", observe=True), libero_look)
    (decision, *_) = play(agent, libero_observations)
    assert (decision.cost.denoising_steps, decision.cost.candidates) == (18, 1)


def test_the_record_says_what_decides(checkpoint: Path, libero_look: Any) -> None:
    described = build_attc(bundled(checkpoint, gate="dtw", observe=True), libero_look).describe()
    assert described["gate"]["threshold"] is None
    assert len(described["policy"]["sha256"]) == 64
    assert described["selector"] == {"name": "medoid"}
    json.dumps(described, allow_nan=False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clutch": Path("bundled:dtv"), "gate": None}, r"no bundled clutch 'dtv'.*dtw"),
        ({"critic": "bundled:rak"}, r"no bundled critic 'rak'.*rac"),
        ({"critic": "bundled:"}, "no bundled critic ''"),
    ],
)
def test_bundled_names_that_nothing_has(changes: dict[str, Any], words: str, env: MultiStep) -> None:
    with pytest.raises(UsageError, match=words):
        build_attc(options(**changes), env)


def test_bundled_critics_and_clutches_are_for_the_bundled_policy_alone(env: MultiStep) -> None:
    for name in ("critic", "dtw", "temporal", "velocity"):
        with pytest.raises(ConfigError, match="was calibrated on another policy"):
            build_attc(options(clutch=Path(f"bundled:{name}"), gate=None, execute=8), env)
    for name in ("rac", "scalar", "action-only", "regression"):
        with pytest.raises(WeightsError, match="train one for this policy"):
            build_attc(options(critic=f"bundled:{name}"), env)


def test_the_bundled_policy_brings_its_clutch_and_critic(bundled_look: Any) -> None:
    own = AttcOptions(policy="bundled", execute=8)
    described = build_attc(own, bundled_look).describe()
    assert described["gate"]["clutch"] == "critic.json"
    assert described["selector"]["name"] == "copeland"
    assert described["selector"]["critic"]["critic"] == "relative"
    by_consensus = build_attc(dataclasses.replace(own, selector="medoid"), bundled_look).describe()
    assert by_consensus["gate"]["clutch"] == "critic.json"
    assert by_consensus["selector"] == {"name": "medoid"}
    with pytest.raises(ConfigError, match="needs a threshold"):
        build_attc(dataclasses.replace(own, gate="dtw"), bundled_look)
