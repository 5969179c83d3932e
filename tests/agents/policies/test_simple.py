"""Random and holding policies."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from thinktwice.agents import Policy
from thinktwice.agents.policies.simple import HoldPolicy, RandomPolicy, build_hold, build_random
from thinktwice.agents.policies.wave import build_wave
from thinktwice.errors import ContractError, UsageError


class Bare(gym.Env[Any, Any]):
    action_space = spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 5.0]), dtype=np.float64)
    observation_space = spaces.Discrete(1)


class Still(Bare):
    def hold_action(self) -> Any:
        return np.array([0.0, 2.0])


def test_both_are_policies() -> None:
    assert isinstance(build_random("", Bare()), Policy)
    assert isinstance(build_hold("", Still()), Policy)


def test_random_actions_fill_the_box() -> None:
    chunks = np.asarray(RandomPolicy(Bare.action_space).propose({}, 500, seed=0).chunks)
    assert chunks.shape == (500, 1, 2)
    assert chunks.min(axis=0) == pytest.approx(np.array([[-1.0, 0.0]]), abs=0.1)
    assert chunks.max(axis=0) == pytest.approx(np.array([[1.0, 5.0]]), abs=0.1)


@pytest.mark.parametrize("space", [Bare.action_space, spaces.Discrete(7, start=3)])
def test_more_candidates_keep_the_first_ones(space: spaces.Space[Any]) -> None:
    policy = RandomPolicy(space)
    few, many = policy.propose({}, 2, seed=5).chunks, policy.propose({}, 9, seed=5).chunks
    assert np.array_equal(np.asarray(few), np.asarray(many)[:2])
    assert not np.array_equal(np.asarray(many), np.asarray(policy.propose({}, 9, seed=6).chunks))


def test_discrete_actions_are_in_the_space() -> None:
    space = spaces.Discrete(3, start=-1)
    chunks = RandomPolicy(space).propose({}, 60, seed=1).chunks
    assert {chunk[0] for chunk in chunks} == {-1, 0, 1}


def test_text_worlds_are_asked_for_their_choices() -> None:
    observation = {"text": "a room", "choices": ("look", "go to desk 1")}
    chunks = RandomPolicy(spaces.Text(100)).propose(observation, 40, seed=0).chunks
    assert {chunk[0] for chunk in chunks} == {"look", "go to desk 1"}


def test_what_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(ContractError, match="bounded Box"):
        RandomPolicy(spaces.Text(10)).propose({}, 1, seed=0)
    with pytest.raises(ContractError, match="choices are empty"):
        RandomPolicy(spaces.Text(10)).propose({"choices": ()}, 1, seed=0)
    with pytest.raises(ContractError, match="at least 1"):
        RandomPolicy(Bare.action_space).propose({}, 0, seed=0)


def test_hold_repeats_the_worlds_own_action() -> None:
    chunks = HoldPolicy(Still()).propose({}, 3, seed=9).chunks
    assert np.array_equal(np.asarray(chunks), np.tile([0.0, 2.0], (3, 1, 1)))


def test_builders_refuse_what_they_cannot_do() -> None:
    with pytest.raises(UsageError, match="takes no argument"):
        build_random("fast", Bare())
    with pytest.raises(UsageError, match="'wave' takes no argument, got 'fast'"):
        build_wave("fast", Bare())
    with pytest.raises(UsageError, match="hold_action"):
        build_hold("", Bare())
