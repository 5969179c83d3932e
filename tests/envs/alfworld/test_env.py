"""The gymnasium world: contract, identity, cap, inadmissible commands."""

import dataclasses
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.envs import MultiStep
from thinktwice.envs.alfworld.env import AlfworldEnv
from thinktwice.envs.alfworld.generator import GeneratedGames
from thinktwice.envs.alfworld.world import AlfworldOptions, open_alfworld
from thinktwice.envs.conformance import check_world
from thinktwice.errors import ContractError, IdentityError, UsageError


@pytest.mark.slow
def test_the_world_keeps_the_contract() -> None:
    check_world(open_alfworld("alfworld", AlfworldOptions(per_type=2)))


def test_gymnasium_makes_it_by_its_id() -> None:
    env = gym.make("thinktwice:thinktwice/ALFWorld-v0", games=GeneratedGames(per_type=1))
    first, info = env.reset(seed=3)
    assert first["text"].startswith("-= Welcome to TextWorld, ALFRED! =-")
    assert list(first["choices"]) == info["admissible_commands"]
    assert env.reset(seed=3)[1]["game"] == info["game"]


def test_an_episode_is_named_by_the_hash_of_its_game(generated: GeneratedGames) -> None:
    world = open_alfworld("alfworld", AlfworldOptions(per_type=4))
    episodes = world.episodes(tasks=["look_at_obj_in_light"], count=3, seed=1)
    env = world.make()
    for episode in episodes:
        _, info = env.reset(seed=episode.seed, options=episode.options())
        assert int(info["game"]["sha256"][:12], 16) == episode.init_state
    assert [episode.init_state for episode in episodes] == list(generated.numbers("look_at_obj_in_light")[:3])


def test_the_step_cap_truncates_and_is_no_success(generated: GeneratedGames) -> None:
    env = AlfworldEnv(games=generated, max_steps=3)
    env.reset(seed=0)
    assert env.step("look")[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step("fly to the moon")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert "metrics" not in info
    observation, reward, terminated, truncated, info = env.step("inventory")
    assert (reward, terminated, truncated, info["is_success"]) == (0.0, False, True, False)
    assert observation["text"] == "You are not carrying anything."
    assert info["metrics"] == {"inadmissible_commands": 1.0}
    with pytest.raises(ContractError, match="ended"):
        env.step("look")


def test_an_inadmissible_command_changes_nothing(generated: GeneratedGames) -> None:
    env = AlfworldEnv(games=generated)
    before, _ = env.reset(seed=0)
    after, reward, *_ = env.step("open the pod bay doors")
    assert after["text"] == "Nothing happens."
    assert after["choices"] == before["choices"]
    assert reward == 0.0


@pytest.mark.sim
def test_following_the_plan_wins_and_saved_states_replay(generated: GeneratedGames) -> None:
    env = AlfworldEnv(games=generated)
    stepper = MultiStep(env)
    stepper.reset(seed=0, options={"task": "pick_heat_then_place_in_recep"})
    plan = env.plan()
    for command in plan[:3]:
        stepper.step([command])
    saved = env.save_state()
    assert env.plan() == plan[3:]
    observation, reward, terminated, truncated, info = stepper.step(list(plan[3:]))
    assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
    env.restore_state(saved)
    again, *_ = env.step(plan[3])
    other = AlfworldEnv(games=generated)
    other.restore_state(saved)
    fresh, *_ = other.step(plan[3])
    assert again["text"] == fresh["text"]
    assert np.array_equal(again["images.front"], fresh["images.front"])
    assert observation["text"]
    other.close()
    env.close()


def test_more_episodes_than_games_are_refused_unless_every_game_is_asked_for() -> None:
    world = open_alfworld("alfworld", AlfworldOptions(per_type=2))
    with pytest.raises(IdentityError, match="--per-type"):
        world.episodes(tasks=["pick_and_place_simple"], count=3, seed=0)
    every = dataclasses.replace(world, options=AlfworldOptions(per_type=2, every_game=True))
    assert len(every.episodes(tasks=every.tasks(), count=1, seed=0)) == 12
    with pytest.raises(IdentityError, match="Did you mean"):
        world.episodes(tasks=["pick_and_place"], count=1, seed=0)


def test_wrong_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no split 'valid_sen'"):
        open_alfworld("alfworld", AlfworldOptions(games=tmp_path, split="valid_sen")).tasks()
    (tmp_path / "valid_seen").mkdir()
    with pytest.raises(UsageError, match="no playable"):
        open_alfworld("alfworld", AlfworldOptions(games=tmp_path)).tasks()
    trial = tmp_path / "valid_seen" / "task" / "trial"
    trial.mkdir(parents=True)
    (trial / "game.tw-pddl").write_text("{")
    (trial / "traj_data.json").write_text('{"task_type": "pick_and_place_simple"}')
    with pytest.raises(UsageError, match="is not a game"):
        open_alfworld("alfworld", AlfworldOptions(games=tmp_path)).tasks()
