"""The privileged expert in the real simulator."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.agents import Policy
from thinktwice.agents.experts import LiberoExpert, expert_chunk
from thinktwice.agents.policies.expert import ExpertPolicy, build_expert
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.errors import ContractError, UsageError

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    env = LiberoEnv("libero_object/1", cameras=())
    yield env
    env.close()


def begin(env: LiberoEnv, task: str, init_state: int, seed: int = 0) -> ExpertPolicy:
    env.reset(seed=seed, options={"task": task, "init_state": init_state})
    return build_expert("", env)


def action(policy: ExpertPolicy) -> np.ndarray:
    return np.asarray(policy.propose({}, 1, seed=0).chunks)[0, 0]


def solves(env: LiberoEnv, policy: ExpertPolicy, *, noise: float = 0.0, steps: int = 280) -> bool:
    rng = np.random.default_rng(0)
    for _ in range(steps):
        wanted = action(policy)
        wanted[:6] += rng.normal(scale=noise, size=6).astype(np.float32) if noise else 0.0
        if env.step_blind(np.clip(wanted, -1, 1))[1]:
            return True
    return False


def test_it_is_a_policy_and_its_candidates_agree(env: LiberoEnv) -> None:
    policy = begin(env, "libero_object/1", 0)
    assert isinstance(policy, Policy)
    proposal = policy.propose({}, 3, seed=1)
    chunks = np.asarray(proposal.chunks)
    assert chunks.shape == (3, 1, 7)
    assert chunks.dtype == np.float32
    assert np.array_equal(chunks[0], chunks[2])
    assert "pick cream_cheese_1" in proposal.notes["phase"]
    with pytest.raises(ContractError, match="at least 1"):
        policy.propose({}, 0, seed=1)


@pytest.mark.parametrize("task", ["libero_object/1", "libero_spatial/0"])
def test_it_solves_tasks(env: LiberoEnv, task: str) -> None:
    assert solves(env, begin(env, task, 0))


def test_it_recovers_from_noise_and_from_a_dropped_object(env: LiberoEnv) -> None:
    policy = begin(env, "libero_object/1", 1)
    for _ in range(200):
        env.step_blind(action(policy))
        if "carry" in policy.propose({}, 1, seed=0).notes["phase"]:
            break
    opened = np.array([0, 0, 0, 0, 0, 0, -1.0])
    for _ in range(12):
        env.step_blind(opened)
    assert solves(env, policy, noise=0.1)


def test_it_is_a_function_of_state_and_seed(env: LiberoEnv) -> None:
    policy = begin(env, "libero_object/1", 2)
    for _ in range(30):
        env.step_blind(action(policy))
    state, before = env.save_state(), action(policy)
    env.step_blind(before)
    env.restore_state(state)
    fresh = LiberoExpert(env.model, env.problem).advise(env.data, seed=state.seed).action
    assert np.allclose(before, fresh, atol=1e-6)


def test_a_look_ahead_leaves_no_trace(env: LiberoEnv) -> None:
    policy = begin(env, "libero_object/1", 3)
    chunk = expert_chunk(env, 8)
    assert chunk.shape == (8, 7)
    assert env.elapsed_steps == 0
    for expected in chunk:
        executed = action(policy)
        assert np.allclose(executed, expected, atol=1e-5)
        env.step_blind(executed)
    with pytest.raises(UsageError, match="at least 1"):
        expert_chunk(env, 0)


def test_both_sides_of_a_rim_occur_over_seeds(env: LiberoEnv) -> None:
    begin(env, "libero_spatial/2", 0)
    expert = LiberoExpert(env.model, env.problem)
    sideways = [expert.advise(env.data, seed=seed).action for seed in range(6)]
    assert len({tuple(np.round(action, 4)) for action in sideways}) == 2


def test_other_worlds_have_no_expert() -> None:
    with pytest.raises(UsageError, match="LIBERO only"):
        build_expert("", gym.make("CartPole-v1"))
    with pytest.raises(UsageError, match="takes no argument"):
        build_expert("fast", gym.make("CartPole-v1"))
