"""Chunks: the actions that are executed in order before the next look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..errors import ContractError

type Array = NDArray[Any]
"""A numpy array; its shape, dtype and unit stand beside every use."""

type Action = Any
"""One element of a world's action space: ``float32[A]``, an ``int``, or a ``str``."""

type Chunk = Array | Sequence[Action]
"""Actions in order: ``float32[T, A]``, ``["go to desk 1"]`` or ``[3]``."""


def check_chunk(chunk: Chunk, space: spaces.Space[Any]) -> None:
    """Raise `ContractError` unless the chunk is a non-empty sequence of finite actions of the space's shape.

    Box bounds are not checked here: a policy may overshoot, and each world documents how it limits actions.
    """
    if isinstance(chunk, str) or len(chunk) == 0:
        raise ContractError(f"a chunk must be a non-empty sequence of actions, got {chunk!r}.")
    if not isinstance(space, spaces.Box):
        for action in chunk:
            if not space.contains(action):
                raise ContractError(f"action {action!r} is not in the world's action space {space}.")
        return
    array = np.asarray(chunk)
    if array.dtype.kind not in "fiu" or array.ndim != 1 + len(space.shape) or array.shape[1:] != space.shape:
        wanted = ", ".join(["T", *(str(n) for n in space.shape)])
        raise ContractError(f"a chunk for this world must be float32[{wanted}], got {array.dtype}{list(array.shape)}.")
    if not np.isfinite(array).all():
        raise ContractError("a chunk holds actions that are not finite (NaN or infinity); nothing was executed.")
