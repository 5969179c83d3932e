"""Policies for worlds that offer choices: the ceiling and the floor."""

from __future__ import annotations

import random
from typing import Any, Protocol, cast, runtime_checkable

import gymnasium as gym

from ...cost import Cost
from ...envs import Observation, derive_seed
from ...errors import ContractError, UsageError
from ..policy import Policy, Proposal
from ..prism.feedback import read_choices


@runtime_checkable
class Plans(Protocol):
    """A world that knows the way to its goal."""

    def plan(self) -> tuple[str, ...]:
        """Actions from here to the goal; none when it cannot be reached."""
        ...

    def hold_action(self) -> str:
        """An action that changes nothing."""
        ...


class PlannerPolicy:
    """Privileged: follows the world's own plan, and holds where there is none.

    Args:
        world: plans.
    """

    def __init__(self, world: Plans) -> None:
        self._world = world

    @property
    def name(self) -> str:
        """That it plans."""
        return "planner"

    @property
    def conventions(self) -> None:
        """It reads no observation."""
        return

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` times the plan's next action.

        Raises:
            ContractError: ``n`` is less than 1.
        """
        del observation, seed
        _check_count(n)
        plan = self._world.plan()
        action = plan[0] if plan else self._world.hold_action()
        return Proposal(chunks=[[action]] * n, cost=Cost(candidates=n), notes={"steps_left": len(plan)})

    def describe(self) -> dict[str, Any]:
        """That it is privileged."""
        return {"policy": "planner", "privileged": True}


class AdmissiblePolicy:
    """Draws from the actions that the world accepts now."""

    @property
    def name(self) -> str:
        """What it draws."""
        return "admissible"

    @property
    def conventions(self) -> None:
        """It reads no image."""
        return

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` actions, each drawn with its own seed.

        Raises:
            ContractError: ``n`` is less than 1, or the observation offers no choices.
        """
        _check_count(n)
        choices = read_choices(observation)
        generators = (random.Random(derive_seed(seed, index)) for index in range(n))  # noqa: S311  not for secrets
        return Proposal(chunks=[[generator.choice(choices)] for generator in generators], cost=Cost(candidates=n))

    def describe(self) -> dict[str, Any]:
        """Its name."""
        return {"policy": "admissible"}


def build_planner(argument: str, env: gym.Env[Any, Any]) -> Policy:
    """``--policy planner``.

    Raises:
        UsageError: the world cannot plan, or something stands after the colon.
    """
    _check_argument("planner", argument)
    world = cast("object", env.unwrapped)
    if not isinstance(world, Plans):
        raise UsageError(f"{world} has no planner; alfworld and r2r have one.")
    return PlannerPolicy(world)


def build_admissible(argument: str, env: gym.Env[Any, Any]) -> Policy:
    """``--policy admissible``.

    Raises:
        UsageError: something stands after the colon.
    """
    del env
    _check_argument("admissible", argument)
    return AdmissiblePolicy()


def _check_count(n: int) -> None:
    if n < 1:
        raise ContractError(f"a policy proposes at least 1 chunk, not {n}.")


def _check_argument(name: str, argument: str) -> None:
    if argument:
        raise UsageError(f"--policy {name} takes nothing after the name, got {argument!r}.")
