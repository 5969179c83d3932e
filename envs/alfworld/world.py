"""ALFWorld as a world of the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym

from ...errors import IdentityError, UsageError
from ..episodes import EpisodeId, derive_seed
from ..registration import ALFWORLD
from .engine import EngineName
from .games import TASK_TYPES, FolderGames, GameSet, check_task_type
from .generator import Difficulty, GeneratedGames


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlfworldOptions:
    """Options of ALFWorld."""

    games: Path | None = None
    """A folder in the json_2.1.1 layout; generated games when not given."""
    split: str = "valid_seen"
    """Of --games: train, valid_seen, valid_unseen, or another folder name."""
    every_game: bool = False
    """Play every game of the set once, however many --episodes says per task."""
    games_seed: int = 0
    """Of the generated games."""
    per_type: int = 50
    """How many generated games there are of each type."""
    clutter: int = Difficulty.clutter
    """Objects in a generated game besides those that its task needs."""
    hidden: float = Difficulty.hidden
    """The probability that a needed object of a generated game stands in a closed receptacle."""
    spares: int = Difficulty.spares
    """Further objects of the target's class in a generated game."""
    game_engine: EngineName | Literal["thor"] = "compiled"
    """stock: alfworld's own stack; compiled: the same replies, faster; thor: AI2-THOR, where it is installed."""
    max_steps: int = 50
    """Steps before an episode is cut off."""
    images: bool = True
    """Draw what the agent sees."""
    size: int = 300
    """Pixels of the image's sides."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlfworldWorld:
    """A set of games; its tasks are the task types, and an episode's ``init_state`` is its game's number.

    Attributes:
        name: ``"alfworld"``.
        options: as given.
        games: the set.
    """

    name: str
    options: AlfworldOptions
    games: GameSet

    def tasks(self) -> Sequence[str]:
        """The task types that the set has games of, in ALFWorld's order."""
        return [task_type for task_type in TASK_TYPES if self.games.numbers(task_type)]

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """The first ``count`` games of each task type, or all of them with ``every_game``.

        Raises:
            IdentityError: there is no such type, or it has fewer games.
        """
        return [
            EpisodeId(world=ALFWORLD, task=task_type, init_state=number, seed=derive_seed(seed, task_type, number))
            for task_type in tasks
            for number in self._chosen(check_task_type(task_type), count)
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment."""
        if self.options.game_engine == "thor":
            from .thor import AlfworldThorEnv

            if not isinstance(self.games, FolderGames):
                raise UsageError("AI2-THOR has no scenes for generated games; give --games with ALFWorld's own.")
            return AlfworldThorEnv(games=self.games, max_steps=self.options.max_steps)
        from .env import AlfworldEnv

        return AlfworldEnv(
            games=self.games,
            engine=self.options.game_engine,
            max_steps=self.options.max_steps,
            images=self.options.images,
            size=self.options.size,
        )

    def describe(self) -> dict[str, Any]:
        """The games, the engine, the step cap and the versions."""
        return {
            **self.games.describe(),
            "engine": self.options.game_engine,
            "max_steps": self.options.max_steps,
            "images": self.options.size if self.options.images else None,
            "versions": {name: metadata.version(name) for name in ("alfworld", "textworld", "mujoco")},
        }

    def _chosen(self, task_type: str, count: int) -> tuple[int, ...]:
        numbers = self.games.numbers(task_type)
        if self.options.every_game:
            return numbers
        if count > len(numbers):
            more = "--every-game plays all there are" if self.options.games else "raise --per-type"
            raise IdentityError(f"there are {len(numbers)} games of type {task_type}, fewer than {count}; {more}.")
        return numbers[:count]


def open_alfworld(name: str, options: AlfworldOptions) -> AlfworldWorld:
    """ALFWorld with the games that the options name.

    Raises:
        UsageError: the folder has no such split or no playable games, or an option has an impossible value.
        MissingDependency: alfworld is not installed.
    """
    if options.max_steps < 1 or options.size < 1:
        raise UsageError(f"max_steps and size must be at least 1, got {options.max_steps} and {options.size}.")
    games: GameSet
    if options.games is not None:
        games = FolderGames(folder=options.games.expanduser().resolve(), split=options.split)
    else:
        difficulty = Difficulty(clutter=options.clutter, hidden=options.hidden, spares=options.spares)
        games = GeneratedGames(per_type=options.per_type, seed=options.games_seed, difficulty=difficulty)
    return AlfworldWorld(name=name, options=options, games=games)
