"""A world's entry in the catalogue: which episodes it has and how its environment is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from .chunks import Action, Array
from .conventions import Conventions
from .episodes import EpisodeId


@runtime_checkable
class World(Protocol):
    """A family of episodes that one environment can play.

    It is built in the parent process from the options of the command line, is small, and pickles: worker
    processes receive it and call `make` themselves, so that a simulator and its GL context live only in
    the process that uses them.
    """

    @property
    def name(self) -> str:
        """What the command line calls it, such as ``"libero_object"``."""
        ...

    def tasks(self) -> Sequence[str]:
        """Every task's name, in the order that ``--tasks 0,2`` counts in."""
        ...

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """``count`` episodes of each task, the same ones whenever it is asked.

        Raises:
            IdentityError: a task or an init state does not exist.
        """
        ...

    def make(self) -> gym.Env[Any, Any]:
        """A new environment.  It accepts any of `episodes` through ``reset``, and is closed by the caller."""
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record: versions, protocol, rendering, step caps and their sources."""
        ...


@runtime_checkable
class DeclaresConventions(Protocol):
    """What every environment of this library offers beside gymnasium's own methods."""

    @property
    def conventions(self) -> Conventions:
        """What the numbers mean, after construction and before the first reset."""
        ...


@runtime_checkable
class SavesState(Protocol):
    """A world that can be put back exactly where it was."""

    def save_state(self) -> Any:
        """Everything that decides the future; a copy that later steps do not change."""
        ...

    def restore_state(self, state: Any) -> None:
        """Put the world back; what follows is bit-identical to what followed the save."""
        ...


@runtime_checkable
class Holds(Protocol):
    """A world that knows which action changes nothing, so that nobody has to guess one."""

    def hold_action(self) -> Action:
        """The action that keeps everything as it is now (the arm where it is, the gripper as commanded)."""
        ...


@runtime_checkable
class DrawsPaths(Protocol):
    """A world that can show on its pictures where a chunk would lead."""

    def chunk_paths(self, state: Array, chunk: Array) -> Mapping[str, Array]:
        """The commanded way of what the agent moves, on every camera that itself stays where it is.

        Args:
            state: ``float32[S]``: the observation's ``state`` when the chunk begins, in the episode that was reset.
            chunk: ``float32[T, A]``.

        Returns:
            Camera name to ``float32[T + 1, 2]``: column and row as shares of the picture's width and height, from its
            upper left; not within [0, 1] outside the picture, NaN behind the camera.
        """
        ...
