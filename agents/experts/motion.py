"""From where the hand should be to the action that brings it there."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

from ...envs import Array
from .grasps import PALM
from .scene import Hand, View, height_along

OPEN, CLOSE = -1.0, 1.0
"""The gripper's entry of a LIBERO action."""

POSITION_SCALE = 0.05
"""Metres of goal displacement at an action of 1 (robosuite's OSC_POSE)."""
ROTATION_SCALE = 0.5
"""Radians of goal rotation at an action of 1."""
GAIN = 1.35
"""The goal is set this many times the error away, which is faster near the target and does not overshoot yet."""
STICTION = (0.012, 0.08)
"""Metres and radians added to the goal's displacement, because below about this much the arm's joint friction holds it
where it is and the last centimetre is never closed."""
_STICTION_NEAR = (0.004, 0.05)
"""Errors at which that addition fades out."""

CLEARANCE = 0.02
"""Free height kept above everything that is crossed, metres."""
_FINGERS = 0.07
"""The open fingers, and what they hold, stay within this distance of the grip site seen from above, metres."""
_PALM_REACH = 0.115
"""… and the palm within this one."""

_SHOULDER = 0.333
_HAND = 0.204
_WRIST = 0.088
"""Heights and offsets of the Panda: base to shoulder, joint 7 to the grip site, joint 6 to joint 7, metres."""
_ARM = (0.32, 0.66)
"""Shoulder to joint 6, with the elbow neither quite folded nor quite straight (0.2 and 0.7), metres."""
_TILTS = np.linspace(-0.6, 0.6, 49)

_YAW = (-1.4, 2.9)
"""The hand's turn from its initial pose stays between these, radians: there joint 7 is at 0.79 of +-2.90, and joint 1
takes up to 0.6 of the rest."""
_YAW_CUT = -1.9
_STEEP = 0.5
"""The palm is above the fingertips while its axis points down by more than this (a cosine)."""
_TOO_FAR = 10.0
_WIDE_TURN = 0.8

_DOWN = np.array([0.0, 0.0, -1.0])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """Where the hand should go now.

    Attributes:
        position: ``float64[3]`` of the grip site, metres.
        rotation: ``float64[3, 3]``, as `Hand.rotation`.
        grip: `OPEN` or `CLOSE`.
        phase: what is being done, for a person: ``"reach"``, ``"close"``, ``"carry"``, …
        speed: limit of the translational action, at most 1.
    """

    position: Array
    rotation: Array
    grip: float
    phase: str
    speed: float = 1.0


def servo(hand: Hand, command: Command) -> Array:
    """The action towards a command: ``float32[7]``, LIBERO's OSC deltas and gripper."""
    step = _displaced(command.position - hand.position, STICTION[0], _STICTION_NEAR[0]) / POSITION_SCALE
    largest = float(np.abs(step).max())
    if largest > command.speed:
        step = step * (command.speed / largest)
    turn = _turn(hand.rotation, command.rotation)
    turn = _displaced(turn, STICTION[1], _STICTION_NEAR[1]) / ROTATION_SCALE
    return np.concatenate([step, np.clip(turn, -1.0, 1.0), [command.grip]]).astype(np.float32)


def _turn(current: Array, target: Array) -> Array:
    """The rotation vector to follow: a wide turn is made about the vertical, the wrist upright, before the palm leans.

    The shortest rotation between two leaning poses that look apart would tip the wrist over, and a palm that keeps its
    lean through the turn stretches the arm.
    """
    yaw = _yaw(target[:, 0]) - _yaw(current[:, 0])
    if abs(yaw) <= _WIDE_TURN:
        return rotation_error(current, target)
    rights = np.cross(current[:, 2], _DOWN)
    size = float(np.linalg.norm(rights))
    lean = float(np.arctan2(size, current[:, 2] @ _DOWN))
    return rights * (lean / max(size, 1e-9)) + np.array([0.0, 0.0, yaw])


def _displaced(error: Array, stiction: float, near: float) -> Array:
    """How far away the controller's goal is set to remove an error."""
    size = float(np.linalg.norm(error))
    return error * (GAIN + stiction * np.tanh(size / near) / max(size, 1e-9))


def rotation_error(current: Array, target: Array) -> Array:
    """The rotation vector in the world frame that turns one rotation matrix into the other, ``float64[3]``."""
    return Rotation.from_matrix(target @ current.T).as_rotvec()


