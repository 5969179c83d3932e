"""The agent's contract, and what it decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from ..cost import Cost
from ..envs import Array, Chunk, Observation

type Mode = Literal["reflex", "deliberate"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """A chunk to execute before the next look, why, and what deciding cost.

    Attributes:
        chunk: the actions to execute, in order.
        mode: whether the agent acted at once or deliberated.
        why: one short sentence for a person.
        doubt: the gate's measure, or None when no gate looked.
        candidates: what was chosen from (empty when there was no choice): N chunks.
        chosen: the index of the chosen candidate in `candidates`, or None.
        preferences: ``float32[N, N]``, entry (i, j) the critic's probability that i is better than j.
        cost: the ledger of this decision.
        notes: anything else worth showing: JSON values (questions and answers, maps' file names) and arrays.
    """

    chunk: Chunk
    mode: Mode = "reflex"
    why: str = ""
    doubt: float | None = None
    candidates: Sequence[Chunk] = ()
    chosen: int | None = None
    preferences: Array | None = None
    cost: Cost = dataclasses.field(default_factory=Cost)
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@runtime_checkable
class Agent(Protocol):
    """The only holder of episode state.  The same object runs in every world and over ROS."""

    def reset(self, *, seed: int) -> None:
        """Begin an episode: forget everything of earlier ones."""
        ...

    def act(self, observation: Observation) -> Decision:
        """Decide what to do next.

        After `reset` with the same seed and the same observations, the decisions are the same.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record: kind, policy, gate, critic and their settings."""
        ...
