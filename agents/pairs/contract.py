"""The one interface of the label sources: what they see, what they find out, and what follows from it.

A source works in two halves.  While an agent plays, `LabelSource.evidence` finds out facts about the candidates of one
decision, with the simulator at hand.  Later, `Judge` turns the facts of all decisions into utilities.  So labels can
be made anew with another horizon or tolerance, without playing anything again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from ...envs import Array, Observation
from ..policy import Proposal

type SourceName = Literal["steps", "expert", "branch"]

SAMPLE = "sample"
"""The role of the policy's own candidates."""

EXPERT = "expert"
"""The role of an expert's chunk among the compared ones."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Moment:
    """One decision of an episode, before anything of it is executed.

    Attributes:
        observation: what the agent sees.
        proposal: the candidates, ``float32[N, T, A]``.
        committed: ``float32[K, A]``: what would have been executed next, or None.
        execute: how many actions of a chunk are executed before the next look.
        seed: the decision's own.
    """

    observation: Observation
    proposal: Proposal
    committed: Array | None
    execute: int
    seed: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a source found out about one decision.  Its arrays have the same shapes at every decision.

    Attributes:
        extra: by role, further chunks to compare with the candidates, ``float32[M, T, A]``.
        facts: arrays for the source's own `Judge`.
    """

    extra: Mapping[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    facts: Mapping[str, Array] = dataclasses.field(default_factory=dict[str, Array])


class LabelSource(Protocol):
    """Finds out facts about candidates, in the world that they would be executed in."""

    def evidence(self, moment: Moment) -> Evidence:
        """The facts about one decision; the world is afterwards as it was, bit for bit."""
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the record."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """How facts become labels; the facts stay, so this can be changed without playing again."""

    tie: float | None = None
    """Utilities that differ by no more are a tie; each source has its own number when not given."""
    label_horizon: int = 8
    """Source expert: how many actions of a chunk are compared with the expert's."""
    mode: Literal["nearest", "committed"] = "committed"
    """Source expert, where several ways are right: nearest measures each candidate against the way nearest to it,
    committed measures all against the one way that is under way."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One stored decision, as a `Judge` sees it.

    Attributes:
        chunks: ``float32[C, T, A]``, as the world acts on them: all that can be compared.
        roles: the role of each.
        committed: ``float32[K, A]``, or None.
        facts: as the source found them.
        scale: ``float32[A]``: the spread of each action entry over the whole set.
    """

    chunks: Array
    roles: tuple[str, ...]
    committed: Array | None
    facts: Mapping[str, Array]
    scale: Array


type Judge = Callable[[Case, LabelOptions], Array]
"""Utilities ``float32[C]``: larger is better, NaN where a chunk is not compared."""
