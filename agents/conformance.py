"""What every policy, gate and agent must do, as functions that a test calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ..envs import Array, Chunk, Observation, check_chunk
from ..errors import ContractError, require
from .agent import Agent, Decision
from .gate import Gate
from .policy import Policy, Proposal


def check_policy(policy: Policy, observation: Observation, action_space: spaces.Space[Any]) -> None:
    """Raise `ContractError` unless proposals are valid, repeatable, and independent of how many are asked for.

    Args:
        policy: the policy.
        observation: one that it can act on.
        action_space: of the world that the observation comes from.
    """
    many = policy.propose(observation, 3, seed=7)
    require(len(many.chunks) == 3, f"{policy.name} gave {len(many.chunks)} chunks when asked for 3")
    for chunk in many.chunks:
        check_chunk(chunk, action_space)
    _same_chunks(many.chunks, policy.propose(observation, 3, seed=7).chunks, f"{policy.name} gave others for one seed")
    fewer = policy.propose(observation, 1, seed=7).chunks
    _same_chunks(many.chunks[:1], fewer, f"{policy.name}'s first candidate changes with the number asked for")
    require(many.cost.candidates == 3, f"{policy.name} accounts for {many.cost.candidates} candidates of 3")
    _json(policy.describe(), f"{policy.name}.describe()")
    for wrong in (0, -1):
        try:
            policy.propose(observation, wrong, seed=7)
        except ContractError:
            continue
        raise ContractError(f"{policy.name} accepted n={wrong} instead of raising ContractError.")


def check_gate(gate: Gate, observation: Observation, proposal: Proposal) -> None:
    """Raise `ContractError` unless doubt is a finite number, repeats, and opens the gate monotonically.

    Args:
        gate: the gate.
        observation: the observation behind the proposal.
        proposal: holds at least ``gate.candidates_needed`` chunks.
    """
    doubt = gate.doubt(observation, proposal)
    require(np.isfinite(doubt), f"doubt must be finite, got {doubt}")
    require(doubt == gate.doubt(observation, proposal), "doubt about the same proposal must repeat")
    opened = [gate.opens(level) for level in sorted([doubt, 0.0, 1e-6, 1.0, 1e6, 1e12])]
    require(opened == sorted(opened), "more doubt must never close a gate that less doubt opened")
    needed = gate.candidates_needed
    if needed > 1:
        try:
            gate.doubt(observation, Proposal(chunks=proposal.chunks[: needed - 1]))
        except ContractError:
            return
        raise ContractError(f"a gate that needs {needed} candidates accepted {needed - 1}.")


def check_agent(agent: Agent, observations: Sequence[Observation], action_space: spaces.Space[Any]) -> None:
    """Raise `ContractError` unless decisions are valid and depend on the seed and the observations alone.

    Args:
        agent: the agent.
        observations: a few consecutive observations of one episode.
        action_space: of the world that they come from.
    """
    first = _decide(agent, observations, seed=3)
    for decision in first:
        check_chunk(decision.chunk, action_space)
        if decision.chosen is not None:
            inside = 0 <= decision.chosen < len(decision.candidates)
            require(inside, f"chosen {decision.chosen} is not one of {len(decision.candidates)} candidates")
        if decision.preferences is not None:
            shape, count = decision.preferences.shape, len(decision.candidates)
            require(shape == (count, count), f"preferences {shape} for {count} candidates")
    _decide(agent, observations, seed=4)
    again = _decide(agent, observations, seed=3)
    for ours, theirs in zip(first, again, strict=True):
        _same_chunks([ours.chunk], [theirs.chunk], "after reset with the same seed the agent decides otherwise")
        require(ours.cost.counts() == theirs.cost.counts(), "the same decision must cost the same counts")
    _json(agent.describe(), "describe()")


def _decide(agent: Agent, observations: Sequence[Observation], *, seed: int) -> list[Decision]:
    agent.reset(seed=seed)
    return [agent.act(observation) for observation in observations]


def _same_chunks(ours: Array | Sequence[Chunk], theirs: Array | Sequence[Chunk], message: str) -> None:
    pairs = zip(ours, theirs, strict=True)
    require(all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs), message)


def _json(data: dict[str, Any], what: str) -> None:
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{what} must be plain JSON data: {error}.") from error
