"""ALFWorld games: what a game file holds, its identity, and folders of them in the ``json_2.1.1`` layout."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...errors import IdentityError, MissingDependency, UsageError, choices, install_line

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""ALFWorld's six task types, in its own order (alfworld 0.4.2, `alfred_tw_env.TASK_TYPES`)."""

INSTALL = install_line("alfworld")
"""What brings alfworld, textworld and the planner."""

_GOAL = re.compile(r"Your task is to: (?P<goal>.*?)\.\"")
GOAL_PLACEHOLDER = "UNKNOWN GOAL"
"""What stands for the goal in the grammar that alfworld installs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Game:
    """One game, ready to play.

    Attributes:
        task_type: one of `TASK_TYPES`.
        sha256: of the game file's bytes, as it was read or would be written.
        source: where it came from: a path relative to its folder, or the generator's recipe.
        domain: PDDL domain.
        grammar: TextWorld grammar, with the goal's text in it.
        problem: PDDL problem.
        rebuilt: whether domain and grammar are the installed alfworld's because the file's were older.
    """

    task_type: str
    sha256: str
    source: str
    domain: str
    grammar: str
    problem: str
    rebuilt: bool = False

    @property
    def number(self) -> int:
        """The first 48 bits of `sha256`: what names the game in an `EpisodeId`, as its ``init_state``."""
        return game_number(self.sha256)

    @property
    def goal(self) -> str:
        """The instruction, such as ``"put a clean plate in diningtable"``."""
        return split_goal(self.grammar)[1]

    def data(self) -> dict[str, Any]:
        """The mapping that textworld's `PddlEnv.load` takes in place of a path."""
        return {"pddl_domain": self.domain, "grammar": self.grammar, "pddl_problem": self.problem}


@runtime_checkable
class GameSet(Protocol):
    """A family of games, small and pickling: the games themselves are read when they are played."""

    def numbers(self, task_type: str) -> tuple[int, ...]:
        """The numbers of all games of a type, in a fixed order; empty where there are none."""
        ...

    def load(self, task_type: str, number: int) -> Game:
        """The game of a type and number.

        Raises:
            IdentityError: there is no such game.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record."""
        ...


def game_number(sha256: str) -> int:
    """See `Game.number`."""
    return int(sha256[:12], 16)


def check_task_type(task_type: str) -> str:
    """The type itself.

    Raises:
        IdentityError: alfworld has no such type.
    """
    if task_type not in TASK_TYPES:
        raise IdentityError(f"there is no ALFWorld task type {task_type!r}. {choices(task_type, TASK_TYPES)}")
    return task_type


def file_bytes(*, domain: str, grammar: str, problem: str) -> bytes:
    """The bytes of a ``game.tw-pddl`` with these parts, as `alfworld-generate` lays them out."""
    data = {
        "pddl_domain": domain,
        "grammar": grammar,
        "pddl_problem": problem,
        "solvable": True,
        "walkthrough": None,
    }
    return json.dumps(data).encode()


def unknown_game(task_type: str, number: int) -> IdentityError:
    """The error for a number that no game of a set has."""
    return IdentityError(
        f"there is no {task_type} game {number} (its file's SHA-256 would begin with {number:012x}) in this set. "
        "Was the run made from other games, or with another alfworld?"
    )


@functools.cache
def installed_rules() -> tuple[str, str]:
    """The PDDL domain and the grammar template of the installed alfworld.

    Raises:
        MissingDependency: alfworld is not installed.
    """
    try:
        data = resources.files("alfworld") / "data"
    except ModuleNotFoundError as error:
        raise MissingDependency("alfworld", purpose="The ALFWorld world", install=INSTALL) from error
    return (data / "alfred.pddl").read_text(encoding="utf-8"), (data / "alfred.twl2").read_text(encoding="utf-8")


def split_goal(grammar: str) -> tuple[str, str]:
    """A grammar with the goal's text taken out, and that text: games differ in nothing else of it.

    Raises:
        UsageError: the grammar states no task.
    """
    match = _GOAL.search(grammar)
    if match is None:
        raise UsageError("this game's grammar holds no 'Your task is to: …', so it is not an ALFWorld game.")
    start, end = match.span("goal")
    return grammar[:start] + GOAL_PLACEHOLDER + grammar[end:], match["goal"]


