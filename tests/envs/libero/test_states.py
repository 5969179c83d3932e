"""Stored states, saving and restoring, and episodes that depend on nothing but their identity."""

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from thinktwice.envs.chunks import Array
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.libero.simulator import Simulator
from thinktwice.envs.libero.suites import find_task, stored_states

pytestmark = pytest.mark.sim

TASKS = [
    "libero_spatial/0",
    "libero_spatial/4",  # a bowl in a drawer
    "libero_object/3",
    "libero_goal/0",  # a drawer to open
    "libero_goal/7",  # a stove to turn on, which changes what is shown
    "libero_10/2",
    "libero_10/9",  # a microwave
    "libero_90/0",
    "libero_90/45",
    "libero_90/89",
    "libero_object_swap/1",
]


@pytest.fixture(scope="module", params=TASKS)
def env(request: pytest.FixtureRequest) -> Iterator[LiberoEnv]:
    env = LiberoEnv(task=request.param, cameras=())
    yield env
    env.close()


def actions(count: int, *, seed: int, down: float = 0.0) -> Array:
    """Random motions with a changing gripper, ``float32[count, 7]``."""
    drawn = np.random.default_rng(seed).uniform(-1, 1, (count, 7))
    drawn[:, 2] = np.clip(drawn[:, 2] - down, -1, 1)
    return drawn.astype(np.float32)


def play(env: LiberoEnv, moves: Array) -> list[Array]:
    """Everything the physics holds after each step."""
    seen: list[Array] = []
    for move in moves:
        _, success, _, info = env.step_blind(move)
        data = env.data
        derived = np.concatenate([env.observe()["state"], [success, info["elapsed_steps"], data.ncon]])
        seen.append(np.concatenate([[data.time], data.qpos, data.qvel, data.qacc_warmstart, data.ctrl, derived]))
    return seen


def touches(env: LiberoEnv) -> bool:
    """Whether the gripper touches something that is not the robot."""
    model, data = env.model, env.data
    names = [[model.body(model.geom_bodyid[geom]).name for geom in pair] for pair in data.contact.geom]
    return any(sum(name.startswith(("gripper0", "robot0")) for name in pair) == 1 for pair in names)


def test_a_stored_state_is_set_value_by_value() -> None:
    simulator = Simulator(find_task("libero_goal/3"))
    for index in (0, 17, 49):
        simulator.reset(seed=index, init_state=index, settle_steps=0)
        now = np.concatenate([[simulator.data.time], simulator.data.qpos, simulator.data.qvel])
        assert np.array_equal(now, stored_states(simulator.task)[index])
    simulator.close()


def test_restoring_repeats_40_steps_with_contacts_bit_for_bit(env: LiberoEnv) -> None:
    env.reset(seed=3, options={"init_state": 2})
    reach = np.array([0, 0, -1, 0, 0, 0, -1], np.float32)
    for _ in range(60):
        env.step_blind(reach)
        if touches(env):
            break
    assert touches(env)
    state = pickle.loads(pickle.dumps(env.save_state()))
    before = env.observe()["state"]
    moves = actions(40, seed=1, down=0.7)
    first = play(env, moves)
    env.step_blind(-reach)
    env.reset(seed=9)
    env.restore_state(state)
    assert np.array_equal(env.observe()["state"], before)
    assert np.array_equal(first, play(env, moves))


def test_an_episode_does_not_depend_on_what_was_played_before(env: LiberoEnv) -> None:
    moves = actions(15, seed=2)
    for options in ({"init_state": 4}, {"init_state": None}):
        env.reset(seed=5, options=options)
        body_poses, first = env.model.body_pos.copy(), play(env, moves)
        env.reset(seed=6)
        play(env, actions(10, seed=3, down=1.0))
        env.reset(seed=5, options=options)
        assert np.array_equal(body_poses, env.model.body_pos)
        assert np.array_equal(first, play(env, moves))


EPISODE = """
import hashlib, numpy as np
from thinktwice.envs.libero.env import LiberoEnv
def digest(env):
    observation, _ = env.reset(seed=2**40 + 7, options={"task": "libero_goal/1", "init_state": 8})
    seen = hashlib.sha256()
    for move in np.random.default_rng(0).uniform(-1, 1, (6, 7)).astype(np.float32):
        for key in ("images.agentview", "images.wrist", "state"):
            seen.update(np.ascontiguousarray(observation[key]).tobytes())
        observation, *_ = env.step(move)
    return seen.hexdigest()
"""


def test_a_fresh_process_shows_the_same_episode_after_any_other() -> None:
    code = "\nenv = LiberoEnv(height=64, width=64, rendering='fast')\nprint(digest(env))"
    fresh = subprocess.run([sys.executable, "-c", EPISODE + code], check=True, capture_output=True, text=True)
    scope: dict[str, object] = {}
    exec(EPISODE, scope)
    env = LiberoEnv(task="libero_object/2", height=64, width=64, rendering="fast")
    np.random.seed(123)  # noqa: NPY002  the generator that LIBERO draws from
    env.reset(seed=1)
    env.step(np.ones(7, np.float32))
    ours = scope["digest"](env)  # type: ignore[operator]
    env.close()
    assert fresh.stdout.strip() == ours
    # Leaving without close() must not end in noise.
    assert fresh.stderr == ""
    assert len(ours) == hashlib.sha256().digest_size * 2


def test_a_state_moves_to_another_environment_of_any_task(blind_env: LiberoEnv) -> None:
    blind_env.reset(seed=0, options={"task": "libero_goal/5", "init_state": 1})
    play(blind_env, actions(5, seed=0))
    state = blind_env.save_state()
    moves = actions(10, seed=4, down=1.0)
    first = play(blind_env, moves)
    other = LiberoEnv(task="libero_object/0", cameras=())
    other.restore_state(state)
    assert other.task.name == "libero_goal/5"
    assert other.elapsed_steps == 5
    assert np.array_equal(first, play(other, moves))
    other.close()


def test_fixtures_move_with_the_seed_and_the_callers_generator_does_not(blind_env: LiberoEnv) -> None:
    poses: list[Array] = []
    for seed in (1, 2, 1):
        np.random.seed(77)  # noqa: NPY002  the generator that LIBERO draws from
        expected = np.random.get_state()[1].tolist()  # noqa: NPY002
        blind_env.reset(seed=seed, options={"task": "libero_goal/5", "init_state": 0})
        assert np.random.get_state()[1].tolist() == expected  # noqa: NPY002
        poses.append(blind_env.model.body("wooden_cabinet_1_main").pos.copy())
    assert np.array_equal(poses[0], poses[2])
    assert 0 < np.abs(poses[0] - poses[1]).max() < 0.05
