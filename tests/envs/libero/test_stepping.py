"""The exact stepping beside robosuite's own: the same states, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from thinktwice.agents.policies.expert import build_expert
from thinktwice.envs.chunks import Array
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.libero.state import PhysicsState
from thinktwice.errors import ConfigError

pytestmark = pytest.mark.sim

FEW = ("libero_object/0", "libero_goal/7", "libero_10/3")
MANY = tuple(
    f"{suite}/{index}"
    for suite, indices in {
        "libero_spatial": (0, 3, 5, 9),
        "libero_object": (1, 4, 6, 8),
        "libero_goal": (0, 2, 5, 9),
        "libero_10": (0, 2, 8, 9),
        "libero_90": (0, 21, 45, 87),
    }.items()
    for index in indices
)


def stock_and_exact_agree(task: str, steps: int) -> None:
    """The expert's actions, then wild ones with a changing gripper: it grasps, pushes and collides."""
    stock, exact = (LiberoEnv(task=task, cameras=(), stepping=stepping) for stepping in ("stock", "exact"))
    try:
        observation, _ = stock.reset(seed=5, options={"init_state": 2})
        exact.reset(seed=5, options={"init_state": 2})
        expert, random = build_expert("", stock), np.random.default_rng(0)
        contacts = set[int]()
        for step in range(steps):
            expert_drives = step < 0.7 * steps
            move: Array = (
                expert.propose(observation, 1, seed=0).chunks[0][0] if expert_drives else random.uniform(-1, 1, 7)
            )
            observation, _, success, _, _ = stock.step(move)
            _, also_success, _, _ = exact.step_blind(move)
            assert success == also_success
            for name in ("qpos", "qvel", "qacc_warmstart", "ctrl"):
                assert np.array_equal(getattr(stock.data, name), getattr(exact.data, name)), (task, step, name)
            contacts.add(stock.data.ncon)
        assert len(contacts) > 1
        same_future(stock.save_state().physics, exact.save_state().physics)
    finally:
        stock.close()
        exact.close()


def same_future(one: PhysicsState, other: PhysicsState) -> None:
    """What decides the future is equal; what a controller saw last is looked at again before it is used."""
    assert np.array_equal(one.integration, other.integration)
    assert np.array_equal(one.gripper, other.gripper)
    assert one.clock == other.clock
    for name in ("goal_pos", "goal_ori", "initial_joint", "new_update"):
        assert np.array_equal(one.controller[name], other.controller[name]), name


@pytest.mark.parametrize("task", FEW)
def test_both_steppings_give_the_same_states(task: str) -> None:
    stock_and_exact_agree(task, steps=60)


@pytest.mark.long
@pytest.mark.parametrize("task", MANY)
def test_both_steppings_give_the_same_states_on_twenty_tasks(task: str) -> None:
    stock_and_exact_agree(task, steps=200)


def test_a_saved_state_goes_on_in_the_other_stepping() -> None:
    stock, exact = (LiberoEnv(cameras=(), stepping=stepping) for stepping in ("stock", "exact"))
    moves = np.random.default_rng(1).uniform(-1, 1, (12, 7))
    exact.reset(seed=0, options={"init_state": 0})
    for move in moves[:6]:
        exact.step_blind(move)
    saved = exact.save_state()
    stock.restore_state(saved)
    for move in moves[6:]:
        stock.step_blind(move)
        exact.step_blind(move)
        assert np.array_equal(stock.data.qpos, exact.data.qpos)
    stock.close()
    exact.close()


def test_a_wrong_stepping_is_refused() -> None:
    with pytest.raises(ConfigError, match="stepping 'fast'"):
        LiberoEnv(stepping="fast")  # type: ignore[arg-type]  # the mistake under test
