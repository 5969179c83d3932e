"""Rooms as a world of the command line."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym

from ...errors import ConfigError, IdentityError, choices
from ..episodes import EpisodeId, derive_seed
from ..registration import ROOMS
from .layout import DIFFICULTIES
from .scenarios import SUCCESS_RADIUS
from .scoring import MIN_VISIBLE


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoomsOptions:
    """Options of the rooms."""

    split: Literal["train", "val", "test"] = "test"
    """Which houses; the three never share one."""
    difficulty: Literal["all", "easy", "medium", "hard"] = "all"
    """easy: 3 or 4 rooms; medium: 5 or 6; hard: 8 or 9, and targets may be in closed containers."""
    size: int = 256
    """Pixels a side of image, depth and ids."""
    max_steps: int | None = None
    """Actions before an episode is cut off; 300, 400 or 500 by difficulty when not given."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoomsWorld:
    """The houses of one split.

    Attributes:
        name: ``"rooms"``.
        options: as given.
    """

    name: str
    options: RoomsOptions

    def tasks(self) -> Sequence[str]:
        """``test/easy``, ``test/medium``, ``test/hard``, or the one that was asked for."""
        chosen = DIFFICULTIES if self.options.difficulty == "all" else (self.options.difficulty,)
        return [f"{self.options.split}/{name}" for name in chosen]

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """``count`` episodes of each task, each in a house of its own.

        Raises:
            IdentityError: a task is none of this split's.
        """
        known = self.tasks()
        for name in tasks:
            if name not in known:
                raise IdentityError(f"there is no task {name!r} here. {choices(name, known)}")
        return [
            EpisodeId(world=ROOMS, task=name, init_state=index, seed=derive_seed(seed, name, index))
            for name in tasks
            for index in range(count)
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment; a house is built at its first reset."""
        from .env import RoomsEnv

        return RoomsEnv(size=self.options.size, max_steps=self.options.max_steps)

    def describe(self) -> dict[str, Any]:
        """Split, difficulties, how success is judged, and versions."""
        return {
            **dataclasses.asdict(self.options),
            "step_caps": {name: level.steps for name, level in DIFFICULTIES.items()},
            "success": f"a stop within {SUCCESS_RADIUS} geodesic metres of a viewpoint, the target in view",
            "min_visible": MIN_VISIBLE,
            "versions": {name: importlib.metadata.version(name) for name in ("mujoco", "numpy", "scikit-image")},
        }


def open_rooms(name: str, options: RoomsOptions) -> RoomsWorld:
    """The rooms.

    Raises:
        ConfigError: an option has an impossible value.
    """
    if not 32 <= options.size <= 1024:
        raise ConfigError(f"size must be between 32 and 1024 pixels, got {options.size}.")
    if options.max_steps is not None and options.max_steps < 1:
        raise ConfigError(f"max_steps must be at least 1, got {options.max_steps}.")
    return RoomsWorld(name=name, options=options)
