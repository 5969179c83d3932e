"""Each label source finds out what it says, and leaves the world as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Proposal
from thinktwice.agents.catalog import build_policy
from thinktwice.agents.pairs.branch import OUTCOMES, judge_by_outcome
from thinktwice.agents.pairs.collector import CollectorOptions, build_collector
from thinktwice.agents.pairs.contract import Case, LabelOptions, Moment
from thinktwice.agents.pairs.expert import WAYS, judge_by_expert
from thinktwice.agents.pairs.sources import SourceOptions, build_source
from thinktwice.agents.pairs.steps import FEW, MANY, StepsOptions, StepsSource, judge_steps, with_steps
from thinktwice.cost import Cost
from thinktwice.critics.spec import MASK
from thinktwice.envs import MultiStep
from thinktwice.envs.fakes import FakeEnv, FakeOptions, goal_of
from thinktwice.errors import ConfigError, UsageError, WeightsError

LABELS = LabelOptions()


class Stepped:
    """A policy whose chunks are its number of Euler steps."""

    name, conventions = "stepped", None

    def __init__(self) -> None:
        self.steps = 10

    def propose(self, observation: Any, n: int, *, seed: int) -> Proposal:
        return Proposal(chunks=np.full((n, 4, 2), self.steps, np.float32), cost=Cost(candidates=n))

    def describe(self) -> dict[str, Any]:
        return {"policy": "stepped"}


def started(task: str = "fake/1", **options: Any) -> tuple[FakeEnv, Any]:
    env = FakeEnv(FakeOptions(**options))
    observation, _ = env.reset(seed=3, options={"task": task, "init_state": None})
    return env, observation


def moment_of(env: FakeEnv, observation: Any, *, n: int = 6, execute: int = 2) -> Moment:
    proposal = build_policy("fake:0.3", env).propose(observation, n, seed=1)
    return Moment(observation=observation, proposal=proposal, committed=None, execute=execute, seed=9)


def case(chunks: Any, facts: Any, *, roles: Any = None, committed: Any = None) -> Case:
    chunks = np.asarray(chunks, np.float32)
    return Case(
        chunks=chunks,
        roles=tuple(roles or ["sample"] * len(chunks)),
        committed=committed,
        facts=facts,
        scale=np.ones(chunks.shape[-1], np.float32),
    )


def straight(value: float, length: int = 4) -> Any:
    return np.full((length, 2), value, np.float32)


class TestExpert:
    def test_it_says_what_the_expert_would_do(self) -> None:
        env, observation = started()
        source = build_source(SourceOptions(source="expert", expert="fake:1"), build_policy("fake", env), env)
        before = env.save_state()
        ways = source.evidence(moment_of(env, observation)).facts[WAYS]
        assert ways.shape == (1, 4, 2)
        point, goal = goal_of(observation)
        for action in ways[0]:
            ahead = (goal - point) / np.linalg.norm(goal - point)
            assert action @ ahead / np.linalg.norm(action) > 0.999
            point = point + 0.05 * action
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(env.save_state(), before, strict=True))

    def test_an_episode_that_ends_inside_the_chunk_repeats_the_last_action(self) -> None:
        env, observation = started(cap=2)
        source = build_source(SourceOptions(source="expert", expert="fake:1"), build_policy("fake", env), env)
        ways = source.evidence(moment_of(env, observation)).facts[WAYS]
        np.testing.assert_array_equal(ways[0, 2:], ways[0, [1, 1]])

    def test_nearer_is_better(self) -> None:
        chunks = [straight(0.0), straight(0.5), straight(2.0)]
        utility = judge_by_expert(case(chunks, {WAYS: straight(0.6)[None]}), LABELS)
        np.testing.assert_allclose(utility, [-0.6, -0.1, -1.4], atol=1e-6)

    def test_only_the_first_actions_count(self) -> None:
        late = straight(0.0)
        late[2:] = 9
        options = LabelOptions(label_horizon=2)
        assert judge_by_expert(case([late, straight(0.1)], {WAYS: straight(0.0)[None]}), options).argmax() == 0

    def test_the_expert_may_be_played_a_few_actions_ahead(self) -> None:
        env, observation = started()
        policy = build_policy("fake", env)
        moment = moment_of(env, observation)
        whole, short = (
            build_source(SourceOptions(source="expert", expert="fake:1", ahead=ahead), policy, env)
            .evidence(moment)
            .facts[WAYS]
            for ahead in (0, 2)
        )
        np.testing.assert_array_equal(short, whole[:, :2])
        chunks = [straight(0.0), straight(0.5)]
        near = judge_by_expert(case(chunks, {WAYS: straight(0.6, 2)[None]}), LabelOptions(label_horizon=2))
        np.testing.assert_allclose(near, [-0.6, -0.1], atol=1e-6)
        with pytest.raises(ConfigError, match=r"2 actions ahead.*--label-horizon 2 or less"):
            judge_by_expert(case(chunks, {WAYS: short}), LabelOptions(label_horizon=3))

    def test_the_mode_under_way_or_the_nearest_one(self) -> None:
        """Two right ways, at -1 and 1: a candidate near the other way is wrong only while one is under way."""
        ways = np.stack([straight(-1.0), straight(1.0)])
        chunks = [straight(0.8), straight(-0.9), straight(0.6)]
        facts = {WAYS: ways}
        nearest = judge_by_expert(case(chunks, facts), LabelOptions(mode="nearest"))
        np.testing.assert_allclose(nearest, [-0.2, -0.1, -0.4], atol=1e-6)
        right = judge_by_expert(case(chunks, facts, committed=straight(0.7, 2)), LabelOptions(mode="committed"))
        np.testing.assert_allclose(right, [-0.2, -1.9, -0.4], atol=1e-6)
        left = judge_by_expert(case(chunks, facts, committed=straight(-0.2, 2)), LabelOptions(mode="committed"))
        assert left.argmax() == 1
        # At the first decision the candidates' medoid says which way it is.
        first = judge_by_expert(case(chunks, facts), LabelOptions(mode="committed"))
        np.testing.assert_allclose(first, right)

    def test_there_is_no_expert_everywhere(self) -> None:
        env, _ = started()
        with pytest.raises(UsageError, match="--expert"):
            build_source(SourceOptions(source="expert"), build_policy("fake", env), env)
        with pytest.raises(ConfigError, match="ways"):
            build_source(SourceOptions(source="expert", expert="fake:1", ways=0), build_policy("fake", env), env)
        with pytest.raises(ConfigError, match="ahead"):
            build_source(SourceOptions(source="expert", expert="fake:1", ahead=-1), build_policy("fake", env), env)


class TestBranch:
    def test_it_tries_every_candidate_and_takes_it_back(self) -> None:
        env, observation = started()
        options = SourceOptions(source="branch", continuation="fake:1", branch_horizon=30)
        source = build_source(options, build_policy("fake:0.3", env), env)
        before = env.save_state()
        moment = moment_of(env, observation)
        first = source.evidence(moment).facts[OUTCOMES]
        assert first.shape == (6, 1, 3)
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(env.save_state(), before, strict=True))
        np.testing.assert_array_equal(source.evidence(moment).facts[OUTCOMES], first)
        # An expert that goes on straight comes later the further a candidate led away.
        point, goal = goal_of(observation)
        moved = np.clip(np.asarray(moment.proposal.chunks)[:, :2], -1, 1).sum(axis=1) * 0.05
        away = np.linalg.norm(point + moved - goal, axis=1)
        assert first[:, 0, 0].all()
        assert np.corrcoef(away, first[:, 0, 2])[0, 1] > 0.9

    def test_an_episodes_cap_is_a_failure(self) -> None:
        env, observation = started(cap=4)
        options = SourceOptions(source="branch", continuation="fake:1", repeats=2)
        outcomes = build_source(options, build_policy("fake", env), env).evidence(moment_of(env, observation))
        np.testing.assert_array_equal(outcomes.facts[OUTCOMES][..., :2], np.zeros((6, 2, 2)))

    def test_the_policy_itself_goes_on_unless_another_is_named(self) -> None:
        env, observation = started()
        given = SourceOptions(source="branch", branch_horizon=40)
        lost = build_source(given, build_policy("fake:0", env), env).evidence(moment_of(env, observation))
        skilled = build_source(given, build_policy("fake:1", env), env).evidence(moment_of(env, observation))
        assert skilled.facts[OUTCOMES][..., 0].sum() > lost.facts[OUTCOMES][..., 0].sum()

    def test_success_then_progress_then_steps(self) -> None:
        outcomes = np.array([[1, 1, 0.9], [1, 1, 0.3], [0, 0.75, 1], [0, 0.25, 1], [0, 1, 1]], np.float32)[:, None]
        utility = judge_by_outcome(case(np.zeros((5, 4, 2)), {OUTCOMES: outcomes}), LABELS)
        assert np.argsort(-utility).tolist() == [1, 0, 4, 2, 3]

    def test_repetitions_are_averaged(self) -> None:
        outcomes = np.array([[[1, 1, 0.5], [0, 0, 1]], [[1, 1, 0.9], [1, 1, 0.9]]], np.float32)
        assert judge_by_outcome(case(np.zeros((2, 4, 2)), {OUTCOMES: outcomes}), LABELS).argmax() == 1

    @pytest.mark.parametrize("wrong", [{"branch_horizon": 0}, {"repeats": 0}])
    def test_numbers_that_make_no_sense(self, wrong: Any) -> None:
        env, _ = started()
        with pytest.raises(ConfigError):
            build_source(SourceOptions(source="branch", **wrong), build_policy("fake", env), env)


class TestSteps:
    def test_both_mixes_occur_and_the_policy_stays_as_it_was(self) -> None:
        _, observation = started()
        policy = Stepped()
        source = StepsSource(policy, None, StepsOptions(step_samples=3))
        mixes = set()
        for seed in range(12):
            proposal = policy.propose(observation, 2, seed=0)
            extra = source.evidence(
                Moment(observation=observation, proposal=proposal, committed=None, execute=2, seed=seed)
            ).extra
            assert {role: chunks.shape for role, chunks in extra.items()} == {MANY: (3, 4, 2), FEW: (3, 4, 2)}
            mixes.add((int(extra[MANY][0, 0, 0]), int(extra[FEW][0, 0, 0])))
        assert mixes == {(10, 3), (9, 2)}
        assert policy.steps == 10

    def test_the_expert_is_better_than_many_steps_and_those_than_few(self) -> None:
        roles = ["sample", "expert", "few", "many"]
        utility = judge_steps(case(np.zeros((4, 4, 2)), {}, roles=roles), LABELS)
        assert np.isnan(utility[0])
        assert utility[1] > utility[3] > utility[2]

    def test_a_policy_without_steps_is_refused(self) -> None:
        env, _ = started()
        with pytest.raises(UsageError, match="Euler steps"):
            build_source(SourceOptions(source="steps"), build_policy("fake", env), env)
        with pytest.raises(ConfigError, match="step_samples"):
            StepsSource(Stepped(), None, StepsOptions(step_samples=0))
        assert with_steps(Stepped(), 3).propose(None, 1, seed=0).chunks[0][0, 0] == 3


class TestCollector:
    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"candidates": 1}, ConfigError),
            ({"execute": 0}, ConfigError),
            ({"share": 0.0}, ConfigError),
            ({"share": 1.5}, ConfigError),
            ({"policy": None}, UsageError),
            ({"critic": "nowhere"}, WeightsError),
        ],
    )
    def test_options_that_make_no_sense(self, wrong: Any, error: type[Exception]) -> None:
        options = {"policy": "fake", "expert": "fake:1"} | wrong
        with pytest.raises(error):
            build_collector(CollectorOptions(**options), MultiStep(FakeEnv()))

    def test_it_notes_images_where_a_policy_exposes_nothing(self) -> None:
        env, observation = started()
        agent = build_collector(CollectorOptions(policy="fake", expert="fake:1"), env)
        agent.reset(seed=1)
        notes = agent.act(observation).notes
        np.testing.assert_array_equal(notes["pairs.feature.images.front"], observation["images.front"])
        assert not any(name.endswith(MASK) for name in notes)

    def test_the_committed_tail_is_the_rest_of_the_previous_chunk(self) -> None:
        env, observation = started()
        agent = build_collector(CollectorOptions(policy="fake", expert="fake:1", execute=3), env)
        agent.reset(seed=1)
        first, second = agent.act(observation), agent.act(observation)
        assert "pairs.committed" not in first.notes
        np.testing.assert_array_equal(second.notes["pairs.committed"], first.candidates[0][3:])
        agent.reset(seed=1)
        assert "pairs.committed" not in agent.act(observation).notes
