"""Where the hand will next open or close: a second thing to learn, which tells the image encoders what matters.

A chunk of clipped actions says little about how far away its aim is.  The place of the gripper's next change is that
aim: first the object to grasp, then where it goes (keyframes as in James and Davison, "Q-attention", 2022).
"""

from __future__ import annotations

import numpy as np

from ...envs import Array
from ...envs.conventions import entries
from .demonstrations import Demonstration

UNIT = 0.1
"""Metres: the next change is about so far away."""


def keyframes(demonstration: Demonstration) -> Array | None:
    """From the hand at each frame to the hand at the gripper's next change, or at the end: ``float32[T, 3]``.

    In units of `UNIT`, in the frame of the state's position.  None where the conventions have no position in the state
    or no gripper in the action.
    """
    position = entries(demonstration.conventions.state, name="position")
    gripper = entries(demonstration.conventions.action, name="gripper")
    if position is None or gripper is None or position.stop - position.start != 3:
        return None
    places = demonstration.state[:, position]
    length = len(places)
    closes = demonstration.label[:, gripper.start] > 0
    changes = np.append(np.flatnonzero(closes[1:] != closes[:-1]) + 1, length - 1)
    following = changes[np.minimum(np.searchsorted(changes, np.arange(length), side="right"), len(changes) - 1)]
    return ((places[following] - places) / UNIT).astype(np.float32)
