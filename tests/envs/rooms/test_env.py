"""The environment in the real simulator."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import thinktwice
from thinktwice.envs import WORLDS, World, check_observation, derive_seed
from thinktwice.envs.rooms.actions import Move
from thinktwice.envs.rooms.env import RoomsEnv
from thinktwice.envs.rooms.scenarios import Scenario
from thinktwice.envs.rooms.world import RoomsOptions, open_rooms
from thinktwice.errors import ConfigError, ContractError, IdentityError, UsageError

pytestmark = pytest.mark.sim
assert thinktwice.__version__

DIGEST = """
import hashlib
from thinktwice.envs.rooms.env import RoomsEnv
env = RoomsEnv(size=96)
digest = hashlib.sha256()
for house in (3, 4):
    observation, info = env.reset(seed=house, options={"task": "test/hard", "init_state": house})
    for action in (1, 2, 1, 6, 5, 3, 1, 1):
        observation, _, _, _, info = env.step(action)
        digest.update(observation["images.front"].tobytes() + info["instances"].tobytes())
        digest.update((observation["depth.front"] * 1000).round().astype("int64").tobytes())
        digest.update(observation["state"].tobytes() + observation["task"].encode())
env.close()
print(digest.hexdigest())
"""


def go_to(env: RoomsEnv, scenario: Scenario, *, near: bool = True) -> None:
    """Put the agent where the target is seen, by moving it from outside."""
    view = scenario.viewpoints[0]
    env._x, env._y, env._yaw, env._pitch = view.x, view.y, view.yaw, view.pitch
    if not near:
        env._x, env._y, env._yaw, env._pitch = scenario.x, scenario.y, scenario.yaw, view.pitch


def test_gymnasium_s_checker_passes() -> None:
    env = gym.make("thinktwice/Rooms-v0", size=64).unwrapped
    check_env(env, skip_render_check=True)
    env.close()


def test_continuous_actions_pass_the_checker_too() -> None:
    env = RoomsEnv(size=64, continuous=True)
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    before = env.pose
    env.step(np.array([0, 1, 0, 0, 0], np.float32))
    assert env.pose[2] != before[2]
    with pytest.raises(ContractError, match="finite"):
        env.step(np.array([np.nan, 0, 0, 0, 0], np.float32))
    env.close()


def test_observations_follow_the_scheme(rooms: RoomsEnv) -> None:
    observation, info = rooms.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    check_observation(observation)
    assert rooms.observation_space.contains(observation)
    assert info["instances"].shape == observation["depth.front"].shape
    assert (observation["state"][:2] == 0).all()
    assert set(np.unique(info["instances"])) <= {0, *rooms.house.by_id}


def test_depth_is_in_metres(rooms: RoomsEnv) -> None:
    observation, _ = rooms.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    for _ in range(2):
        observation, *_ = rooms.step(Move.DOWN)
    # Looking 60 degrees down from 1.25 m, the optical axis meets the floor at 1.25 / sin(60) unless something is there.
    middle = float(observation["depth.front"][64, 64])
    assert middle <= 1.25 / np.sin(np.radians(60)) + 0.02
    assert observation["depth.front"].max() < 20


def test_an_episode_is_the_same_whatever_came_before(rooms: RoomsEnv) -> None:
    options = {"task": "test/hard", "init_state": 5}
    first, _ = rooms.reset(seed=9, options=options)
    rooms.step(Move.OPEN)
    rooms.reset(seed=2, options={"task": "val/easy", "init_state": 0})
    again, _ = rooms.reset(seed=9, options=options)
    fresh = RoomsEnv(size=128)
    other, _ = fresh.reset(seed=9, options=options)
    fresh.close()
    for key in first:
        assert np.array_equal(first[key], again[key]), key
        assert np.array_equal(first[key], other[key]), key


def test_the_task_does_not_depend_on_the_image_size(rooms: RoomsEnv) -> None:
    options = {"task": "val/medium", "init_state": 3}
    rooms.reset(seed=4, options=options)
    big = RoomsEnv(size=256)
    big.reset(seed=4, options=options)
    ours, theirs = rooms.scenario, big.scenario
    assert (ours.target, ours.expression, ours.x, ours.y, ours.yaw) == (
        theirs.target,
        theirs.expression,
        theirs.x,
        theirs.y,
        theirs.yaw,
    )
    big.close()


def test_egl_and_osmesa_show_the_same_frames() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend, "PYTHONHASHSEED": salt},
        ).stdout
        for backend, salt in (("egl", "1"), ("osmesa", "2"))
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == len(hashlib.sha256().hexdigest())


def test_the_target_is_hidden_at_the_start_and_can_be_seen_from_every_viewpoint(rooms: RoomsEnv) -> None:
    forms = set[str]()
    for index in range(12):
        task = f"val/{('easy', 'medium', 'hard')[index % 3]}"
        _, info = rooms.reset(seed=derive_seed("hidden", index), options={"task": task, "init_state": index})
        scenario = rooms.scenario
        forms.add(scenario.form)
        assert not (info["instances"] == scenario.target).any()
        assert scenario.shortest >= {"easy": 2.0, "medium": 3.0, "hard": 4.0}[rooms.house.difficulty]
    assert len(forms) >= 3


def test_stopping_in_view_of_the_target_succeeds(rooms: RoomsEnv) -> None:
    rooms.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    go_to(rooms, rooms.scenario)
    rooms._observe()
    rooms.submit_mask(np.zeros((128, 128), np.bool_))
    _, reward, terminated, truncated, info = rooms.step(Move.STOP)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["is_success"]
    assert info["metrics"]["success"] == 1.0
    with pytest.raises(ContractError, match="reset"):
        rooms.step(Move.FORWARD)


def test_stopping_elsewhere_fails_and_not_stopping_fails() -> None:
    env = RoomsEnv(size=64, max_steps=3)
    env.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    _, reward, terminated, _, info = env.step(Move.STOP)
    assert (reward, terminated, info["is_success"]) == (0.0, True, False)
    env.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    go_to(env, env.scenario)
    for _ in range(3):
        _, _, terminated, truncated, info = env.step(Move.LEFT)
    assert (terminated, truncated, info["is_success"]) == (False, True, False)
    assert info["metrics"]["stopped"] == 0.0
    env.close()


def test_submitted_masks_are_judged_and_can_be_revised(rooms: RoomsEnv) -> None:
    rooms.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    go_to(rooms, rooms.scenario)
    *_, info = rooms.step(Move.UP)
    *_, info = rooms.step(Move.DOWN)
    truth = info["instances"] == rooms.scenario.target
    assert truth.any()
    rooms.submit_mask(~truth)
    rooms.submit_mask(truth, frame=2)
    rooms.submit_mask(np.zeros_like(truth), frame=0)
    *_, info = rooms.step(Move.STOP)
    assert info["metrics"]["final_j"] == 1.0
    assert info["metrics"]["null_accuracy"] == 1.0
    with pytest.raises(ContractError, match="frame"):
        rooms.submit_mask(truth, frame=7)
    with pytest.raises(ContractError, match="bool"):
        rooms.submit_mask(np.zeros((4, 4), np.bool_))


def test_a_container_opens_from_its_front_and_shows_what_it_hides() -> None:
    env = RoomsEnv(size=128)
    shown = 0
    for index in range(6):
        env.reset(seed=index, options={"task": "val/hard", "init_state": index})
        for item in env.house.furniture():
            if not item.shape.opens or item.id in env.opened:
                continue
            inside = [i.id for i in env.house.objects() if i.support == item.id and i.relation == "in"]
            out = item.shape.extent[0] / 2 + 0.7
            env._x, env._y = item.x + out * np.cos(item.yaw), item.y + out * np.sin(item.yaw)
            env._yaw, env._pitch = item.yaw + np.pi, np.radians(-20)
            *_, info = env.step(Move.LEFT)
            *_, info = env.step(Move.RIGHT)
            assert not np.isin(info["instances"], inside).any()
            *_, info = env.step(Move.OPEN)
            assert info["opened"] == item.id
            shown += bool(np.isin(info["instances"], inside).any())
            *_, info = env.step(Move.OPEN)
            assert info["opened"] != item.id
    assert shown >= 3
    env.close()


def test_one_s_own_words_may_ask_for_something(rooms: RoomsEnv) -> None:
    options = {"task": "val/easy", "init_state": 1}
    rooms.reset(seed=1, options=options)
    words = rooms.scenario.expression
    observation, _ = rooms.reset(seed=2, options={**options, "expression": words})
    assert observation["task"] == words
    with pytest.raises(UsageError, match="empty"):
        rooms.reset(seed=2, options={**options, "expression": " "})
    with pytest.raises(UsageError, match="refers"):
        rooms.reset(seed=2, options={**options, "expression": "the spaceship"})
    with pytest.raises(IdentityError, match="exactly one"):
        rooms.reset(seed=2, options={**options, "expression": "the purple wooden banana"})


@pytest.mark.parametrize(
    "options", [{"task": "moon/easy"}, {"task": "val/tiny"}, {"init_state": -1}, {"init_state": 10**6}]
)
def test_an_unknown_episode_is_an_error(rooms: RoomsEnv, options: dict[str, object]) -> None:
    with pytest.raises(IdentityError):
        rooms.reset(seed=0, options=options)


def test_bad_actions_and_sizes_are_errors(rooms: RoomsEnv) -> None:
    rooms.reset(seed=1, options={"task": "val/easy", "init_state": 1})
    for action in (7, -1, "stop", 1.5, True):
        with pytest.raises(ContractError, match="none of"):
            rooms.step(action)
    with pytest.raises(ContractError, match="size"):
        RoomsEnv(size=8)
    with pytest.raises(ContractError, match="reset"):
        RoomsEnv().submit_mask(np.zeros((256, 256), np.bool_))
    with pytest.raises(ConfigError, match="max_steps"):
        open_rooms("rooms", RoomsOptions(max_steps=0))


def test_the_world_names_its_episodes() -> None:
    world = open_rooms("rooms", RoomsOptions(split="val"))
    assert isinstance(world, World)
    assert "rooms" in WORLDS
    episodes = world.episodes(tasks=world.tasks(), count=3, seed=0)
    assert len({episode.key for episode in episodes}) == 9
    assert episodes[:2] == world.episodes(tasks=world.tasks(), count=2, seed=0)[:2]
    with pytest.raises(IdentityError, match="task"):
        world.episodes(tasks=["test/easy"], count=1, seed=0)


def test_a_saved_state_is_put_back_also_in_another_environment(rooms: RoomsEnv) -> None:
    rng = np.random.default_rng(0)
    actions = [int(move) for move in rng.choice([Move.FORWARD, Move.LEFT, Move.RIGHT, Move.OPEN], 24)]

    def play(env: RoomsEnv) -> tuple[list[np.ndarray], dict[str, float]]:
        views = [env.step(action)[0]["images.front"] for action in actions]
        return views, env.step(Move.STOP)[4]["metrics"]

    rooms.reset(seed=5, options={"task": "val/easy", "init_state": 2})
    for action in actions:
        rooms.step(action)
    rooms.submit_mask(rooms.instances == rooms.scenario.target)
    saved = pickle.loads(pickle.dumps(rooms.save_state()))
    kept = rooms.save_state()
    views, metrics = play(rooms)
    other = RoomsEnv(size=128)
    for env, state in ((rooms, kept), (other, saved)):
        env.reset(seed=1, options={"task": "val/easy", "init_state": 3})
        env.restore_state(state)
        again, repeated = play(env)
        assert all(np.array_equal(a, b) for a, b in zip(views, again, strict=True))
        assert repeated == metrics
    other.close()
