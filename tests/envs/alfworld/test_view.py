"""The view shows the game's state: what is where, what is closed, what was moved, what is held."""

import numpy as np
import pytest

from thinktwice.envs.alfworld.env import AlfworldEnv
from thinktwice.envs.alfworld.games import FolderGames
from thinktwice.envs.alfworld.generator import GeneratedGames
from thinktwice.envs.alfworld.poses import entity_kind, entity_point, location_pose
from thinktwice.errors import ContractError, UsageError

pytestmark = pytest.mark.sim


def visible_contents(env: AlfworldEnv) -> tuple[int, int]:
    """How many of the things that the text lists are visible, over every receptacle of the game, and of how many."""
    observation, _ = env.reset(seed=0)
    seen = listed = 0
    for command in [c for c in observation["choices"] if c.startswith("go to ")]:
        if command not in env.step("look")[0]["choices"]:
            continue
        observation = env.step(command)[0]
        opening = [c for c in observation["choices"] if c.startswith("open ")]
        if opening:
            observation = env.step(opening[0])[0]
        if "you see" in observation["text"] and "nothing" not in observation["text"]:
            names = observation["text"].rpartition("you see ")[2].rstrip(".").replace(", and ", ", ").split(", ")
            pixels = env.segmentation().pixels()
            listed += len(names)
            seen += sum(pixels.get(name.removeprefix("a "), 0) > 3 for name in names)
    return seen, listed


def test_generated_games_show_nearly_all_that_the_text_lists() -> None:
    env = AlfworldEnv(games=GeneratedGames(per_type=3), max_steps=1000)
    seen, listed = visible_contents(env)
    assert listed > 5
    assert seen / listed > 0.9
    env.close()


def test_real_games_show_most_of_what_the_text_lists(real_games: FolderGames) -> None:
    env = AlfworldEnv(games=real_games, max_steps=1000)
    seen, listed = visible_contents(env)
    assert listed > 10
    assert seen / listed > 0.6
    env.close()


def test_opening_reveals_taking_holds_and_putting_moves() -> None:
    games = GeneratedGames(per_type=6)
    env = AlfworldEnv(games=games)
    for number in games.numbers("pick_and_place_simple"):
        env.reset(seed=0, options={"task": "pick_and_place_simple", "init_state": number})
        plan = env.plan()
        if plan[1].startswith("open "):
            break
    else:
        pytest.fail("none of six games hides its object")
    target = next(command for command in plan if command.startswith("take ")).removeprefix("take ").split(" from ")[0]
    env.step(plan[0])
    closed = env.segmentation()
    assert target not in closed.pixels()
    opened, *_ = env.step(plan[1])
    inside = env.segmentation()
    assert inside.pixels()[target] > 3
    assert plan[1].removeprefix("open ") in inside.opened
    env.step(plan[2])
    held = env.segmentation()
    assert held.held == {target}
    assert held.pixels()[target] > inside.pixels()[target] or held.pixels()[target] > 100
    for command in plan[3:]:
        after, *_ = env.step(command)
    put = env.segmentation()
    assert put.held == frozenset()
    assert target in put.pixels()
    assert opened["images.front"].shape == (300, 300, 3)
    assert not np.array_equal(opened["images.front"], after["images.front"])
    env.close()


def test_images_repeat_and_two_environments_do_not_disturb_each_other() -> None:
    first, second = AlfworldEnv(games=GeneratedGames(per_type=1)), AlfworldEnv(games=GeneratedGames(per_type=1))
    one, _ = first.reset(seed=1)
    second.reset(seed=5)
    two, _ = first.reset(seed=1)
    assert np.array_equal(one["images.front"], two["images.front"])
    assert one["images.front"].std() > 10
    assert first.segmentation().ids.shape == (300, 300)
    first.close()
    second.close()


def test_a_world_without_images_has_no_view() -> None:
    env = AlfworldEnv(games=GeneratedGames(per_type=1), images=False)
    observation, _ = env.reset(seed=0)
    assert set(observation) == {"text", "task", "choices"}
    with pytest.raises(ContractError, match="images"):
        env.segmentation()


def test_identifiers_carry_points_and_poses() -> None:
    assert entity_kind("sink_bar__plus_00_dot_25_bar_x_bar_sinkbasin") == "sinkbasin"
    point = entity_point("mug_bar__plus_00_dot_25_bar__plus_00_dot_90_bar__minus_01_dot_10")
    assert point.tolist() == [0.25, -1.1, 0.9]
    pose = location_pose("loc_bar_1_bar__minus_3_bar_1_bar__minus_30")
    assert np.allclose(pose.eye, [0.25, -0.75, 1.576])
    assert np.allclose(pose.forward, [np.cos(np.pi / 6), 0, 0.5])
    assert np.allclose(pose.right, [0, -1, 0])
    with pytest.raises(UsageError, match="does not carry"):
        entity_point("mug")