def with_goal(goal: str) -> str:
    """The installed grammar with a goal's text in it."""
    return installed_rules()[1].replace(GOAL_PLACEHOLDER, goal)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FolderGames:
    """The games under a folder in the ``json_2.1.1`` layout.

    Files made before alfworld 0.4 say "put X in/on Y" where its planner says "move X to Y", and the planner's
    commands are then inadmissible.  Such a game is played with the installed domain and grammar, its own
    problem and its own goal; `Game.rebuilt` and `describe` say so, and its identity stays the file's hash.

    Attributes:
        folder: a split's folder, ``json_2.1.1`` or its parent.
        split: ``"train"``, ``"valid_seen"``, ``"valid_unseen"`` or whatever folder name stands there.
    """

    folder: Path
    split: str

    def numbers(self, task_type: str) -> tuple[int, ...]:
        """See `GameSet.numbers`; in the order of the files' paths."""
        return tuple(_index(self.folder, self.split)[check_task_type(task_type)])

    def load(self, task_type: str, number: int) -> Game:
        """Read one game; see `GameSet.load`."""
        path = game_path(self, task_type, number)
        content = path.read_bytes()
        data = json.loads(content)
        rebuilt = "move {o} to {r}" not in data["grammar"]
        grammar, domain = data["grammar"], data["pddl_domain"]
        if rebuilt:
            grammar, domain = with_goal(split_goal(grammar)[1]), installed_rules()[0]
        return Game(
            task_type=task_type,
            sha256=hashlib.sha256(content).hexdigest(),
            source=f"{self.split}/{path.parent.parent.name}/{path.parent.name}",
            domain=domain,
            grammar=grammar,
            problem=data["pddl_problem"],
            rebuilt=rebuilt,
        )

    def describe(self) -> dict[str, Any]:
        """The split, how many games it has of each type, and how many are played with a rebuilt grammar."""
        per_type = {kind: len(self.numbers(kind)) for kind in TASK_TYPES}
        rebuilt = sum(self.load(kind, number).rebuilt for kind in TASK_TYPES for number in self.numbers(kind))
        return {"games": "json_2.1.1", "split": self.split, "per_type": per_type, "grammar_rebuilt": rebuilt}


def game_path(games: FolderGames, task_type: str, number: int) -> Path:
    """Where a game's file lies; AI2-THOR's scene stands in ``traj_data.json`` beside it.

    Raises:
        IdentityError: there is no such game.
    """
    path = _index(games.folder, games.split)[check_task_type(task_type)].get(number)
    if path is None:
        raise unknown_game(task_type, number)
    return path


@functools.lru_cache(maxsize=8)
def _index(folder: Path, split: str) -> Mapping[str, Mapping[int, Path]]:
    tried = [folder / "json_2.1.1" / split, folder / split, *([folder] if folder.name == split else [])]
    root = next((path for path in tried if path.is_dir()), None)
    if root is None:
        listed = ", ".join(str(path) for path in tried)
        raise UsageError(
            f"there is no split {split!r} under {folder}; looked for {listed}. "
            "Give the folder that holds json_2.1.1, or json_2.1.1 itself, and one of its splits."
        )
    found: dict[str, dict[int, Path]] = {task_type: {} for task_type in TASK_TYPES}
    for path in sorted(root.glob("**/game.tw-pddl")):
        entry = _entry(path)
        if entry is not None:
            task_type, sha256 = entry
            found[task_type][game_number(sha256)] = path
    if not any(found.values()):
        raise UsageError(f"no playable game.tw-pddl of a known task type is under {root}.")
    return found


def _entry(path: Path) -> tuple[str, str] | None:
    """Type and hash of a game file, or None where alfworld itself would skip it (movable, sliced, unsolvable)."""
    trajectory = path.with_name("traj_data.json")
    if "movable" in str(path) or "Sliced" in str(path) or not trajectory.is_file():
        return None
    try:
        task_type = json.loads(trajectory.read_bytes())["task_type"]
        content = path.read_bytes()
        solvable = json.loads(content)["solvable"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path.parent} is not a game in the json_2.1.1 layout: {error!r}.") from error
    if task_type not in TASK_TYPES or not solvable:
        return None
    return task_type, hashlib.sha256(content).hexdigest()
