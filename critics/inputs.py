"""What a learned critic reads of a set of candidates, computed alike in training and when it judges.

A critic that sees pairs alone picks what looks best and may change its mind at every decision.  So it also sees
commitment (the tail of the chunk under way) and how far each candidate is from the set's mean and medoid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..envs import Array, Chunk
from ..errors import require

TRAITS = ("to the mean", "to the medoid", "a set is known", "to the committed tail", "a tail is known")
"""The columns of `traits`; distances are root mean squares in the scale's unit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Candidates:
    """The set that chunks belong to.

    Attributes:
        chunks: ``float32[N, T, A]``: all candidates of the policy; N may be 0 when nobody says.
        committed: ``float32[K, A]``: what would have been executed next, or None at the first decision.
    """

    chunks: Array
    committed: Array | None


def as_chunks(chunks: Sequence[Chunk], *, length: int, action: int, what: str) -> Array:
    """The chunks as ``float32[N, T, A]``.

    Raises:
        ContractError: one of them has another shape or is not finite.
    """
    arrays = [np.asarray(chunk, np.float32) for chunk in chunks]
    for array in arrays:
        good = array.shape == (length, action)
        require(
            good, f"{what} must be float32[{length}, {action}] as in the critic's training, got {list(array.shape)}"
        )
        require(bool(np.isfinite(array).all()), f"a critic cannot judge {what} that holds NaN or infinity")
    return np.stack(arrays) if arrays else np.zeros((0, length, action), np.float32)


def as_committed(committed: Chunk | None, *, action: int) -> Array | None:
    """The committed tail as ``float32[K, A]``, or None where there is none (K = 0 too).

    Raises:
        ContractError: it has another shape or is not finite.
    """
    if committed is None or len(committed) == 0:
        return None
    array = np.asarray(committed, np.float32)
    good = array.ndim == 2 and array.shape[1] == action
    require(good, f"the committed tail must be float32[K, {action}], got {list(array.shape)}")
    require(bool(np.isfinite(array).all()), "the committed tail holds NaN or infinity")
    return array


def distances(chunks: Array, others: Array, scale: Array) -> Array:
    """Root mean square distance of every chunk to every other one, each action entry divided by its scale.

    Args:
        chunks: ``float32[N, T, A]``.
        others: ``float32[M, T, A]``.
        scale: ``float32[A]``.

    Returns:
        ``float32[N, M]``.
    """
    apart = (chunks[:, None] - others[None]) / scale
    return np.sqrt((apart**2).mean(axis=(2, 3)))


def medoid(chunks: Array, scale: Array) -> int:
    """The index of the chunk with the least summed distance to the others; the first of equals."""
    return int(distances(chunks, chunks, scale).sum(axis=1).argmin())


def traits(chunks: Array, among: Candidates, *, horizon: int, scale: Array) -> Array:
    """Each chunk's place among the candidates and its agreement with what is under way.

    Args:
        chunks: ``float32[N, T, A]``.
        among: the set that they are compared within; they may be others than its own.
        horizon: how many actions count.
        scale: ``float32[A]``: the unit of each action entry.

    Returns:
        ``float32[N, len(TRAITS)]``.
    """
    result = np.zeros((len(chunks), len(TRAITS)), np.float32)
    if len(among.chunks):
        crowd = among.chunks[:, :horizon]
        centres = np.stack([crowd.mean(axis=0), crowd[medoid(crowd, scale)]])
        result[:, :2] = distances(chunks[:, :horizon], centres, scale)
        result[:, 2] = 1.0
    if among.committed is not None:
        shared = min(horizon, len(among.committed))
        tail = among.committed[None, :shared]
        result[:, 3] = distances(chunks[:, :shared], tail, scale)[:, 0]
        result[:, 4] = 1.0
    return result


def padded_tail(committed: Array | None, *, length: int, action: int) -> tuple[Array, Array]:
    """The committed tail, cut or filled up with zeros: ``float32[length, A]``, and ``float32[length]``: 1 if known."""
    tail, known = np.zeros((length, action), np.float32), np.zeros(length, np.float32)
    if committed is not None:
        shared = min(length, len(committed))
        tail[:shared], known[:shared] = committed[:shared], 1.0
    return tail, known


def crowd(among: Candidates, *, length: int, action: int) -> tuple[Array, Array]:
    """Mean and spread of the candidates' first actions: ``float32[2, length, A]``; and ``float32[1]``: 1 if any."""
    if not len(among.chunks):
        return np.zeros((2, length, action), np.float32), np.zeros(1, np.float32)
    first = among.chunks[:, :length]
    return np.stack([first.mean(axis=0), first.std(axis=0)]).astype(np.float32), np.ones(1, np.float32)
