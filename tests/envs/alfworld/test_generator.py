"""Generated games are solvable, unsolved, repeatable, and loadable by alfworld itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from thinktwice.envs.alfworld.compiled import CompiledEngine
from thinktwice.envs.alfworld.furniture import furniture
from thinktwice.envs.alfworld.games import TASK_TYPES, FolderGames
from thinktwice.envs.alfworld.generator import Difficulty, GeneratedGames, generate_game, write_games
from thinktwice.envs.alfworld.generator.generate import alfworld_rules
from thinktwice.envs.alfworld.generator.rooms import rooms
from thinktwice.errors import IdentityError, UsageError


def test_every_kind_of_room_has_at_least_four_layouts() -> None:
    assert {kind: len(layouts) >= 4 for kind, layouts in rooms().items()} == dict.fromkeys(
        ("kitchen", "bedroom", "bathroom", "living_room"), True
    )


def test_furniture_stands_inside_its_room_and_apart_along_each_wall() -> None:
    for layouts in rooms().values():
        for room in layouts:
            standing = [place for place in room.places if furniture().receptacles[place.kind].origin == "floor"]
            for index, one in enumerate(standing):
                for other in standing[index + 1 :]:
                    assert one.origin != other.origin, (room.kind, room.layout, one.kind, other.kind)
                    if one.pose[2] == other.pose[2]:
                        along = 0 if one.pose[2] % 2 == 0 else 2
                        apart = abs(one.origin[along] - other.origin[along])
                        wide = (furniture().receptacles[k].size[0] for k in (one.kind, other.kind))
                        behind = abs(one.origin[2 - along] - other.origin[2 - along]) > 0.8
                        assert behind or apart >= sum(wide) / 2 - 1e-9, (room.kind, room.layout, one.kind, other.kind)


def test_every_kind_that_a_generated_game_can_hold_has_a_shape() -> None:
    places = {place.kind for layouts in rooms().values() for room in layouts for place in room.places}
    assert places <= set(furniture().receptacles)
    assert places <= set(alfworld_rules().contains)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_games_begin_unsolved_and_name_their_goal(generated: GeneratedGames, task_type: str) -> None:
    engine = CompiledEngine()
    numbers = generated.numbers(task_type)
    assert len(numbers) == 4
    for number in numbers:
        game = generated.load(task_type, number)
        reply = engine.start(game)
        assert not reply.won
        assert reply.text.endswith(f"Your task is to: {game.goal}.")
        assert {"look", "inventory", "help"} < set(reply.commands)


@pytest.mark.sim
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_the_planner_wins_what_was_generated(generated: GeneratedGames, task_type: str) -> None:
    from thinktwice.envs.alfworld.planner import Planner

    planner, engine = Planner(), CompiledEngine()
    for number in generated.numbers(task_type):
        game = generated.load(task_type, number)
        reply = engine.start(game)
        for step in planner.plan(game, engine):
            reply = engine.step(step.command)
            assert reply.operator == step.operator, f"{step} of the plan was not admissible in {game.source}"
        assert reply.won, game.source
        assert planner.plan(game, engine) == ()


@pytest.mark.sim
def test_alfworlds_own_environment_loads_the_written_games(tmp_path: Path) -> None:
    from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv

    games = GeneratedGames(per_type=1, seed=5)
    written = write_games(games, tmp_path, split="train")
    config = {
        "dataset": {"data_path": str(tmp_path / "json_2.1.1" / "train"), "num_train_games": -1},
        "env": {"task_types": [1, 2, 3, 4, 5, 6], "goal_desc_human_anns_prob": 0},
    }
    theirs = AlfredTWEnv(config, train_eval="train")
    assert sorted(theirs.game_files) == sorted(map(str, written))
    ours = FolderGames(folder=tmp_path, split="train")
    for task_type in TASK_TYPES:
        assert ours.numbers(task_type) == games.numbers(task_type)
        number = ours.numbers(task_type)[0]
        assert ours.load(task_type, number).problem == games.load(task_type, number).problem


@pytest.mark.slow
def test_a_set_is_the_same_in_every_process_and_for_every_hash_seed(generated: GeneratedGames) -> None:
    code = (
        "from thinktwice.envs.alfworld.generator import GeneratedGames as G;"
        "print([G(per_type=4).numbers(t) for t in ('pick_cool_then_place_in_recep', 'pick_and_place_simple')])"
    )
    expected = [generated.numbers(t) for t in ("pick_cool_then_place_in_recep", "pick_and_place_simple")]
    for hash_seed in ("0", "7"):
        result = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == str(expected)


@pytest.mark.sim
def test_plans_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from thinktwice.envs.alfworld.generator import GeneratedGames as G;"
        "from thinktwice.envs.alfworld.planner import Planner;"
        "from thinktwice.envs.alfworld.compiled import CompiledEngine as E;"
        "t = 'pick_clean_then_place_in_recep'; s = G(per_type=1); e = E();"
        "g = s.load(t, s.numbers(t)[0]); e.start(g); print(Planner().plan(g, e))"
    )
    plans = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "7")
    }
    assert len(plans) == 1
    assert "go to" in plans.pop()


def test_difficulty_changes_the_games() -> None:
    def facts(difficulty: Difficulty) -> tuple[int, int]:
        game, task = generate_game("pick_two_obj_and_place", 0, seed=0, difficulty=difficulty)
        closed = sum(task.room.places[item.place].kind in alfworld_rules().openable for item in task.items)
        assert game.goal.startswith(("put two", "find two"))
        return len(task.items), closed

    assert facts(Difficulty(clutter=0, hidden=0.0)) == (2, 0)
    assert facts(Difficulty(clutter=0, hidden=1.0)) == (2, 2)
    assert facts(Difficulty(clutter=5, hidden=0.0, spares=1))[0] == 8


@pytest.mark.parametrize("wrong", [{"clutter": -1}, {"hidden": 1.5}, {"spares": -2}])
def test_impossible_difficulties_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="clutter and spares"):
        Difficulty(**wrong)


def test_unknown_games_are_refused(generated: GeneratedGames) -> None:
    with pytest.raises(IdentityError, match="pick_and_place_simple"):
        generated.load("pick_and_place", 0)
    with pytest.raises(IdentityError, match="no pick_and_place_simple game 12"):
        generated.load("pick_and_place_simple", 12)
    with pytest.raises(UsageError, match="per_type"):
        GeneratedGames(per_type=0)
