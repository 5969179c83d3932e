"""Opening and closing drawers and doors, turning knobs."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from ...envs.libero.problem import Predicate
from ...errors import WorldError
from .fixtures import door_lever, drawer_handle, knob_fin
from .grasps import Grasp
from .motion import CLOSE, Command, from_above, leaning
from .pick import reach_and_close
from .scene import Slider, View
from .touch import drag, nudge

_LEAN = 0.65
"""At a drawer's front the palm leans away from the cabinet by this angle, so that it clears the handles above."""
_GRIP_BELOW = 0.008
"""The grip site is this far below the upper edge of a knob's ridge, metres."""
_GRIP_PLAY, _GRIP_NEAR = 0.006, 0.025
"""A ridge is gripped when the fingers are no wider apart than it by this much, and this near to it, metres."""
_TWIST = 0.5
"""The hand is sent this far ahead around a knob's axis, radians."""


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
    rotation = leaning(view, handle.outwards, _LEAN)
    if opening:
        top = handle.middle + np.array([0.0, 0.0, handle.half[1]])
        return drag(view, top, handle.outwards, rotation)
    return nudge(view, handle.middle, -handle.outwards, rotation, half=handle.half[0], depth=0.004)


def _knob(view: View, joint: Slider, *, on: bool) -> Command:
    hand, fin = view.hand, knob_fin(view, joint)
    grip = fin.grip - np.array([0.0, 0.0, _GRIP_BELOW])
    if hand.width < fin.width + _GRIP_PLAY and np.linalg.norm(hand.position - grip) < _GRIP_NEAR:
        turn = Rotation.from_rotvec([0.0, 0.0, _TWIST if on else -_TWIST]).as_matrix()
        rotation = turn @ from_above(view, hand.position, hand.rotation[:, 0])
        return Command(position=grip, rotation=rotation, grip=CLOSE, phase="twist")
    grasp = Grasp(position=grip, axis=fin.across, width=fin.width, score=0.0)
    return reach_and_close(view, grasp)


def _door(view: View, joint: Slider, *, opening: bool) -> Command:
    lever = door_lever(view, joint)
    direction = -lever.direction if opening else lever.direction
    # The palm is above the door's edge and need not lean, which would fold the arm where the door opens to the robot.
    rotation = from_above(view, lever.end, np.cross([0.0, 0.0, 1.0], direction))
    return nudge(view, lever.end, direction, rotation, half=lever.half, depth=0.0)
