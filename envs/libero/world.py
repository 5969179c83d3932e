"""LIBERO's suites as worlds of the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym

from ...errors import IdentityError
from ..episodes import EpisodeId, derive_seed
from ..registration import LIBERO
from .install import versions
from .simulator import SETTLE_STEPS
from .suites import CAP_SOURCE, find_task, step_cap, stored_states, suite_tasks


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoOptions:
    """Options of LIBERO's suites."""

    rendering: Literal["faithful", "fast"] = "faithful"
    """faithful: LIBERO's own pixels; fast: nearly the same, several times faster."""
    cameras: tuple[str, ...] = ("agentview", "wrist")
    """Cameras in the observations; none for a policy that reads no images."""
    height: int = 256
    """Pixels of each image."""
    width: int = 256
    """Pixels of each image."""
    max_steps: int | None = None
    """Control steps before an episode is cut off; the suite's usual number when not given."""
    init_states: Literal["stored", "fresh"] = "stored"
    """stored: episode i begins in LIBERO's initial state i; fresh: its seed draws a placement."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoWorld:
    """One suite with its options.

    Attributes:
        name: the suite.
        options: as given.
    """

    name: str
    options: LiberoOptions

    def tasks(self) -> Sequence[str]:
        """``libero_object/0``, ``libero_object/1``, … in LIBERO's order."""
        return [task.name for task in suite_tasks(self.name)]

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """``count`` episodes of each task; with stored initial states, episode i begins in state i.

        Raises:
            IdentityError: a task does not exist in this suite, or has fewer stored states than ``count``.
        """
        return [
            EpisodeId(
                world=LIBERO,
                task=name,
                init_state=index if self.options.init_states == "stored" else None,
                seed=derive_seed(seed, name, index),
            )
            for name in tasks
            for index in range(self._checked(name, count))
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment; nothing is loaded before its first reset."""
        from .env import LiberoEnv

        return LiberoEnv(
            task=self.tasks()[0],
            cameras=self.options.cameras,
            height=self.options.height,
            width=self.options.width,
            rendering=self.options.rendering,
            max_steps=self.options.max_steps,
        )

    def describe(self) -> dict[str, Any]:
        """Suite, protocol, step cap and its source, rendering and versions."""
        given = self.options.max_steps
        return {
            "suite": self.name,
            "tasks": len(self.tasks()),
            **dataclasses.asdict(self.options),
            "max_steps": given if given is not None else step_cap(self.name),
            "max_steps_source": "given" if given is not None else CAP_SOURCE,
            "settle_steps": SETTLE_STEPS,
            "versions": versions(),
        }

    def _checked(self, name: str, count: int) -> int:
        task = find_task(name)
        if task.suite != self.name:
            raise IdentityError(f"{name!r} is no task of {self.name}. Its tasks are {self.name}/0, {self.name}/1, …")
        available = len(stored_states(task))
        if self.options.init_states == "stored" and count > available:
            raise IdentityError(
                f"{name} has {available} stored initial states, fewer than the {count} episodes asked for. "
                "Ask for fewer, or draw placements with init_states=fresh."
            )
        return count


def open_libero(name: str, options: LiberoOptions) -> LiberoWorld:
    """The world of a suite: one of LIBERO's five, or a complete LIBERO-PRO suite.

    Raises:
        UsageError: there is no such suite, or an option has an impossible value.
        WorldError: the wheels lack some of the suite's files.
    """
    from .env import check_settings

    suite_tasks(name)
    check_settings(
        cameras=options.cameras,
        height=options.height,
        width=options.width,
        rendering=options.rendering,
        max_steps=options.max_steps,
    )
    return LiberoWorld(name=name, options=options)
