"""A fake critic for tests.  It judges by one number of each chunk and knows nothing of any task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..envs import Array, Chunk, Observation
from ..errors import require
from .contract import CriticContext


class FakeCritic:
    """Prefers the chunk whose actions are smaller on average."""

    def prefer(self, observation: Observation, pairs: Sequence[tuple[Chunk, Chunk]], context: CriticContext) -> Array:
        """``float32[P]``: a logistic of the difference of the chunks' mean absolute action.

        Raises:
            ContractError: a chunk is not finite.
        """
        del observation, context
        return np.array([1 / (1 + np.exp(_size(first) - _size(second))) for first, second in pairs], np.float32)


def _size(chunk: Chunk) -> float:
    size = float(np.abs(np.asarray(chunk, np.float64)).mean())
    require(np.isfinite(size), "a critic cannot judge a chunk that holds NaN or infinity")
    return size
