"""Opening and closing drawers and doors, turning knobs."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from ...envs.libero.problem import Predicate
from ...errors import WorldError
from .fixtures import door_lever, drawer_handle, knob_lever
from .motion import Command, facing, from_above
from .scene import Slider, View
from .touch import drag, nudge

_LEAN = 0.65
"""At a drawer's front the palm leans away from the cabinet by this angle, so that it clears the handles above."""
_LEAN_DOOR = 0.35


def articulate(view: View, goal: Predicate) -> Command:
    """One step towards ``open``, ``close``, ``turnon`` or ``turnoff``.

    Raises:
        WorldError: the named thing has no joint.
    """
    kind, name = goal
    joint = view.joint_of(name)
    if joint is None:
        raise WorldError(f"{name!r} has no joint to {kind}.")
    if not joint.hinge:
        return _drawer(view, joint, opening=kind == "open")
    if kind in ("turnon", "turnoff"):
        return _knob(view, joint, on=kind == "turnon")
    return _door(view, joint, opening=kind == "open")


def _drawer(view: View, joint: Slider, *, opening: bool) -> Command:
    handle = drawer_handle(view, joint)
    rotation = leaning(handle.outwards, _LEAN)
    if opening:
        top = handle.middle + np.array([0.0, 0.0, handle.half[1]])
        return drag(view, top, handle.outwards, rotation)
    return nudge(view, handle.middle, -handle.outwards, rotation, half=handle.half[0], depth=0.004)


def _knob(view: View, joint: Slider, *, on: bool) -> Command:
    lever = knob_lever(view, joint, far=True)
    direction = lever.direction if on else -lever.direction
    rotation = from_above(view, lever.end - 0.05 * direction, np.array([0.0, 1.0, 0.0]))
    return nudge(view, lever.end, direction, rotation, half=lever.half, depth=0.004)


def _door(view: View, joint: Slider, *, opening: bool) -> Command:
    lever = door_lever(view, joint)
    direction = -lever.direction if opening else lever.direction
    rotation = leaning(-direction, _LEAN_DOOR)
    return nudge(view, lever.end, direction, rotation, half=lever.half, depth=0.0)


def leaning(outwards: Array, angle: float) -> Array:
    """The hand's rotation with its palm leaning towards ``outwards`` and its fingers side by side across it."""
    approach = np.array([0.0, 0.0, -np.cos(angle)]) - np.sin(angle) * outwards
    return facing(approach, np.cross([0.0, 0.0, 1.0], outwards))
