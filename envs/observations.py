"""The one scheme of observation keys, and its translation into LeRobot's feature names.

| key | value |
| --- | --- |
| ``images.<camera>`` | ``uint8[H, W, 3]``, RGB, upright: as a person would see it |
| ``depth.<camera>`` | ``float32[H, W]``, metres along the optical axis |
| ``state`` | ``float32[S]``; the world's `Conventions` say what each entry is |
| ``task`` | ``str``: the instruction or referring expression |
| ``text`` | ``str``: what a text world says |
| ``choices`` | ``tuple[str, ...]``: the actions that a text world accepts now |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ContractError

type Observation = Mapping[str, Any]
"""One look at the world; see the module's table for its keys."""

IMAGES = "images."
DEPTH = "depth."
STATE = "state"
TASK = "task"
TEXT = "text"
CHOICES = "choices"

_LEROBOT_IMAGES = "observation.images."
_LEROBOT_STATE = "observation.state"


def camera_names(observation: Mapping[str, Any]) -> list[str]:
    """The cameras in an observation or in a ``spaces.Dict`` mapping, in the order they appear."""
    return [key.removeprefix(IMAGES) for key in observation if key.startswith(IMAGES)]


def lerobot_key(key: str) -> str | None:
    """LeRobot's name of one of our keys, or None where LeRobot has none (depth, text and choices).

    >>> lerobot_key("images.wrist")
    'observation.images.wrist'
    """
    if key.startswith(IMAGES):
        return _LEROBOT_IMAGES + key.removeprefix(IMAGES)
    return {STATE: _LEROBOT_STATE, TASK: TASK}.get(key)


def to_lerobot(observation: Observation) -> dict[str, Any]:
    """The observation under LeRobot's names, values untouched; keys that LeRobot lacks are left out."""
    renamed = {lerobot_key(key): value for key, value in observation.items()}
    return {key: value for key, value in renamed.items() if key is not None}


def check_observation(observation: Observation) -> None:
    """Raise `ContractError` unless every key follows the scheme and every value its type."""
    for key, value in observation.items():
        if key.startswith(IMAGES):
            _check_array(key, value, np.uint8, "uint8[H, W, 3]", ndim=3, last=3)
        elif key.startswith(DEPTH):
            _check_array(key, value, np.float32, "float32[H, W]", ndim=2)
        elif key == STATE:
            _check_array(key, value, np.float32, "float32[S]", ndim=1)
        elif key in (TASK, TEXT):
            if not isinstance(value, str):
                raise ContractError(f"observation[{key!r}] must be a str, not {type(value).__name__}.")
        elif key == CHOICES:
            if not isinstance(value, tuple) or not all(isinstance(choice, str) for choice in value):
                raise ContractError(f"observation[{key!r}] must be a tuple of str, got {value!r}.")
        else:
            raise ContractError(
                f"observation key {key!r} is outside the scheme. "
                "Use images.<camera>, depth.<camera>, state, task, text or choices."
            )


def _check_array(key: str, value: Any, dtype: type, shape: str, *, ndim: int, last: int | None = None) -> None:
    if not isinstance(value, np.ndarray):
        raise ContractError(f"observation[{key!r}] must be {shape}, not {type(value).__name__}.")
    if value.dtype != dtype or value.ndim != ndim or (last is not None and value.shape[-1] != last):
        raise ContractError(f"observation[{key!r}] must be {shape}, got {value.dtype}{list(value.shape)}.")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ContractError(f"observation[{key!r}] holds values that are not finite.")
