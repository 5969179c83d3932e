"""In which order goals are worked on."""

from __future__ import annotations

import pytest

from thinktwice.agents.experts.goals import companions, goal_of, order_goals
from thinktwice.agents.experts.modes import Modes
from thinktwice.envs.libero.problem import Problem, Region


def problem(*goal: tuple[str, ...]) -> Problem:
    regions = ("top_region", "bottom_region", "top_side")
    return Problem(
        domain="libero_kitchen_tabletop_manipulation",
        language="",
        goal=goal,
        initial=(),
        objects={"bowl_1": "bowl", "bowl_2": "bowl", "butter_1": "butter"},
        fixtures={"cabinet_1": "cabinet", "stove_1": "stove"},
        regions={f"cabinet_1_{name}": Region(name=f"cabinet_1_{name}", target="cabinet_1") for name in regions},
        objects_of_interest=(),
    )


CLOSE_TOP, OPEN_TOP = ("close", "cabinet_1_top_region"), ("open", "cabinet_1_top_region")
CLOSE_BOTTOM = ("close", "cabinet_1_bottom_region")
INTO_TOP = ("in", "butter_1", "cabinet_1_top_region")


@pytest.mark.parametrize("seed", range(8))
def test_a_drawer_is_filled_before_it_is_closed(seed: int) -> None:
    ordered = order_goals(problem(CLOSE_TOP, INTO_TOP), Modes(seed=seed))
    assert ordered == [INTO_TOP, CLOSE_TOP]


@pytest.mark.parametrize("seed", range(8))
def test_a_support_is_moved_before_something_is_stacked_on_it(seed: int) -> None:
    stack, move = ("on", "bowl_1", "bowl_2"), ("in", "bowl_2", "cabinet_1_top_region")
    assert order_goals(problem(stack, move), Modes(seed=seed)) == [move, stack]


@pytest.mark.parametrize("seed", range(8))
def test_one_drawer_is_closed_before_another_is_opened(seed: int) -> None:
    assert order_goals(problem(OPEN_TOP, CLOSE_BOTTOM), Modes(seed=seed)) == [CLOSE_BOTTOM, OPEN_TOP]


def test_free_orders_both_occur_and_are_fixed_by_the_seed() -> None:
    goals = (("on", "bowl_1", "stove_1"), ("on", "bowl_2", "cabinet_1_top_side"))
    orders = [tuple(order_goals(problem(*goals), Modes(seed=seed))) for seed in range(20)]
    assert set(orders) == {goals, goals[::-1]}
    assert orders == [tuple(order_goals(problem(*goals), Modes(seed=seed))) for seed in range(20)]


def test_objects_of_one_place_know_each_other() -> None:
    goals = [("on", "bowl_2", "stove_1"), ("on", "bowl_1", "stove_1"), INTO_TOP]
    assert companions(goals, goals[0]) == ["bowl_1", "bowl_2"]
    assert companions(goals, INTO_TOP) == ["butter_1"]


def test_an_object_without_a_goal_has_none() -> None:
    assert goal_of([CLOSE_TOP, INTO_TOP], "bowl_1") is None
    assert goal_of([CLOSE_TOP, INTO_TOP], "butter_1") == INTO_TOP


def test_sides_are_balanced_over_seeds() -> None:
    sides = [Modes(seed=seed).side("grasp bowl_1") for seed in range(200)]
    assert 70 < sides.count(1.0) < 130
