"""LIBERO's suites as worlds of the command line."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym

from ...errors import ConfigError, IdentityError, choices
from ..conventions import Conventions
from ..episodes import EpisodeId, derive_seed
from ..registration import LIBERO
from ..split import REPORTING, TUNING
from .install import versions
from .simulator import SETTLE_STEPS
from .stepping import Stepping
from .suites import CAP_SOURCE, find_task, step_cap, stored_states, suite_tasks

_PIXELS = 256


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoOptions:
    """Options of LIBERO's suites."""

    rendering: Literal["faithful", "fast"] | None = None
    """faithful: LIBERO's own pixels; fast: nearly the same, several times faster. Not given: as the policy's
    checkpoint says that it was trained, or faithful."""
    cameras: tuple[str, ...] | None = None
    """Cameras in the observations, an empty list for none. Not given: those that the policy reads, or agentview
    and wrist."""
    height: int | None = None
    """Pixels of each image. Not given: as the policy was trained, or 256."""
    width: int | None = None
    """Pixels of each image. Not given: as the policy was trained, or 256."""
    max_steps: int | None = None
    """Control steps before an episode is cut off; the suite's usual number when not given."""
    stepping: Stepping = "exact"
    """exact: the states of robosuite's own step, in less time; stock: robosuite's own step."""
    init_states: str = "stored"
    """stored: LIBERO's initial states from 0 on; tuning, reporting, a range such as 10-39 or one number: from those;
    fresh: each episode's seed draws a placement."""

    def seen_by(self, conventions: Conventions | None) -> LiberoOptions:
        """What was not given, as a policy was trained to see it; None for the world's own pictures."""
        trained = {camera.name: camera for camera in conventions.cameras} if conventions else {}
        one = next(iter(trained.values()), None)
        own: dict[str, Any] = {
            "rendering": (one and one.rendering) or "faithful",
            "cameras": tuple(trained) or ("agentview", "wrist"),
            "height": (one and one.height) or _PIXELS,
            "width": (one and one.width) or _PIXELS,
        }
        return dataclasses.replace(self, **{name: value for name, value in own.items() if getattr(self, name) is None})


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoWorld:
    """One suite with its options.

    Attributes:
        name: the suite, or ``libero`` for the four standard ones.
        options: all of them settled, see `LiberoOptions.seen_by`.
    """

    name: str
    options: LiberoOptions

    def tasks(self) -> Sequence[str]:
        """``libero_object/0``, ``libero_object/1``, … in LIBERO's order."""
        return [task.name for task in suite_tasks(self.name)]

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """``count`` episodes of each task, from the first of the initial states that the options name.

        An initial state's episode is the same one whatever range it was chosen by.

        Raises:
            IdentityError: a task does not exist in this suite, or has fewer such states than ``count``.
        """
        return [
            EpisodeId(world=LIBERO, task=name, init_state=init_state, seed=derive_seed(seed, name, index))
            for name in tasks
            for index, init_state in self._initial_states(name, count)
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment; nothing is loaded before its first reset."""
        from .env import LiberoEnv

        return LiberoEnv(
            task=self.tasks()[0],
            max_steps=self.options.max_steps,
            stepping=self.options.stepping,
            **_pictures(self.options),
        )

    def describe(self) -> dict[str, Any]:
        """Suite, protocol, step cap and its source, rendering and versions."""
        given = self.options.max_steps
        return {
            "suite": self.name,
            "tasks": len(self.tasks()),
            **dataclasses.asdict(self.options),
            "max_steps": given if given is not None else self._step_caps(),
            "max_steps_source": "given" if given is not None else CAP_SOURCE,
            "settle_steps": SETTLE_STEPS,
            "versions": versions(),
        }

    def _step_caps(self) -> int | dict[str, int]:
        """The suite's step cap; of several suites, each one's."""
        caps = {task.suite: step_cap(task.suite) for task in suite_tasks(self.name)}
        return caps if len(caps) > 1 else caps[self.name]

    def _initial_states(self, name: str, count: int) -> list[tuple[int, int | None]]:
        """The index that decides the seed, and the stored state or None, of each episode of a task."""
        task = find_task(name)
        if task not in suite_tasks(self.name):
            first, second = self.tasks()[:2]
            raise IdentityError(f"{name!r} is no task of {self.name}. Its tasks are {first}, {second}, …")
        stored = stored_range(self.options.init_states)
        if stored is None:
            return [(index, None) for index in range(count)]
        available = [state for state in range(len(stored_states(task))) if state in stored]
        if count > len(available):
            raise IdentityError(
                f"{name} has {len(available)} stored initial states in {self.options.init_states!r}, fewer than the "
                f"{count} episodes asked for. Ask for fewer, or draw placements with init_states=fresh."
            )
        return [(state, state) for state in available[:count]]


def stored_range(text: str) -> range | None:
    """The stored initial states that an option names, or None for fresh placements.

    Args:
        text: ``stored``, ``tuning``, ``reporting``, ``fresh``, a number, or an inclusive range such as ``10-39``.

    Raises:
        ConfigError: it is none of these, or a range that ends before it begins.

    >>> stored_range("10-12")
    range(10, 13)
    """
    named = {"stored": range(sys.maxsize), "tuning": TUNING, "reporting": REPORTING}
    if text == "fresh":
        return None
    if text in named:
        return named[text]
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        hint = choices(text, [*named, "fresh"])
        raise ConfigError(f"init_states cannot be {text!r}. {hint} Or give a range, such as 10-39.")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def open_libero(name: str, options: LiberoOptions) -> LiberoWorld:
    """The world of a suite: one of LIBERO's five, the four standard ones together, or a complete LIBERO-PRO suite.

    Raises:
        UsageError: there is no such suite, or an option has an impossible value.
        WorldError: the wheels lack some of the suite's files.
    """
    from .env import check_settings

    suite_tasks(name)
    stored_range(options.init_states)
    options = options.seen_by(None)
    check_settings(max_steps=options.max_steps, stepping=options.stepping, **_pictures(options))
    return LiberoWorld(name=name, options=options)


def _pictures(options: LiberoOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("cameras", "height", "width", "rendering")}
