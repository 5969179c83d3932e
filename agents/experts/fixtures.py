"""Where to touch furniture and appliances: handles, knobs and doors, from their collision geometry."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...envs import Array
from .scene import Slider, View

_BAR = 0.017
"""A drawer's handle is what lies within this distance of its foremost point, metres."""
_FIN = 0.012
"""A knob's fin is what rises to within this distance of its top, metres."""
_PUSHED, _STRIP = (0.45, 0.65), 0.03
"""A door is pushed between these shares of its width, on a strip of this half width (metres): its handle is farther
out."""
_BELOW = 0.025
"""… and this far below its upper edge, so that the palm stays above the handle, metres."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Handle:
    """A drawer's handle.

    Attributes:
        middle: ``float64[3]``, the bar's middle, metres.
        half: half sizes of the bar: along the opening direction, and vertically.
        outwards: ``float64[3]``, the horizontal direction in which the drawer opens.
    """

    middle: Array
    half: tuple[float, float]
    outwards: Array


def drawer_handle(view: View, joint: Slider) -> Handle:
    """The handle of the drawer that a slide moves; LIBERO's drawers open towards negative values."""
    outwards = -joint.axis / np.linalg.norm(joint.axis)
    points = view.body_points(joint.body)
    depth = points @ outwards
    bar = points[depth > depth.max() - _BAR]
    middle = (bar.min(axis=0) + bar.max(axis=0)) / 2
    along = bar @ outwards
    middle += outwards * ((along.min() + along.max()) / 2 - float(middle @ outwards))
    return Handle(
        middle=middle,
        half=(float(np.ptp(along)) / 2, float(np.ptp(bar[:, 2])) / 2),
        outwards=outwards,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lever:
    """Something that turns about an axis when it is pushed.

    Attributes:
        end: ``float64[3]``, where to push, on its middle plane, metres.
        direction: ``float64[3]``, the horizontal direction in which ``end`` moves when the angle grows.
        half: half its thickness along the direction, metres.
    """

    end: Array
    direction: Array
    half: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fin:
    """The ridge on top of a knob.

    Attributes:
        grip: ``float64[3]``, on the ridge, as near to the knob's axis as the ridge reaches, its upper edge, metres.
        across: ``float64[3]``, the horizontal unit vector across the ridge.
        width: its thickness, metres.
    """

    grip: Array
    across: Array
    width: float


def knob_fin(view: View, joint: Slider) -> Fin:
    """The ridge of the knob that a hinge turns."""
    points = view.body_points(joint.body)
    fin = points[points[:, 2] > points[:, 2].max() - _FIN]
    flat = fin[:, :2] - fin[:, :2].mean(axis=0)
    _, _, directions = np.linalg.svd(flat, full_matrices=False)
    along = np.array([*directions[0], 0.0])
    across = np.array([-along[1], along[0], 0.0])
    reach, width = (fin - joint.anchor) @ along, (fin - joint.anchor) @ across
    place = float(np.clip(0.0, reach.min() + 0.01, reach.max() - 0.01))
    grip = joint.anchor + along * place + across * (width.min() + width.max()) / 2
    grip[2] = fin[:, 2].max()
    return Fin(grip=grip, across=across, width=float(np.ptp(width)))


def door_lever(view: View, joint: Slider) -> Lever:
    """Where to push a door that turns about a vertical hinge: near its upper edge, short of its handle."""
    points = view.body_points(joint.body)
    flat = (points - joint.anchor)[:, :2]
    farthest = flat[int(np.argmax(np.linalg.norm(flat, axis=1)))]
    along = np.array([*farthest, 0.0]) / np.linalg.norm(farthest)
    across = np.cross([0.0, 0.0, 1.0], along)
    reach = (points - joint.anchor) @ along
    # Anywhere on the free part will do: where the hand is already.
    place = float(np.clip((view.hand.position - joint.anchor) @ along, *(share * reach.max() for share in _PUSHED)))
    panel = points[np.abs(reach - place) < _STRIP]
    width = (panel - joint.anchor) @ across
    end = joint.anchor + along * place + across * (width.min() + width.max()) / 2
    end[2] = points[:, 2].max() - _BELOW
    return Lever(end=end, direction=across * np.sign(joint.axis[2]), half=float(np.ptp(width)) / 2)
