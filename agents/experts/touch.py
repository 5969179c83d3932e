"""Moving furniture with closed fingers: pushing something along, and dragging a handle from above."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from .grasps import TIP
from .motion import CLOSE, Command, cross_over, rotation_error
from .scene import View

_TIP_HALF = 0.009
"""Half the thickness of a closed fingertip, metres."""
_RUN_UP = 0.035
"""Pushing starts this far before contact, metres."""
_THROUGH = 0.05
"""The hand is sent this far beyond the contact: the controller's goal must stay ahead of what it pushes."""
_PRESS = 0.025
"""How far below a handle's top the hand is sent to press on it, metres."""
_ON_TRACK, _PUSHING_TRACK = 0.018, 0.045
"""The hand may be this far from the line along which it pushes: before, and once it touches, metres."""
_TOUCHING = 0.012
_STAND_OFF = 0.10
"""Dragging starts this far back along the palm's axis, metres."""
_SHUT = 0.01
_SPREAD = 0.02
"""Closed fingertips that are dragged over something may part up to this far, metres."""


def nudge(view: View, point: Array, direction: Array, rotation: Array, *, half: float, depth: float) -> Command:
    """One step of pushing something along with the closed fingertips.

    Args:
        view: the scene.
        point: ``float64[3]``, the middle of what is pushed, metres.
        direction: ``float64[3]``, the horizontal unit vector to push along.
        rotation: ``float64[3, 3]``, the hand's.
        half: half the thickness of what is pushed, along the direction, metres.
        depth: how far the fingertips reach below the point, metres.
    """
    hand = view.hand
    gap = half + _TIP_HALF
    contact = point - direction * gap + rotation[:, 2] * -TIP + np.array([0.0, 0.0, -depth])
    offset = hand.position - contact
    along = float(offset @ direction)
    aside = float(np.linalg.norm(offset - along * direction))
    track = _PUSHING_TRACK if abs(along) < _TOUCHING else _ON_TRACK
    if aside < track and -2 * _RUN_UP < along < gap and hand.width < _SHUT:
        return Command(position=contact + direction * _THROUGH, rotation=rotation, grip=CLOSE, phase="push", speed=0.7)
    return _go(view, contact - direction * _RUN_UP, rotation)


def drag(view: View, top: Array, direction: Array, rotation: Array) -> Command:
    """One step of dragging a handle along with the closed fingertips pressed on it from above.

    Args:
        view: the scene.
        top: ``float64[3]``, the middle of the handle's upper face, metres.
        direction: ``float64[3]``, the horizontal unit vector to drag along.
        rotation: ``float64[3, 3]``, the hand's.
    """
    hand = view.hand
    approach = rotation[:, 2]
    rest = top - approach * TIP
    offset = hand.position - rest
    back = -float(offset @ approach)
    aside = float(np.linalg.norm(offset + back * approach))
    if aside < 0.012 and back < 0.008 and hand.width < _SPREAD:
        position = rest + direction * _THROUGH + np.array([0.0, 0.0, -_PRESS])
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="drag")
    if aside < _ON_TRACK and back < _STAND_OFF + 0.03 and hand.width < _SHUT:
        position = rest + approach * (0.008 - max(0.0, aside - 0.006) * 4)
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="descend")
    # Handles stand one above the other: only along the leaning palm is the way to each of them free.
    return _go(view, rest - approach * _STAND_OFF, rotation)


def _go(view: View, start: Array, rotation: Array) -> Command:
    """Across above everything, then straight down to where touching starts."""
    hand = view.hand
    turned = float(np.linalg.norm(rotation_error(hand.rotation, rotation)))
    if float(np.linalg.norm((hand.position - start)[:2])) > _ON_TRACK or turned > 0.5:
        position = cross_over(view, start, clear=TIP)
        return Command(position=position, rotation=rotation, grip=CLOSE, phase="go")
    return Command(position=start, rotation=rotation, grip=CLOSE, phase="descend")
