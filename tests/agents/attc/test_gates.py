from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.agents import Proposal
from thinktwice.agents.attc import (
    COMMITTED,
    ChunkMetric,
    CriticGate,
    FixedGate,
    MeasureSettings,
    ThresholdGate,
    build_measure,
)
from thinktwice.agents.attc.distances import dtw_cost
from thinktwice.agents.conformance import check_gate
from thinktwice.agents.fakes import FakePolicy
from thinktwice.agents.policies.bundled import BundledPolicy, build_bundled
from thinktwice.critics import CriticContext
from thinktwice.critics.fakes import FakeCritic
from thinktwice.envs import Observation
from thinktwice.errors import ConfigError, ContractError, UsageError

METRIC = ChunkMetric(weights=(1.0, 1.0), execute=3)


def settings(name: str, **changes: Any) -> MeasureSettings:
    return MeasureSettings(name=name, gripper_weight=1.0, **({"metric": METRIC} | changes))


def gate(name: str, threshold: float = 1.0, **changes: Any) -> ThresholdGate:
    return ThresholdGate(measure=build_measure(settings(name, **changes), None), threshold=threshold)


def proposal(count: int = 4, seed: int = 0, **notes: Any) -> Proposal:
    chunks = np.random.default_rng(seed).normal(size=(count, 5, 2)).astype(np.float32)
    return Proposal(chunks=chunks, notes=notes)


@pytest.mark.parametrize("name", ["dtw", "pairwise", "temporal", "random"])
def test_gates_keep_their_contract(name: str) -> None:
    check_gate(gate(name, candidates=3), {}, proposal(committed=np.ones((2, 2), np.float32)))


def test_the_critic_gate_keeps_its_contract() -> None:
    check_gate(CriticGate(critic=FakeCritic(), threshold=0.5, candidates_needed=3), {}, proposal())


def test_the_critic_gate_looks_at_the_reflex_and_its_few_rivals() -> None:
    chunks = np.stack([np.full((5, 2), size, np.float32) for size in (0.5, 0.2, 0.4, 0.0)])
    measured = CriticGate(critic=FakeCritic(), threshold=0.5, candidates_needed=3)
    doubt = measured.doubt({}, Proposal(chunks=chunks))
    assert doubt == pytest.approx(1 / (1 + np.exp(0.2 - 0.5)))
    assert measured.opens(doubt)
    best_first = Proposal(chunks=chunks[[1, 0, 2, 3]])
    assert not measured.opens(measured.doubt({}, best_first))


def test_the_critic_gate_tells_the_critic_what_it_knows() -> None:
    asked: list[CriticContext] = []

    class Listening(FakeCritic):
        def prefer(self, observation: Any, pairs: Any, context: CriticContext) -> np.ndarray:
            asked.append(context)
            return super().prefer(observation, pairs, context)

    given = dataclasses.replace(proposal(committed=np.ones((2, 2), np.float32)), features={"summary": np.ones(3)})
    CriticGate(critic=Listening(), threshold=0.5).doubt({}, given)
    (context,) = asked
    np.testing.assert_array_equal(context.candidates, given.chunks[:2])
    assert context.committed is given.notes[COMMITTED]
    assert context.features == given.features