def facing(approach: Array, axis: Array, current: Array) -> Array:
    """The hand's rotation for an approach direction and a fingers' axis: ``float64[3, 3]``.

    Both signs of the axis are the same to the fingers.  The one that needs less turning is taken, unless the last joint
    would come near its end.

    Args:
        approach: ``float64[3]``, from the palm to the fingertips.
        axis: ``float64[3]``; its part along the approach is removed.
        current: ``float64[3]``, the hand's own axis.
    """
    approach = approach / np.linalg.norm(approach)
    axis = axis - approach * float(axis @ approach)
    axis = axis / np.linalg.norm(axis)
    axis = min((axis, -axis), key=lambda way: abs(_yaw(way) - _yaw(current)) + _excess(_yaw(way)))
    return np.stack([axis, np.cross(approach, axis), approach], axis=1)


def _yaw(axis: Array) -> float:
    """How far an axis is turned from the one of LIBERO's initial pose (+y), counterclockwise, radians."""
    angle = float(np.arctan2(-axis[0], axis[1]))
    return angle if angle > _YAW_CUT else angle + 2 * np.pi


def _excess(yaw: float) -> float:
    return _TOO_FAR if not _YAW[0] < yaw < _YAW[1] else 0.0


def reach_tilt(offset: Array) -> float:
    """How far the palm must lean back towards the robot for the arm to reach a point, radians.

    With the hand upright the elbow is straight at about 0.77 m from the base and folded at about 0.3 m, and there the
    controller stalls; leaning back moves the wrist inwards, leaning away (negative) outwards.  The lengths are the
    Panda's Denavit-Hartenberg parameters.

    Args:
        offset: ``float64[3]`` from the robot's base to the grip site, metres.
    """
    radius, height = float(np.linalg.norm(offset[:2])), float(offset[2]) - _SHOULDER
    across = radius - _WRIST * np.cos(_TILTS) - _HAND * np.sin(_TILTS)
    up = height + _HAND * np.cos(_TILTS) - _WRIST * np.sin(_TILTS)
    length = np.hypot(across, up)
    excess = np.maximum(0.0, length - _ARM[1]) + np.maximum(0.0, _ARM[0] - length)
    return float(_TILTS[int(np.argmin(excess + 1e-3 * np.abs(_TILTS)))])


def from_above(view: View, position: Array, axis: Array) -> Array:
    """The hand's rotation with the palm above the fingertips, leaning back where the arm needs it.

    Args:
        view: the scene.
        position: ``float64[3]``, where the grip site will be, metres.
        axis: ``float64[3]``, the fingers' axis.
    """
    offset = position - view.base
    tilt = reach_tilt(offset)
    outwards = np.array([offset[0], offset[1], 0.0]) / max(1e-6, float(np.linalg.norm(offset[:2])))
    return facing(np.cos(tilt) * _DOWN + np.sin(tilt) * outwards, axis, view.hand.rotation[:, 0])


def leaning(view: View, outwards: Array, angle: float) -> Array:
    """The hand's rotation with its palm leaning towards ``outwards`` and its fingers side by side across it."""
    approach = np.array([0.0, 0.0, -np.cos(angle)]) - np.sin(angle) * outwards
    return facing(approach, np.cross([0.0, 0.0, 1.0], outwards), view.hand.rotation[:, 0])


def level(view: View, position: Array, *, turn: float = 0.0) -> Array:
    """The rotation from above that is nearest to the hand's own, turned about the vertical by ``turn`` radians."""
    axis = view.hand.rotation[:, 0] * np.array([1.0, 1.0, 0.0])
    axis = axis if np.linalg.norm(axis) > 0.3 else np.array([0.0, 1.0, 0.0])
    return from_above(view, position, Rotation.from_rotvec([0.0, 0.0, turn]).apply(axis))


def cross_over(view: View, target: Array, *, clear: float, excluded: tuple[str, ...] = ()) -> Array:
    """A way point towards a target that is reached from above: up, across, and not down yet.

    Args:
        view: the scene.
        target: ``float64[3]``, metres.
        clear: how far the lowest moving thing hangs below the grip site, metres.
        excluded: names that are no obstacle (what the hand holds).

    Returns:
        ``float64[3]``: above the target when the hand is high enough, and over its own place before.
    """
    hand = view.hand.position
    obstacles = view.others(excluded)
    below = height_along(obstacles, hand, target, radius=_FINGERS) + clear + CLEARANCE
    beside = height_along(obstacles, hand, target, radius=_PALM_REACH) - PALM + CLEARANCE
    height = max(below, beside, target[2] + 0.05)
    free = float(np.clip((hand[2] - (height - 0.03)) / 0.03, 0.0, 1.0))
    across = (target - hand)[:2] * free
    approach = view.hand.rotation[:, 2]
    if not excluded and approach[2] < -_STEEP:
        # An empty hand may lean out from under something: back along its palm the way is free.
        across += approach[:2] / approach[2] * (height - hand[2]) * (1.0 - free)
    return np.array([*(hand[:2] + across), height])
