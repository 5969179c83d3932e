"""An agent that shows how a task is done, also from where things went slightly wrong.

An expert labels every state with the right action.  What is executed is that action most of the time; in between,
for a stretch of steps, it is disturbed (Laskey et al. 2017, DART) or a learner drives (Ross et al. 2011, DAgger), so
that the labels cover the states that a learner reaches by its own mistakes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import gymnasium as gym
import numpy as np

from ..cost import Cost
from ..envs import Array, DeclaresConventions, Dim, Observation, check_compatible, derive_seed
from ..errors import ConfigError, ContractError
from .agent import Agent, Decision
from .catalog import build_policy
from .policy import Policy

LABEL, DRIVER = "label", "driver"
"""The notes of a decision: the expert's action ``float32[A]``, and who drove: expert, noise or learner."""

_CALM = (8, 24)
"""Steps that the expert drives between two disturbed stretches: at least half a chunk of the bundled policy."""

_NOISE = (2, 8)
"""Steps that one disturbance is held.  Independent noise in each step averages out at 20 Hz; a held one moves the arm
by centimetres."""

_LEARNER = (16, 48)
"""Steps that the learner drives at a stretch: two to six of its decisions."""

_LEARNER_EXECUTES = 8
"""Actions that the learner executes of each of its chunks."""

_ROTATION = 0.2
"""Rotations are disturbed less: in LIBERO one unit is 0.5 rad, and 0.05 m for positions."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemonstratorOptions:
    """Options of ``--agent demonstrator``."""

    expert: str = "expert"
    """The policy whose actions are the labels; it must act by the present state alone."""
    perturb: float = 0.3
    """Standard deviation of the disturbances in the action's own unit (LIBERO's positions: 5 cm); 0 for none."""
    learner: str = ""
    """A policy, such as bundled, that drives some of the stretches (DAgger); empty for none."""
    beta: float = 0.5
    """With a learner: the share of disturbed stretches that are noise; the rest are the learner's."""


class Demonstrator:
    """One action per decision: the label, or what disturbs it.

    Args:
        expert: gives the labels; only the first action of its chunk is used.
        learner: drives some of the stretches, or None.
        scale: ``float32[A]``: standard deviation of a disturbance in the action's own unit.
        beta: the share of disturbed stretches that are noise.

    Raises:
        ConfigError: ``beta`` is outside [0, 1].
    """

    def __init__(self, expert: Policy, learner: Policy | None, *, scale: Array, beta: float) -> None:
        if not 0.0 <= beta <= 1.0:
            raise ConfigError(f"beta must be from 0 to 1, got {beta}.")
        self._expert, self._learner = expert, learner
        self._scale, self._beta = scale, beta
        self._seed, self._index, self._left = 0, 0, 0
        self._driver, self._offset = "expert", np.zeros_like(scale)
        self._plan: list[Array] = []
        self._random = np.random.default_rng(0)

    def reset(self, *, seed: int) -> None:
        """Begin an episode; the seed decides when it is disturbed, and how."""
        self._seed, self._index, self._left = seed, 0, 0
        self._random = np.random.default_rng(derive_seed(seed, "demonstrator"))
        # The first stretch is the expert's, of any length: a task's beginning is disturbed too.
        self._driver, self._left = "expert", int(self._random.integers(0, _CALM[1]))

    def act(self, observation: Observation) -> Decision:
        """The next action, with the expert's in the notes under `LABEL`."""
        # One seed for the whole episode: it picks among the expert's ways of doing the task.
        proposal = self._expert.propose(observation, 1, seed=self._seed)
        label = np.clip(np.asarray(proposal.chunks[0][0], np.float32), -1.0, 1.0)
        if label.shape != self._scale.shape:
            raise ContractError(f"the expert's action has shape {label.shape}, the world's {self._scale.shape}.")
        if self._left == 0:
            self._next_stretch()
        action, cost = self._execute(label, observation)
        self._left -= 1
        self._index += 1
        notes = {**proposal.notes, LABEL: label, DRIVER: self._driver}
        return Decision(chunk=action[None], why=self._driver, cost=proposal.cost + cost, notes=notes)

    def describe(self) -> dict[str, Any]:
        """Expert, learner and disturbances."""
        return {
            "agent": "demonstrator",
            "expert": self._expert.describe(),
            "learner": self._learner.describe() if self._learner else None,
            "scale": [float(value) for value in self._scale],
            "beta": self._beta,
            "stretches": {"expert": _CALM, "noise": _NOISE, "learner": _LEARNER},
        }

    def _next_stretch(self) -> None:
        draw, learner = self._random, self._learner
        if self._driver == "expert" and learner is not None and draw.random() >= self._beta:
            self._driver, self._left, self._plan = "learner", int(draw.integers(*_LEARNER, endpoint=True)), []
        elif self._driver == "expert" and self._scale.any():
            self._driver, self._left = "noise", int(draw.integers(*_NOISE, endpoint=True))
            self._offset = draw.normal(size=self._scale.shape).astype(np.float32) * self._scale
        else:
            self._driver, self._left = "expert", int(draw.integers(*_CALM, endpoint=True))

    def _execute(self, label: Array, observation: Observation) -> tuple[Array, Cost]:
        if self._driver == "noise":
            return np.clip(label + self._offset, -1.0, 1.0), Cost()
        if self._driver == "expert" or self._learner is None:
            return label, Cost()
        cost = Cost()
        if not self._plan:
            proposal = self._learner.propose(observation, 1, seed=derive_seed(self._seed, "learner", self._index))
            chunk = np.clip(np.asarray(proposal.chunks[0], np.float32), -1.0, 1.0)
            self._plan, cost = list(chunk[:_LEARNER_EXECUTES]), proposal.cost
        return self._plan.pop(0), cost


def disturbance_scale(action: Sequence[Dim], perturb: float) -> Array:
    """The standard deviation of each entry's disturbance: motions are disturbed, a gripper's command is not.

    Args:
        action: the world's action groups.
        perturb: for motions, in the entry's own unit.

    Raises:
        ConfigError: ``perturb`` is negative, or the actions are not vectors.
    """
    if not 0.0 <= perturb < np.inf:
        raise ConfigError(f"perturb must be 0 or more, got {perturb}.")
    if not action:
        raise ConfigError("this world's actions are no vectors; there is nothing to demonstrate with noise.")
    factors = {"delta": 1.0, "delta_axis_angle": _ROTATION}
    return np.concatenate(
        [np.full(dim.size, perturb * factors.get(dim.representation, 0.0), np.float32) for dim in action]
    )


def build_demonstrator(options: DemonstratorOptions, env: gym.Env[Any, Any]) -> Agent:
    """The agent that the options name.

    Raises:
        UsageError: there is no such policy.
        ConfigError: an option has an impossible value.
        ConventionError: the learner was trained with other conventions than the world's.
    """
    world = cast("DeclaresConventions", env.unwrapped).conventions
    expert = build_policy(options.expert, env)
    learner = build_policy(options.learner, env) if options.learner else None
    for policy in (expert, learner):
        if policy is not None:
            check_compatible(world, policy.conventions, world_name=str(env.unwrapped), policy_name=policy.name)
    scale = disturbance_scale(world.action, options.perturb)
    return Demonstrator(expert, learner, scale=scale, beta=options.beta)
