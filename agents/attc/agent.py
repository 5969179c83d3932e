"""VLA-ATTC: a reflex, a clutch that feels doubt, and a choice among many candidates only where it opens."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...cost import Cost, Stopwatch
from ...envs import Array, Chunk, Observation, derive_seed
from ...errors import ConfigError
from ..agent import Decision
from ..policy import Policy, Proposal
from .distances import ChunkMetric, as_vectors
from .gates import AttcGate, FixedGate
from .measures import COMMITTED
from .selection import Deliberation, Selection, Selector


@runtime_checkable
class Extends(Protocol):
    """A policy that adds candidates to a proposal without encoding the observation again."""

    def extend(self, proposal: Proposal, n: int, *, seed: int) -> Proposal:
        """What ``propose(observation, n, seed=seed)`` gives, at the cost of the new candidates alone."""
        ...


class AttcAgent:
    """Proposes what the gate needs, and executes the first candidate unless the gate opens.

    The candidates of a decision come from one seed, so the reflex is the same whatever gate and selector are used: it
    is what `thinktwice.agents.ReflexAgent` executes.

    Args:
        policy: proposes.
        gate: doubts, and says when to deliberate.
        select: chooses among the candidates when it opens.
        candidates: how many there are then, the gate's own among them.
        metric: what makes chunks comparable; its ``execute`` says how much of each chunk is executed.
        settings: of gate and selector, plain data for the record.

    Raises:
        ConfigError: there are fewer candidates than two, or than the gate compares.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        gate: AttcGate,
        select: Selector,
        candidates: int,
        metric: ChunkMetric,
        settings: Mapping[str, Any],
    ) -> None:
        least = max(2, gate.candidates_needed)
        if candidates < least:
            raise ConfigError(
                f"candidates must be at least {least}, to choose from and for the gate to compare, got {candidates}. "
                "For no choice at all use --agent reflex."
            )
        self._policy, self._gate, self._choose, self._candidates = policy, gate, select, candidates
        self._metric, self._settings = metric, settings
        self._seed, self._index = 0, 0
        self._committed: Array | None = None

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._index, self._committed = seed, 0, None

    def act(self, observation: Observation) -> Decision:
        """The reflex, or what deliberation chose; its notes hold the tail that was committed before.

        Raises:
            ContractError: a candidate is not finite, or the critic's answer is none.
        """
        seed = derive_seed(self._seed, self._index)
        self._index += 1
        watch = Stopwatch()
        proposal = self._with_tail(self._policy.propose(observation, self._gate.candidates_needed, seed=seed))
        as_vectors(proposal.chunks)
        with watch("gate"):
            doubt = self._gate.doubt(observation, proposal)
        opened = self._gate.opens(doubt)
        spent = proposal.cost + Cost(denoising_steps=self._gate.evaluations, comparisons=self._gate.comparisons)
        selection: Selection | None = None
        if opened:
            proposal, more = self._complete(observation, proposal, seed)
            with watch("select"):
                selection = self._select(observation, proposal, seed)
            spent = spent + more + Cost(comparisons=selection.comparisons)
        chunk = proposal.chunks[0] if selection is None else selection.chunk
        self._committed = self._tail(chunk)
        several = len(proposal.chunks) > 1
        return Decision(
            chunk=chunk[: self._metric.execute],
            mode="deliberate" if opened else "reflex",
            why=selection.why if selection else self._calm(doubt),
            doubt=None if isinstance(self._gate, FixedGate) else doubt,
            candidates=list(proposal.chunks) if several else (),
            chosen=(selection.index if selection else 0) if several else None,
            preferences=selection.preferences if selection else None,
            cost=spent + Cost(seconds=watch.seconds),
            notes={**proposal.notes, **(selection.notes if selection else {})},
        )

    def describe(self) -> dict[str, Any]:
        """Policy, gate, selector and how much of a chunk is executed."""
        return {
            "agent": "attc",
            "policy": self._policy.describe(),
            **self._settings,
            "candidates": self._candidates,
            "execute": self._metric.execute,
        }

    def _with_tail(self, proposal: Proposal) -> Proposal:
        if self._committed is None:
            return proposal
        return dataclasses.replace(proposal, notes={**proposal.notes, COMMITTED: self._committed})

    def _complete(self, observation: Observation, proposal: Proposal, seed: int) -> tuple[Proposal, Cost]:
        """The proposal with all candidates, and what the new ones cost."""
        wanted = self._candidates
        if len(proposal.chunks) == wanted:
            return proposal, Cost()
        if isinstance(self._policy, Extends):
            complete = self._policy.extend(proposal, wanted, seed=seed)
        else:
            complete = self._with_tail(self._policy.propose(observation, wanted, seed=seed))
        as_vectors(complete.chunks)
        return complete, complete.cost

    def _select(self, observation: Observation, proposal: Proposal, seed: int) -> Selection:
        return self._choose(
            Deliberation(
                observation=observation,
                proposal=proposal,
                metric=self._metric,
                committed=self._committed,
                seed=seed,
            )
        )

    def _tail(self, chunk: Chunk) -> Array | None:
        if self._metric.execute is None:
            return None
        tail = np.asarray(chunk)[self._metric.execute :]
        return tail if len(tail) else None

    def _calm(self, doubt: float) -> str:
        return "reflex" if isinstance(self._gate, FixedGate) else f"reflex: doubt {doubt:.3g} leaves the gate closed"
