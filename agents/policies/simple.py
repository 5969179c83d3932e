"""Policies that look at nothing: random actions, and no action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...cost import Cost
from ...envs import Array, Holds, Observation, derive_seed
from ...envs.observations import CHOICES
from ...errors import ContractError, UsageError
from ..policy import Proposal


class RandomPolicy:
    """Actions drawn uniformly from the action space, one per decision.

    In a text world (an observation with ``choices``) they are drawn from the actions that the world accepts now.

    Args:
        space: the world's action space: a bounded ``Box``, ``Discrete``, or that of a text world.
    """

    name = "random"
    conventions = None

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._space = space

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` chunks of one action, each from its own seed.

        Raises:
            ContractError: ``n`` is less than 1, or the world offers nothing to draw from.
        """
        check_count(n)
        generators = [np.random.default_rng(derive_seed(seed, index)) for index in range(n)]
        if CHOICES in observation:
            choices = observation[CHOICES]
            if not choices:
                raise ContractError("the observation's choices are empty: no action is accepted now.")
            return _proposal([[choices[int(rng.integers(len(choices)))]] for rng in generators])
        if isinstance(self._space, spaces.Discrete):
            first, size = int(self._space.start), int(self._space.n)
            return _proposal([[first + int(rng.integers(size))] for rng in generators])
        if isinstance(self._space, spaces.Box) and self._space.is_bounded("both"):
            low, high = self._space.low, self._space.high
            drawn = np.stack([rng.uniform(low, high) for rng in generators])
            return _proposal(drawn.astype(self._space.dtype)[:, None])
        raise ContractError(
            f"random actions need a bounded Box, a Discrete space or an observation with {CHOICES!r}, "
            f"not {self._space}."
        )

    def describe(self) -> dict[str, Any]:
        """Kind and space."""
        return {"policy": "random", "space": str(self._space)}


class HoldPolicy:
    """The action that keeps everything as it is.

    Args:
        world: knows that action.
    """

    name = "hold"
    conventions = None

    def __init__(self, world: Holds) -> None:
        self._world = world

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` equal chunks of one action.

        Raises:
            ContractError: ``n`` is less than 1.
        """
        del observation, seed
        check_count(n)
        action = self._world.hold_action()
        if isinstance(action, np.ndarray):
            return _proposal(np.repeat(action[None, None], n, axis=0))
        return _proposal([[action]] * n)

    def describe(self) -> dict[str, Any]:
        """Kind."""
        return {"policy": "hold"}


def check_count(n: int) -> None:
    """Raise `ContractError` unless at least one candidate is asked for."""
    if n < 1:
        raise ContractError(f"a policy proposes at least 1 candidate, n={n} was asked for.")


def build_random(argument: str, env: gym.Env[Any, Any]) -> RandomPolicy:
    """``--policy random``.

    Raises:
        UsageError: an argument was given.
    """
    check_no_argument("random", argument)
    return RandomPolicy(env.unwrapped.action_space)


def build_hold(argument: str, env: gym.Env[Any, Any]) -> HoldPolicy:
    """``--policy hold``.

    Raises:
        UsageError: an argument was given, or the world does not know an action that changes nothing.
    """
    check_no_argument("hold", argument)
    world = env.unwrapped
    if not isinstance(world, Holds):
        raise UsageError(f"{world} has no hold_action(), so 'hold' cannot know what changes nothing there.")
    return HoldPolicy(world)


def check_no_argument(name: str, argument: str) -> None:
    """Raise `UsageError` if anything stands after the colon of a policy that takes nothing there."""
    if argument:
        raise UsageError(f"policy {name!r} takes no argument, got {argument!r}. Write --policy {name}.")


def _proposal(chunks: Array | Sequence[Any], notes: Mapping[str, Any] | None = None) -> Proposal:
    return Proposal(chunks=chunks, cost=Cost(candidates=len(chunks)), notes=notes or {})
