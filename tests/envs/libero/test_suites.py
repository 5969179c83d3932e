"""Suites, tasks and BDDL problems by name, without a simulator."""

import subprocess
import sys
from pathlib import Path

import pytest

from thinktwice.envs.libero.problem import read_problem
from thinktwice.envs.libero.suites import (
    STEP_CAPS,
    base_suite,
    check_init_state,
    find_task,
    step_cap,
    stored_states,
    suite_names,
    suite_tasks,
)
from thinktwice.errors import IdentityError, WorldError


def test_the_five_suites_have_130_tasks_with_50_stored_states_each() -> None:
    tasks = [task for suite in STEP_CAPS for task in suite_tasks(suite)]
    assert [len(suite_tasks(suite)) for suite in STEP_CAPS] == [10, 10, 10, 10, 90]
    assert len({task.name for task in tasks}) == 130
    assert {len(stored_states(task)) for task in tasks} == {50}


def test_the_order_and_the_instructions_are_the_benchmarks_own() -> None:
    assert find_task("libero_object/0").language == "pick up the alphabet soup and place it in the basket"
    assert find_task("libero_goal/7").language == "turn on the stove"
    assert find_task("libero_90/0").language == "close the top drawer of the cabinet"
    assert find_task("libero_10/2").language == "turn on the stove and put the moka pot on it"
    upstream = _upstream_instructions("libero_10") + _upstream_instructions("libero_90")
    assert [task.language for suite in ("libero_10", "libero_90") for task in suite_tasks(suite)] == upstream


def _upstream_instructions(suite: str) -> list[str]:
    from libero.libero.benchmark import task_maps

    return [task.language for task in task_maps[suite].values()]


def test_perturbed_suites_that_are_complete_are_offered_and_say_their_own_instruction() -> None:
    names = suite_names()
    changes = ("lan", "object", "swap", "task")
    assert {f"{suite}_{change}" for suite in list(STEP_CAPS)[:4] for change in changes} <= set(names)
    assert find_task("libero_goal_lan/0").language != find_task("libero_goal/0").language
    assert step_cap("libero_10_swap") == STEP_CAPS["libero_10"]


def test_a_perturbed_suite_with_missing_files_says_what_is_missing() -> None:
    with pytest.raises(WorldError, match=r"not complete in the installed wheels.*red_box"):
        suite_tasks("libero_goal_with_red_box")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("libero_objects/0", "Did you mean 'libero_object"),
        ("libero_object/10", "has 10 tasks, 0 to 9"),
        ("libero_object", "SUITE/INDEX"),
        ("libero_object/-1", "SUITE/INDEX"),
        ("libero_object/one", "SUITE/INDEX"),
        ("libero_100/0", "no LIBERO suite"),
    ],
)
def test_a_task_that_does_not_exist_is_named_in_the_error(name: str, message: str) -> None:
    with pytest.raises(IdentityError, match=message):
        find_task(name)


@pytest.mark.parametrize("index", [50, -1, True])
def test_an_initial_state_that_does_not_exist_is_refused(index: int) -> None:
    with pytest.raises(IdentityError, match="0 to 49"):
        check_init_state(find_task("libero_goal/0"), index)


def test_longest_suite_name_wins() -> None:
    assert base_suite("libero_10_swap") == "libero_10"
    assert base_suite("libero_goal") == "libero_goal"
    assert not base_suite("libero_study_table")


def test_a_problem_is_read_from_its_bddl_file() -> None:
    problem = find_task("libero_10/2").problem
    assert problem.goal == (("turnon", "flat_stove_1"), ("on", "moka_pot_1", "flat_stove_1_cook_region"))
    assert problem.fixtures["flat_stove_1"] == "flat_stove"
    assert problem.objects["moka_pot_1"] == "moka_pot"
    assert problem.regions["flat_stove_1_cook_region"].target == "flat_stove_1"
    assert problem.objects_of_interest == ("moka_pot_1", "flat_stove_1")


def test_every_goal_names_things_that_the_problem_declares() -> None:
    for suite in STEP_CAPS:
        for task in suite_tasks(suite):
            problem = task.problem
            known = {*problem.objects, *problem.fixtures, *problem.regions}
            # A fixture's own sites, such as a drawer, need no region in the file.
            parts = tuple(f"{name}_" for name in (*problem.fixtures, *problem.objects))
            for predicate, *arguments in problem.goal:
                assert predicate in {"in", "on", "open", "close", "turnon", "turnoff"}
                assert all(name in known or name.startswith(parts) for name in arguments), (task.name, arguments)


def test_a_broken_bddl_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bddl"
    broken.write_text("(define (problem X) (:language put it")
    with pytest.raises(WorldError, match=r"broken\.bddl is not a readable BDDL problem"):
        read_problem(broken)


@pytest.mark.slow
def test_names_need_no_simulator() -> None:
    code = (
        "import sys; from thinktwice.envs.libero.world import LiberoOptions, open_libero;"
        "world = open_libero('libero_90', LiberoOptions()); world.episodes(tasks=world.tasks()[:3], count=5, seed=0);"
        "world.describe(); print(sorted({'robosuite', 'torch', 'mujoco'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
