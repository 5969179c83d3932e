"""Generated games: a fixed set for every seed, without any data to download."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....errors import MissingDependency, UsageError
from ...episodes import derive_seed
from ..games import INSTALL, TASK_TYPES, Game, check_task_type, file_bytes, installed_rules, unknown_game, with_goal
from .problem import goal_texts, problem_text
from .rooms import Room, rooms
from .tasks import ROOMS_OF_TASK, Difficulty, Rules, Task, draw_task


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratedGames:
    """``per_type`` games of each of the six types, over all layouts of the rooms that suit a type.

    Attributes:
        per_type: how many games of each type.
        seed: of the whole set.
        difficulty: how hard they are.

    Raises:
        UsageError: ``per_type`` is less than 1.
    """

    per_type: int = 50
    seed: int = 0
    difficulty: Difficulty = dataclasses.field(default_factory=Difficulty)

    def __post_init__(self) -> None:
        if self.per_type < 1:
            raise UsageError(f"per_type must be at least 1, got {self.per_type}.")

    def numbers(self, task_type: str) -> tuple[int, ...]:
        """See `GameSet.numbers`; in the order in which they were drawn."""
        return tuple(_generated(self, check_task_type(task_type)))

    def load(self, task_type: str, number: int) -> Game:
        """See `GameSet.load`."""
        game = _generated(self, check_task_type(task_type)).get(number)
        if game is None:
            raise unknown_game(task_type, number)
        return game

    def describe(self) -> dict[str, Any]:
        """What the set was drawn with."""
        return {"games": "generated", **dataclasses.asdict(self)}


def generate_game(task_type: str, index: int, *, seed: int, difficulty: Difficulty) -> tuple[Game, Task]:
    """One game of a type.

    Args:
        task_type: one of `TASK_TYPES`.
        index: its place among the games of its type; it decides the room and the layout in turn.
        seed: of the set.
        difficulty: how hard it is.

    Raises:
        IdentityError: there is no such type.
        UsageError: the room has no space for so much.
        MissingDependency: alfworld is not installed.
    """
    check_task_type(task_type)
    rules = alfworld_rules()
    from alfworld.gen.goal_library import gdict

    rng = random.Random(derive_seed("alfworld", task_type, index, seed, difficulty))  # noqa: S311  not for secrets
    task = draw_task(task_type, _room(task_type, index), rules, difficulty, rng)
    goal, instruction = goal_texts(task, gdict, rng)
    domain, grammar, problem = installed_rules()[0], with_goal(instruction), problem_text(task, rules, goal)
    sha256 = hashlib.sha256(file_bytes(domain=domain, grammar=grammar, problem=problem)).hexdigest()
    game = Game(
        task_type=task_type,
        sha256=sha256,
        source=f"generated: {task.room.kind} {task.room.layout}, seed {seed}, index {index}",
        domain=domain,
        grammar=grammar,
        problem=problem,
    )
    return game, task


def write_games(games: GeneratedGames, folder: Path, *, split: str) -> list[Path]:
    """Write a set in the ``json_2.1.1`` layout, so that alfworld's own `AlfredTWEnv` loads it.

    Args:
        games: the set.
        folder: ``<folder>/json_2.1.1/<split>/<task>/<trial>/`` is made for each game.
        split: ``"train"``, ``"valid_seen"``, …

    Returns:
        The game files' paths.
    """
    written: list[Path] = []
    for task_type in TASK_TYPES:
        for index in range(games.per_type):
            game, task = generate_game(task_type, index, seed=games.seed, difficulty=games.difficulty)
            name = f"{task_type}-{task.target}-None-{task.destination or task.lamp}-{task.room.kind}{task.room.layout}"
            path = folder / "json_2.1.1" / split / name / f"trial_{index:04d}"
            path.mkdir(parents=True, exist_ok=True)
            (path / "game.tw-pddl").write_bytes(
                file_bytes(domain=game.domain, grammar=game.grammar, problem=game.problem)
            )
            (path / "traj_data.json").write_text(json.dumps(_trajectory(game, task)), encoding="utf-8")
            written.append(path / "game.tw-pddl")
    return written


@functools.cache
def alfworld_rules() -> Rules:
    """What the installed alfworld says about its classes.

    Raises:
        MissingDependency: alfworld is not installed.
    """
    try:
        from alfworld.gen import constants
    except ImportError as error:
        raise MissingDependency("alfworld", purpose="Generating ALFWorld games", install=INSTALL) from error
    return Rules(
        contains={kind: tuple(sorted(held)) for kind, held in sorted(constants.VAL_RECEPTACLE_OBJECTS.items())},
        able={ability: tuple(sorted(kinds)) for ability, kinds in sorted(constants.VAL_ACTION_OBJECTS.items())},
        openable=tuple(sorted(constants.OPENABLE_CLASS_LIST)),
        movable=tuple(sorted(constants.MOVABLE_RECEPTACLES_SET)),
    )


@functools.lru_cache(maxsize=24)
def _generated(games: GeneratedGames, task_type: str) -> Mapping[int, Game]:
    drawn = (
        generate_game(task_type, index, seed=games.seed, difficulty=games.difficulty)[0]
        for index in range(games.per_type)
    )
    return {game.number: game for game in drawn}


def _room(task_type: str, index: int) -> Room:
    """The kinds of room in turn, and within each kind its layouts in turn."""
    kinds = ROOMS_OF_TASK[task_type]
    layouts = rooms()[kinds[index % len(kinds)]]
    return layouts[index // len(kinds) % len(layouts)]


def _trajectory(game: Game, task: Task) -> dict[str, Any]:
    """The part of ``traj_data.json`` that alfworld's text world reads."""
    return {
        "task_id": game.sha256[:16],
        "task_type": task.task_type,
        "pddl_params": {
            "object_target": task.target,
            "parent_target": task.destination,
            "toggle_target": task.lamp,
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": []},
        "scene": {"floor_plan": f"{task.room.kind}-{task.room.layout}", "scene_num": 0},
    }
