"""The critic's contract: which of two chunks is better here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..envs import Array, Chunk, Observation


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticContext:
    """What a critic may know besides the observation.

    Attributes:
        features: the policy's own features of this observation, where it exposes them; the policy's
            page names their keys, shapes and dtypes.
        candidates: all chunks under consideration, each ``float32[T, A]``; the first is the reflex's.
        committed: the part of the previous chunk that would have been executed next, ``float32[K, A]``,
            or None at the first decision.
    """

    features: Mapping[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    candidates: Sequence[Chunk] = ()
    committed: Chunk | None = None


@runtime_checkable
class Critic(Protocol):
    """Judges pairs of chunks."""

    def prefer(self, observation: Observation, pairs: Sequence[tuple[Chunk, Chunk]], context: CriticContext) -> Array:
        """The probability that the first of each pair is better than the second.

        Args:
            observation: what the agent sees.
            pairs: P pairs of chunks in the world's own units (not normalised).
            context: what else is known.

        Returns:
            ``float32[P]`` in [0, 1].  A critic is antisymmetric: swapping a pair gives one minus the
            value, within 1e-5, and a chunk against itself gives 0.5.
        """
        ...
