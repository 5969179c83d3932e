"""The policy's contract: a source of proposals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..cost import Cost
from ..envs import Array, Chunk, Conventions, Observation


@dataclasses.dataclass(frozen=True, kw_only=True)
class Proposal:
    """What a policy offers to do.

    Attributes:
        chunks: N candidates, best guess of a plain rollout first: ``float32[N, T, A]`` in the world's
            own units, or a sequence of N sequences of discrete or text actions.
        features: the policy's own features of the observation, for critics that read them.
        cost: what proposing cost.
        notes: anything worth showing in a trace; JSON values and small arrays.
    """

    chunks: Array | Sequence[Chunk]
    features: Mapping[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    cost: Cost = dataclasses.field(default_factory=Cost)
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """How a checkpoint was trained, as far as a run can follow it without loading the weights.

    Attributes:
        conventions: what it was trained to see and do.
        execute: actions of a chunk that it executes before the next look.
    """

    conventions: Conventions
    execute: int | None


@runtime_checkable
class Policy(Protocol):
    """A proposal source, pure given its arguments, so it may sit behind a socket or serve many episodes."""

    @property
    def name(self) -> str:
        """What a record calls it, such as ``"expert"`` or ``"lerobot:act_checkpoint"``."""
        ...

    @property
    def conventions(self) -> Conventions | None:
        """What it was trained with, or None when it assumes nothing."""
        ...

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` candidate chunks.

        The same observation, ``n`` and seed give the same chunks, and the first ``m`` of them are those
        of a call with ``m < n``: adding candidates never changes the reflex.

        Raises:
            ContractError: ``n`` is less than 1, or the observation lacks something it needs.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record: kind, weights' hash, sampler settings."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Look:
    """What a policy is asked to propose for: the arguments of `Policy.propose`."""

    observation: Observation
    n: int
    seed: int


@runtime_checkable
class ProposesTogether(Protocol):
    """A policy that proposes for several observations in one pass."""

    def propose_many(self, looks: Sequence[Look]) -> list[Proposal]:
        """For each look, bit for bit what `Policy.propose` gives for it, whatever the others are.

        Raises:
            ContractError: one of them cannot be proposed for.
        """
        ...


@runtime_checkable
class FollowsEpisodes(Protocol):
    """A policy behind which somebody else keeps an episode's state, such as an agent on a server."""

    def begin_episode(self, *, seed: int) -> None:
        """An episode begins with the next proposal; the agent that acts by this policy says so when it is reset."""
        ...
