"""The reflex: execute what the policy proposes, without a second thought."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import gymnasium as gym

from ..envs import DeclaresConventions, Observation, check_compatible, derive_seed
from ..errors import ConfigError, UsageError
from .agent import Agent, Decision
from .catalog import POLICIES, build_policy
from .policy import FollowsEpisodes, Policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReflexOptions:
    """Options of ``--agent reflex``."""

    policy: str | None = None
    """What proposes: bundled, expert, random, hold, lerobot:PATH_OR_HUB_ID, … Not given: bundled in LIBERO; elsewhere
    it must be named."""
    execute: int | None = None
    """Actions to execute of each chunk before the next look. Not given: as the checkpoint was made for, or all."""


class ReflexAgent:
    """Executes the first ``execute`` actions of the policy's first candidate.

    Args:
        policy: proposes.
        execute: how many actions of each chunk to execute; None for all of them.

    Raises:
        ConfigError: ``execute`` is less than 1.
    """

    def __init__(self, policy: Policy, *, execute: int | None = None) -> None:
        if execute is not None and execute < 1:
            raise ConfigError(f"execute must be at least 1, got {execute}.")
        self.policy = policy
        self._execute = execute
        self._seed, self._index = 0, 0

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._index = seed, 0
        if isinstance(self.policy, FollowsEpisodes):
            self.policy.begin_episode(seed=seed)

    def act(self, observation: Observation) -> Decision:
        """The policy's first candidate, cut to ``execute`` actions."""
        proposal = self.policy.propose(observation, 1, seed=derive_seed(self._seed, self._index))
        self._index += 1
        chunk = proposal.chunks[0][: self._execute]
        return Decision(chunk=chunk, why="reflex", cost=proposal.cost, notes=proposal.notes)

    def describe(self) -> dict[str, Any]:
        """Kind, policy and how much of a chunk is executed."""
        return {"agent": "reflex", "policy": self.policy.describe(), "execute": self._execute}


def build_reflex(options: ReflexOptions, env: gym.Env[Any, Any]) -> Agent:
    """The agent that the options name, its policy's conventions checked against the world's.

    Raises:
        UsageError: no policy is named, or there is none of that name.
        ConventionError: the policy was trained with other conventions than the world's.
    """
    if options.policy is None:
        raise UsageError(f"the reflex agent needs a policy: --policy NAME, one of {', '.join(POLICIES)}.")
    policy = build_policy(options.policy, env)
    world = cast("DeclaresConventions", env.unwrapped)
    check_compatible(world.conventions, policy.conventions, world_name=str(env.unwrapped), policy_name=policy.name)
    return ReflexAgent(policy, execute=options.execute)
