"""The noise of candidates and the batches they are drawn in, so that more candidates never change the first ones.

A batched matrix product rounds differently for another batch size.  So candidates are always drawn in the same whole
batches, whichever of them are wanted: a pair, which is what a clutch compares, and blocks after it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...envs import Array, derive_seed

_PAIR = 2
_BLOCK = 14


def blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The batches that hold candidates ``first`` to ``last``, each whole.

    >>> list(blocks(0, 1)), list(blocks(0, 16)), list(blocks(2, 17))
    ([(0, 2)], [(0, 2), (2, 16)], [(2, 16), (16, 30)])
    """
    start, stop = 0, _PAIR
    while start < last:
        if stop > first:
            yield start, stop
        start, stop = stop, stop + _BLOCK


def candidate_noise(seed: int, index: int, shape: tuple[int, int]) -> Array:
    """The noise of one candidate, ``float32[T, A]``, whatever others are drawn beside it."""
    generator = np.random.default_rng(derive_seed(seed, "noise", index))
    return generator.standard_normal(shape, np.float32)
