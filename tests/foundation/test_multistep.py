"""MultiStep executes what it is given, no more, and looks only at the end."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from thinktwice.envs import MultiStep
from thinktwice.errors import ContractError


class Counter(gym.Env[dict[str, Any], Any]):
    """Counts steps and looks; succeeds at a given step."""

    def __init__(self, *, success_at: int = 100) -> None:
        self.observation_space = spaces.Dict({"state": spaces.Box(-np.inf, np.inf, (1,), np.float32)})
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.success_at, self.count, self.looks = success_at, 0, 0

    def observe(self) -> dict[str, Any]:
        self.looks += 1
        return {"state": np.array([self.count], np.float32)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.observe(), {}

    def advance(self, action: Any) -> tuple[float, bool, bool, dict[str, Any]]:
        self.count += 1
        done = self.count == self.success_at
        return float(action[0]), done, False, {"is_success": done, "count": self.count}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward, terminated, truncated, info = self.advance(action)
        return self.observe(), reward, terminated, truncated, info


class Blind(Counter):
    """The same world, able to step without looking."""

    def step_blind(self, action: Any) -> tuple[float, bool, bool, dict[str, Any]]:
        return self.advance(action)


def chunk(length: int) -> np.ndarray:
    return np.full((length, 2), 0.5, np.float32)


@pytest.mark.parametrize("world", [Counter, Blind])
def test_a_chunk_is_executed_in_order(world: type[Counter]) -> None:
    env = MultiStep(world())
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(chunk(3))
    assert (observation["state"], reward, terminated, truncated) == (3, 1.5, False, False)
    assert [entry["info"]["count"] for entry in info["steps"]] == [1, 2, 3]
    assert info["count"] == 3


def test_a_world_that_can_is_looked_at_once_per_chunk() -> None:
    inner = Blind()
    env = MultiStep(inner)
    env.reset(seed=0)
    env.step(chunk(8))
    assert inner.looks == 2


def test_every_frame_is_kept_when_asked_for() -> None:
    env = MultiStep(Blind(), every_step=True)
    env.reset(seed=0)
    info = env.step(chunk(3))[4]
    assert [float(entry["observation"]["state"][0]) for entry in info["steps"]] == [1, 2, 3]


def test_a_wrapper_in_between_is_never_bypassed() -> None:
    class Doubling(gym.ActionWrapper[Any, Any, Any]):
        def action(self, action: Any) -> Any:
            return action * 2

    env = MultiStep(Doubling(Blind()))
    env.reset(seed=0)
    assert env.step(chunk(1))[1] == 1.0


@pytest.mark.parametrize("world", [Counter, Blind])
def test_it_stops_at_success_and_refuses_to_go_on(world: type[Counter]) -> None:
    env = MultiStep(world(success_at=2))
    env.reset(seed=0)
    observation, _, terminated, _, info = env.step(chunk(5))
    assert terminated
    assert info["is_success"]
    assert len(info["steps"]) == 2
    assert observation["state"] == 2
    with pytest.raises(ContractError, match="call reset first"):
        env.step(chunk(1))
    env.reset(seed=0)
    env.step(chunk(1))


def test_nothing_runs_before_reset_and_nothing_of_a_bad_chunk() -> None:
    inner = Counter()
    env = MultiStep(inner)
    with pytest.raises(ContractError, match="call reset first"):
        env.step(chunk(1))
    env.reset(seed=0)
    bad = chunk(3)
    bad[2, 0] = np.nan
    with pytest.raises(ContractError, match="nothing was executed"):
        env.step(bad)
    assert inner.count == 0


def test_the_recorded_action_does_not_change_with_the_callers_array() -> None:
    env = MultiStep(Counter())
    env.reset(seed=0)
    actions = chunk(1)
    info = env.step(actions)[4]
    actions[:] = 9
    assert info["steps"][0]["action"][0] == 0.5


class Restorable(Counter):
    def save_state(self) -> int:
        return self.count

    def restore_state(self, state: int) -> None:
        self.count = state


def test_a_world_that_is_put_back_from_beyond_its_end_goes_on_and_one_put_back_to_its_end_does_not() -> None:
    env = MultiStep(Restorable(success_at=2))
    env.reset(seed=0)
    begun = env.save_state()
    assert env.step(chunk(2))[2]
    ended = env.save_state()
    env.restore_state(begun)
    assert not env.step(chunk(1))[2]
    env.restore_state(ended)
    with pytest.raises(ContractError, match="call reset first"):
        env.step(chunk(1))


def test_a_world_that_cannot_be_saved_says_so() -> None:
    env = MultiStep(Counter())
    env.reset(seed=0)
    with pytest.raises(ContractError, match="cannot be saved"):
        env.save_state()
