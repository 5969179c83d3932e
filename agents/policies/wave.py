"""A policy that draws circles with the end effector, to try an arm with."""

from __future__ import annotations

from typing import Any, cast

import gymnasium as gym
import numpy as np

from ...envs import Conventions, DeclaresConventions, Observation
from ...envs.observations import STATE
from ...errors import ContractError, ConventionError
from ..policy import Proposal
from .simple import check_no_argument

_CENTRE = np.array([0.45, 0.0, 0.2])
"""Metres, base frame: over the table in front of a Panda."""
_RADIUS = 0.08
"""Metres, in the vertical plane beside the arm."""
_SPEED = 0.6
"""Of the largest step that an action can ask for."""
_CHUNK = 8


class WavePolicy:
    """Goes round a circle of 8 cm radius in the plane across the arm, from wherever the end effector is.

    Args:
        conventions: the world's; its action must begin with a position delta and its state with a position.
    """

    def __init__(self, conventions: Conventions) -> None:
        self._size = sum(dim.size for dim in conventions.action)

    @property
    def name(self) -> str:
        """``wave``."""
        return "wave"

    @property
    def conventions(self) -> Conventions | None:
        """None: what it needs is checked when it is built."""
        return None

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:  # noqa: ARG002  # it draws nothing
        """``n`` equal chunks of 8 steps along the circle, gripper open.

        Raises:
            ContractError: ``n`` is less than 1.
        """
        if n < 1:
            raise ContractError(f"n must be at least 1, got {n}.")
        offset = np.asarray(observation[STATE][:3], np.float64) - _CENTRE
        radius = max(float(np.hypot(offset[1], offset[2])), 1e-6)
        outward = np.array([0.0, offset[1], offset[2]]) / radius
        along = np.array([0.0, -outward[2], outward[1]])
        correction = outward * (_RADIUS - radius) / _RADIUS - np.array([offset[0] / _RADIUS, 0.0, 0.0])
        direction = along + correction
        step = np.zeros(self._size, np.float32)
        step[:3] = _SPEED * direction / max(1.0, float(np.linalg.norm(direction)))
        if self._size == 7:
            step[6] = -1.0
        return Proposal(chunks=np.tile(step, (n, _CHUNK, 1)))

    def describe(self) -> dict[str, Any]:
        """Its name and the circle."""
        return {"policy": self.name, "centre": _CENTRE.tolist(), "radius": _RADIUS, "speed": _SPEED}


def build_wave(argument: str, env: gym.Env[Any, Any]) -> WavePolicy:
    """The policy for a world.

    Raises:
        UsageError: an argument was given.
        ConventionError: the world's actions do not begin with a position delta, or its state with a position.
    """
    check_no_argument("wave", argument)
    conventions = cast("DeclaresConventions", env.unwrapped).conventions
    action, state = conventions.action[:1], conventions.state[:1]
    if not action or action[0].name != "position" or action[0].representation != "delta":
        raise ConventionError(f"wave needs actions that begin with a position delta; the world has {action}.")
    if not state or state[0].name != "position":
        raise ConventionError(f"wave needs a state that begins with a position; the world has {state}.")
    return WavePolicy(conventions)