@pytest.mark.parametrize(("changes", "words"), [({"threshold": math.nan}, "nan"), ({"candidates_needed": 1}, "got 1")])
def test_critic_gates_that_make_no_sense(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        CriticGate(critic=FakeCritic(), **({"threshold": 0.5} | changes))


@pytest.mark.parametrize("always", [True, False])
def test_fixed_gates_keep_their_contract(always: bool) -> None:
    check_gate(FixedGate(always=always, candidates_needed=3 if always else 1), {}, proposal())
    assert FixedGate(always=always).opens(0.0) is always


def test_dtw_reads_two_candidates_and_what_is_executed() -> None:
    given = proposal()
    chunks = np.asarray(given.chunks, np.float64)
    assert gate("dtw").doubt({}, given) == pytest.approx(dtw_cost(chunks[0, :3], chunks[1, :3]))
    changed = chunks.copy()
    changed[2:] += 5.0
    changed[:2, 3:] += 5.0
    assert gate("dtw").doubt({}, Proposal(chunks=changed)) == pytest.approx(gate("dtw").doubt({}, given))


def test_pairwise_reads_as_many_as_asked_for() -> None:
    given = proposal()
    chunks = np.asarray(given.chunks, np.float64)[:3, :3]
    pairs = [np.linalg.norm(chunks[i] - chunks[j], axis=1).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert gate("pairwise", candidates=3).doubt({}, given) == pytest.approx(np.mean(pairs))
    with pytest.raises(ConfigError, match="at least 2"):
        gate("pairwise", candidates=1)


def test_temporal_doubt_is_the_departure_from_the_tail() -> None:
    given = proposal(1)
    tail = np.asarray(given.chunks[0][:2])
    assert gate("temporal").doubt({}, given) == 0.0, "nothing to depart from yet"
    assert gate("temporal").doubt({}, dataclasses.replace(given, notes={COMMITTED: tail})) == 0.0
    away = dataclasses.replace(given, notes={COMMITTED: tail + np.float32([3, 4])})
    assert gate("temporal").doubt({}, away) == pytest.approx(5.0, rel=1e-5)


def test_the_random_gate_opens_at_its_rate_whatever_the_chunks_say() -> None:
    random = gate("random", threshold=0.7)
    opened = [random.opens(random.doubt({}, proposal(1, seed=seed))) for seed in range(600)]
    assert 0.24 < np.mean(opened) < 0.36


def test_an_observing_gate_never_opens() -> None:
    observing = gate("dtw", threshold=math.inf)
    assert not observing.opens(1e12)
    with pytest.raises(ConfigError, match="nan"):
        gate("dtw", threshold=math.nan)


def test_broken_candidates_are_an_error() -> None:
    broken = proposal()
    np.asarray(broken.chunks)[1, 0, 0] = np.inf
    with pytest.raises(ContractError, match=r"candidate 1 of 2 .*infinity"):
        gate("dtw").doubt({}, broken)


def test_unknown_measures() -> None:
    with pytest.raises(UsageError, match="Did you mean 'dtw'"):
        gate("dwt")


@pytest.fixture
def policy(checkpoint: Path) -> BundledPolicy:
    return build_bundled(f"{checkpoint}?device=cpu", gym.Env())


def test_velocity_doubt_of_a_real_flow(policy: BundledPolicy, libero_observations: list[Observation]) -> None:
    metric = ChunkMetric(weights=(1.0,) * 7, execute=8)
    measured = ThresholdGate(measure=build_measure(settings("velocity", metric=metric), policy), threshold=0.1)
    seen = [policy.propose(observation, 1, seed=0) for observation in libero_observations]
    check_gate(measured, libero_observations[0], seen[0])
    doubts = [measured.doubt({}, each) for each in seen]
    assert min(doubts) > 0
    assert len(set(doubts)) == len(seen), "it depends on the observation"
    assert measured.evaluations == 8


class StraightFlow(FakePolicy):
    """Leads every noise to one chunk in straight lines, or to the nearest of two."""

    def __init__(self, answers: list[float]) -> None:
        super().__init__(0.5, None)
        self._answers = np.array(answers)

    def velocity(self, proposal: Proposal, chunks: np.ndarray, time: float) -> np.ndarray:
        """Of the flow from N(0, 1) to these answers in each entry, in closed form."""
        away = chunks[..., None] - (1 - time) * self._answers
        logits = -(away**2) / (2 * time**2)
        chance = np.exp(logits - logits.max(axis=-1, keepdims=True))
        expected = (chance * self._answers).sum(-1) / chance.sum(-1)
        return (chunks - expected) / time


def test_velocity_doubt_is_zero_where_one_answer_is_certain() -> None:
    one = build_measure(settings("velocity"), StraightFlow([0.4]))
    two = build_measure(settings("velocity"), StraightFlow([-1.0, 1.0]))
    assert one(proposal(1)) == pytest.approx(0.0, abs=1e-6)
    assert two(proposal(1)) > 0.1


def test_velocity_needs_a_flow_policy() -> None:
    with pytest.raises(ConfigError, match=r"velocity field of a flow policy, and fake:0.5 shows none.*dtw"):
        build_measure(settings("velocity"), FakePolicy(0.5, None))
