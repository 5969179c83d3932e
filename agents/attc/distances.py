"""Distances between chunks: how far apart two answers are in the part that will be executed.

Entries of an action have different units: centimetres, radians, and a gripper's sign that jumps from -1 to 1.  A
`ChunkMetric` therefore weighs each entry, and looks at no more than the actions that are executed before the next look:
what stands behind them will be decided again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...envs import Array, Chunk, Dim
from ...errors import ConfigError, ContractError, require

GRIPPER = "gripper"
"""The name of the gripper's group in a world's action conventions."""

SMALLEST_SCALE = 1e-3
"""A scale below this is taken as this, in the action's own unit: an entry that never moves would outweigh the rest."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChunkMetric:
    """What makes chunks comparable.

    Attributes:
        weights: one factor for each entry of an action, in one per action unit.
        execute: how many actions of a chunk are compared: those that are executed.  None for all of them.
    """

    weights: tuple[float, ...]
    execute: int | None = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigError: a weight is negative or not finite, all are zero, or ``execute`` is less than 1.
        """
        weights = np.asarray(self.weights, float)
        if not weights.size or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ConfigError(f"weights must be finite, not negative and not all zero, got {list(self.weights)}.")
        if self.execute is not None and self.execute < 1:
            raise ConfigError(f"execute must be at least 1 action, got {self.execute}.")

    def weigh(self, chunks: Array | Sequence[Chunk]) -> Array:
        """Chunks ``[N, T, A]`` as ``float64[N, K, A]``: weighted, and cut to the K actions that are executed.

        Raises:
            ContractError: they are no vectors of this size, or hold NaN or infinity; the message says which one.
        """
        stacked = as_vectors(chunks)
        require(
            stacked.shape[2] == len(self.weights),
            f"these actions have {stacked.shape[2]} entries, the metric has {len(self.weights)} weights",
        )
        return stacked[:, : self.execute] * np.asarray(self.weights)


def as_vectors(chunks: Array | Sequence[Chunk]) -> Array:
    """Candidates as ``float64[N, T, A]``.

    Raises:
        ContractError: they are no vectors of one size, or a candidate holds NaN or infinity; the message says which.
    """
    try:
        stacked = np.asarray(chunks, np.float64)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"distances need chunks of action vectors of one size, which text and ragged chunks are not ({error})."
        ) from error
    require(stacked.ndim == 3 and stacked.size > 0, f"distances need chunks [N, T, A], got shape {list(stacked.shape)}")
    broken = np.flatnonzero(~np.isfinite(stacked).all(axis=(1, 2)))
    if broken.size:
        raise ContractError(
            f"candidate {broken[0]} of {len(stacked)} holds actions that are not finite (NaN or infinity); "
            "nothing was executed. Look at the observation and at the policy's weights."
        )
    return stacked


def action_weights(action: Sequence[Dim], *, scale: Sequence[float] | None, gripper: float) -> tuple[float, ...]:
    """One factor for each entry: the inverse of its scale, and for a gripper's entries times a weight of their own.

    Args:
        action: the world's groups of the action vector.
        scale: a typical size of each entry, such as its standard deviation; None to take entries as they are.
        gripper: the weight of the gripper's entries: 0 leaves them out, 1 treats them as any other.

    Raises:
        ConfigError: the actions are no vectors, the scale has another size, or a value makes no sense.
    """
    size = sum(dim.size for dim in action)
    if size == 0:
        raise ConfigError("this world's actions are no vectors (text or indices), so candidates have no distance.")
    if not 0.0 <= gripper < np.inf:
        raise ConfigError(f"the gripper's weight must be 0 or more, got {gripper}.")
    given = np.ones(size) if scale is None else np.asarray(scale, float)
    if given.shape != (size,) or not np.isfinite(given).all() or (given < 0).any():
        raise ConfigError(f"the scale must be {size} finite numbers, none negative, got {list(given)}.")
    kinds = np.concatenate([np.full(dim.size, gripper if dim.name == GRIPPER else 1.0) for dim in action])
    return tuple(float(weight) for weight in kinds / np.maximum(given, SMALLEST_SCALE))


def dtw_cost(first: Array, second: Array) -> float:
    """The cumulative cost of the best alignment of two sequences: dynamic time warping with Euclidean steps.

    Two chunks that do the same a little earlier or later are near to each other, which a distance action by action
    would not see.  `dtaidistance` computes it in compiled code, and needs numpy alone.

    Args:
        first: ``float64[K, A]``.
        second: ``float64[L, A]``.
    """
    from dtaidistance import dtw_ndim

    a, b = np.ascontiguousarray(first, np.float64), np.ascontiguousarray(second, np.float64)
    return float(dtw_ndim.distance_fast(a, b, inner_dist="euclidean"))


def pairwise_distances(weighed: Array) -> Array:
    """The mean Euclidean distance, action by action, between any two of N chunks.

    Args:
        weighed: ``float64[N, K, A]``, what `ChunkMetric.weigh` gave.

    Returns:
        ``float64[N, N]``, symmetric, zero on the diagonal.
    """
    return np.linalg.norm(weighed[:, None] - weighed[None, :], axis=-1).mean(axis=-1)


def tail_distances(weighed: Array, tail: Array) -> Array:
    """How far each chunk's beginning departs from what the chunk before would have gone on with.

    Args:
        weighed: ``float64[N, K, A]``.
        tail: ``float64[L, A]``, weighed in the same way.

    Returns:
        ``float64[N]``: the mean Euclidean distance over the actions that both have.
    """
    shared = min(weighed.shape[1], len(tail))
    return np.linalg.norm(weighed[:, :shared] - tail[None, :shared], axis=-1).mean(axis=-1)
