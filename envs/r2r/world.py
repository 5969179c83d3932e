"""Room-to-Room as a world of the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from ...errors import IdentityError, UsageError, choices
from ..episodes import EpisodeId, derive_seed
from ..registration import R2R
from .env import STEP_CAP, R2REnv
from .house import SyntheticRoutes
from .metrics import SUCCESS_RADIUS
from .routes import FileRoutes, RouteSet


@dataclasses.dataclass(frozen=True, kw_only=True)
class R2ROptions:
    """Options of Room-to-Room."""

    data: Path | None = None
    """The folder of the R2R_<split>.json files; synthetic houses when not given."""
    connectivity: Path | None = None
    """The folder of the *_connectivity.json files; <data>/connectivity when not given."""
    split: str = "val_unseen"
    """Of --data."""
    annotations: Path | None = None
    """JSON with what can be seen at each viewpoint: {scan: {viewpoint: [{label, share}]}}."""
    images: Path | None = None
    """A folder with <scan>/<viewpoint>.jpg or .png, all of one size."""
    routes: int = 100
    """How many synthetic routes there are."""
    routes_seed: int = 0
    """Of the synthetic routes."""
    floors: int = SyntheticRoutes.floors
    """Of each synthetic house."""
    width: int = SyntheticRoutes.width
    """Rooms along each side of a synthetic floor."""
    max_steps: int = STEP_CAP
    """Actions before an episode is cut off."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class R2RWorld:
    """A set of routes: one task, and an episode's ``init_state`` is its route's number.

    Attributes:
        name: ``"r2r"``.
        options: as given.
        routes: the set.
    """

    name: str
    options: R2ROptions
    routes: RouteSet

    def tasks(self) -> Sequence[str]:
        """The split's name, or ``"synthetic"``."""
        return [self.routes.name]

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """The first ``count`` routes.

        Raises:
            IdentityError: there is no such split, or it has fewer routes.
        """
        unknown = [task for task in tasks if task != self.routes.name]
        if unknown:
            raise IdentityError(f"there is no split {unknown[0]!r} here. {choices(unknown[0], self.tasks())}")
        numbers = self.routes.numbers()
        if count > len(numbers):
            raise IdentityError(f"{self.routes.name} has {len(numbers)} routes, fewer than {count}; see --routes.")
        return [
            EpisodeId(world=R2R, task=task, init_state=number, seed=derive_seed(seed, task, number))
            for task in tasks
            for number in numbers[:count]
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment."""
        return R2REnv(routes=self.routes, max_steps=self.options.max_steps)

    def describe(self) -> dict[str, Any]:
        """The routes, the step cap and what counts as success."""
        return {
            **self.routes.describe(),
            "max_steps": self.options.max_steps,
            "success_radius_m": SUCCESS_RADIUS,
            "success_needs_stop": True,
        }


def open_r2r(name: str, options: R2ROptions) -> R2RWorld:
    """Room-to-Room with the routes that the options name.

    Raises:
        UsageError: a file is missing or of another form, or an option has an impossible value.
    """
    if options.max_steps < 1:
        raise UsageError(f"max_steps must be at least 1, got {options.max_steps}.")
    routes: RouteSet
    if options.data is not None:
        folder = options.data.expanduser().resolve()
        routes = FileRoutes(
            folder=folder,
            connectivity=(options.connectivity or folder / "connectivity").expanduser().resolve(),
            split=options.split,
            annotations=options.annotations,
            images=options.images,
        )
        routes.numbers()
    else:
        routes = SyntheticRoutes(
            count=options.routes, seed=options.routes_seed, floors=options.floors, width=options.width
        )
    return R2RWorld(name=name, options=options, routes=routes)
