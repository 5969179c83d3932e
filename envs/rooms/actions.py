"""The two action spaces: named discrete steps, and a continuous variant."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
from gymnasium import spaces

from ...errors import ContractError
from ..conventions import Dim
from .motion import STRIDE, TILT, TURN


class Move(enum.IntEnum):
    """The discrete actions, by index."""

    STOP = 0
    FORWARD = 1
    LEFT = 2
    RIGHT = 3
    UP = 4
    DOWN = 5
    OPEN = 6


NAMES = ("stop", "move forward", "turn left", "turn right", "look up", "look down", "open")
"""What `Move` means, in index order."""

CONTINUOUS = (
    Dim(name="forward", size=1, unit=f"{STRIDE} m", frame="agent", representation="delta"),
    Dim(name="turn", size=1, unit="30 deg", frame="agent", representation="delta", positive="left"),
    Dim(name="look", size=1, unit="20 deg", frame="agent", representation="delta", positive="up"),
    Dim(name="open", size=1, unit="1", frame="none", representation="absolute", positive="opens what is in front"),
    Dim(name="stop", size=1, unit="1", frame="none", representation="absolute", positive="ends the episode"),
)
"""The continuous action: ``float32[5]`` in [-1, 1]; forward moves only ahead, and the last two act above 0.5."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """What one action asks for: metres, radians (left and up positive), and the two switches."""

    forward: float = 0.0
    turn: float = 0.0
    look: float = 0.0
    open: bool = False
    stop: bool = False


_DISCRETE = {
    Move.STOP: Command(stop=True),
    Move.FORWARD: Command(forward=STRIDE),
    Move.LEFT: Command(turn=TURN),
    Move.RIGHT: Command(turn=-TURN),
    Move.UP: Command(look=TILT),
    Move.DOWN: Command(look=-TILT),
    Move.OPEN: Command(open=True),
}


def action_space(*, continuous: bool) -> spaces.Space[Any]:
    """The space of one action."""
    return spaces.Box(-1.0, 1.0, (len(CONTINUOUS),), np.float32) if continuous else spaces.Discrete(len(Move))


def command(action: Any, *, continuous: bool) -> Command:
    """What an action asks for; continuous values are clipped to [-1, 1].

    Raises:
        ContractError: the action is outside the space, of a wrong shape or not finite.
    """
    if not continuous:
        if isinstance(action, bool) or not isinstance(action, int | np.integer) or not 0 <= int(action) < len(Move):
            raise ContractError(f"action {action!r} is none of {dict(enumerate(NAMES))}.")
        return _DISCRETE[Move(int(action))]
    vector = np.asarray(action, np.float64)
    if vector.shape != (len(CONTINUOUS),) or not np.isfinite(vector).all():
        raise ContractError(f"a continuous action must be {len(CONTINUOUS)} finite numbers, got {action!r}.")
    ahead, turn, look, opens, stop = (float(v) for v in np.clip(vector, -1, 1))
    return Command(
        forward=max(ahead, 0.0) * STRIDE, turn=turn * TURN, look=look * TILT, open=opens > 0.5, stop=stop > 0.5
    )
