"""Selectors without a critic: which of the candidates to execute, by chance or by consensus.

| name | takes |
| --- | --- |
| ``first`` | the reflex, after all: what deliberation costs when it changes nothing |
| ``random`` | any candidate: what more candidates give without judgement |
| ``medoid`` | the candidate with the least mean distance to all others |
| ``mean`` | the average of all candidates, which may be none of them |
| ``nearest`` | the candidate that continues the previous chunk best; the reflex where there is none |

Distances are those of the agent's metric.  Ties go to the candidate that comes first, so to the reflex.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...envs import Array, Chunk, Observation, derive_seed
from ..policy import Proposal
from .distances import ChunkMetric, pairwise_distances, tail_distances


@dataclasses.dataclass(frozen=True, kw_only=True)
class Deliberation:
    """What a selector may look at.

    Attributes:
        observation: what the agent sees.
        proposal: its N candidates ``[N, T, A]`` in the world's units, the reflex first; all are finite.
        metric: what makes chunks comparable.
        committed: the previous chunk's unexecuted tail, ``float32[K, A]``, or None at the first decision.
        seed: of this decision.
    """

    observation: Observation
    proposal: Proposal
    metric: ChunkMetric
    committed: Array | None
    seed: int

    def weighed(self) -> Array:
        """The candidates as distances see them: ``float64[N, K, A]``."""
        return self.metric.weigh(self.proposal.chunks)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """What a selector chose.

    Attributes:
        chunk: the whole chunk ``[T, A]``, not cut.
        index: its place among the candidates; None where it is none of them.
        why: one short sentence.
        preferences: ``float32[N, N]`` where every pair was compared.
        comparisons: pairs that a critic scored.
        notes: anything else worth showing in a trace.
    """

    chunk: Chunk
    index: int | None
    why: str
    preferences: Array | None = None
    comparisons: int = 0
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


type Selector = Callable[[Deliberation], Selection]


def choose(deliberation: Deliberation, index: int, why: str, **details: Any) -> Selection:
    """The selection of one candidate."""
    return Selection(chunk=deliberation.proposal.chunks[index], index=index, why=why, **details)


def first(deliberation: Deliberation) -> Selection:
    """The reflex."""
    return choose(deliberation, 0, "the reflex, whatever the others are")


def random(deliberation: Deliberation) -> Selection:
    """One of the candidates, each as likely as any other."""
    draw = np.random.default_rng(derive_seed(deliberation.seed, "random selector"))
    index = int(draw.integers(len(deliberation.proposal.chunks)))
    return choose(deliberation, index, f"candidate {index} by chance")


def medoid(deliberation: Deliberation) -> Selection:
    """The most central candidate."""
    mean = mean_distances(deliberation)
    index = int(mean.argmin())
    return choose(deliberation, index, f"candidate {index} is nearest to all others ({mean[index]:.3g} on average)")


def mean(deliberation: Deliberation) -> Selection:
    """The average of the candidates, entry by entry."""
    chunks = np.asarray(deliberation.proposal.chunks)
    average = chunks.mean(axis=0, dtype=np.float64).astype(chunks.dtype)
    return Selection(chunk=average, index=None, why=f"the mean of {len(chunks)} candidates")


def nearest(deliberation: Deliberation) -> Selection:
    """The candidate that departs least from what the previous chunk would have gone on with."""
    if deliberation.committed is None:
        return choose(deliberation, 0, "no previous chunk to go on with: the reflex")
    (tail,) = deliberation.metric.weigh(deliberation.committed[None])
    away = tail_distances(deliberation.weighed(), tail)
    index = int(away.argmin())
    return choose(deliberation, index, f"candidate {index} continues the previous chunk best ({away[index]:.3g} away)")


def mean_distances(deliberation: Deliberation) -> Array:
    """``float64[N]``: how far each candidate is from the others, on average."""
    distances = pairwise_distances(deliberation.weighed())
    return distances.sum(axis=1) / max(1, len(distances) - 1)


CONSENSUS: Mapping[str, Selector] = {
    "first": first,
    "random": random,
    "medoid": medoid,
    "mean": mean,
    "nearest": nearest,
}
"""The selectors that need no critic, by name."""
