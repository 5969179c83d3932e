"""Asking a critic about the candidates of a proposal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...critics import Critic, CriticContext
from ...envs import Array, Observation
from ...errors import require
from ..policy import Proposal


def preferences(
    critic: Critic,
    observation: Observation,
    proposal: Proposal,
    *,
    committed: Array | None,
    pairs: Sequence[tuple[int, int]],
) -> Array:
    """The probability that the first of each pair of candidates is better than the second.

    Args:
        critic: judges all pairs in one call.
        observation: what the agent sees.
        proposal: its candidates, and the policy's features.
        committed: the previous chunk's unexecuted tail, ``float32[K, A]``, or None at the first decision.
        pairs: P pairs of places among the candidates.

    Returns:
        ``float32[P]``.

    Raises:
        ContractError: the critic's answer is no list of P probabilities.
    """
    chunks = proposal.chunks
    context = CriticContext(features=proposal.features, candidates=list(chunks), committed=committed)
    preferred = np.asarray(critic.prefer(observation, [(chunks[i], chunks[j]) for i, j in pairs], context))
    good = preferred.shape == (len(pairs),) and bool(((preferred >= 0) & (preferred <= 1)).all())
    require(good, f"a critic must give {len(pairs)} probabilities, got {preferred.tolist()}")
    return preferred
