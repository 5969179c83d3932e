"""The planner wins from anywhere, on generated and on real games."""

import random

import pytest

from thinktwice.envs.alfworld.compiled import CompiledEngine
from thinktwice.envs.alfworld.games import TASK_TYPES, FolderGames
from thinktwice.envs.alfworld.generator import GeneratedGames
from thinktwice.envs.alfworld.planner import Planner, present_problem

pytestmark = pytest.mark.sim


def test_it_wins_every_real_game(real_games: FolderGames) -> None:
    planner, engine = Planner(), CompiledEngine()
    wins = []
    for task_type in TASK_TYPES:
        for number in real_games.numbers(task_type):
            game = real_games.load(task_type, number)
            reply = engine.start(game)
            plan = planner.plan(game, engine)
            for step in plan:
                reply = engine.step(step.command)
            wins.append(reply.won and len(plan) <= 50)
    assert len(wins) == 140
    assert sum(wins) >= 0.95 * len(wins)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_it_wins_from_the_middle_of_a_random_walk(task_type: str, generated: GeneratedGames) -> None:
    planner, engine = Planner(), CompiledEngine()
    rng = random.Random(task_type)
    for number in generated.numbers(task_type):
        game = generated.load(task_type, number)
        reply = engine.start(game)
        for _ in range(25):
            takes = [command for command in reply.commands if command.startswith("take ")]
            reply = engine.step(rng.choice(takes or reply.commands))
        for step in planner.plan(game, engine):
            reply = engine.step(step.command)
        assert reply.won, game.source


def test_the_reduced_problem_keeps_what_the_goal_needs_and_little_else(generated: GeneratedGames) -> None:
    engine = CompiledEngine()
    game = generated.load("pick_heat_then_place_in_recep", generated.numbers("pick_heat_then_place_in_recep")[0])
    engine.start(game)
    problem = present_problem(game, engine)
    target = game.goal.split()[3] if game.goal.startswith("put a hot") else game.goal.split()[2]
    assert f"{target}_bar_" in problem
    assert "microwave_bar_" in problem
    assert len(problem) < len(game.problem) / 2
