"""From an agent's action to the joint positions it asks for."""

from __future__ import annotations

import dataclasses

import numpy as np
from gymnasium import spaces
from scipy.spatial.transform import Rotation

from ..chunks import Array
from ..conventions import Dim
from .gate import Rejection
from .kinematics import Kinematics
from .robot import Gripper, Robot


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """What an action asks for.

    Attributes:
        joints: rad, ``float64[J]``.
        position: of the end effector, m, base frame, ``float64[3]``.
        rotation: of the end effector, base frame, ``float64[3, 3]``.
        gripper: the gripper's own number, or None without one.
        applied: the action as it is applied: deltas and gripper cut to [-1, 1], ``float32[A]``.
        delta: metres and radians that a Cartesian action asks for, ``float64[6]``; zeros in joint modes.
    """

    joints: Array
    position: Array
    rotation: Array
    gripper: float | None
    applied: Array
    delta: Array


def action_space(robot: Robot) -> spaces.Box:
    """The action space of a robot: joints in rad, or deltas in [-1, 1], then the gripper in [-1, 1]."""
    joints = len(robot.joints.names)
    if robot.actions.mode == "joint_position":
        low, high = list(robot.joints.lower), list(robot.joints.upper)
    else:
        size = joints if robot.actions.mode == "joint_delta" else 6
        low, high = [-1.0] * size, [1.0] * size
    gripper = [1.0] if robot.gripper is not None else []
    return spaces.Box(
        np.array([*low, *(-one for one in gripper)], np.float32),
        np.array([*high, *gripper], np.float32),
        dtype=np.float32,
    )


def action_dims(robot: Robot) -> tuple[Dim, ...]:
    """What the entries of an action mean, in the words of the conventions."""
    actions, joints = robot.actions, len(robot.joints.names)
    if actions.mode == "joint_position":
        dims = [Dim(name="joints", size=joints, unit="rad", frame="joint", representation="absolute")]
    elif actions.mode == "joint_delta":
        dims = [Dim(name="joints", size=joints, unit=f"{actions.joint} rad", frame="joint", representation="delta")]
    else:
        frame = actions.frame
        turn = "delta_axis_angle"
        dims = [
            Dim(name="position", size=3, unit=f"{actions.translation} m", frame=frame, representation="delta"),
            Dim(name="rotation", size=3, unit=f"{actions.rotation} rad", frame=frame, representation=turn),
        ]
    if robot.gripper is not None:
        sign = robot.gripper.positive
        dims.append(Dim(name="gripper", size=1, unit="1", frame="none", representation="sign", positive=sign))
    return tuple(dims)


def target_of(action: Array, robot: Robot, kinematics: Kinematics, reference: Array) -> Target | Rejection:
    """What an action asks for.

    Args:
        action: ``float[A]`` of `action_space`.
        robot: says what the entries mean.
        kinematics: the robot's.
        reference: the joint positions that a delta is added to, rad, ``float64[J]``.

    Returns:
        The target; or a rejection when the action is not finite, has a wrong shape, or no joint positions reach it.
    """
    shape = action_space(robot).shape
    action = np.asarray(action)
    if action.dtype.kind not in "fiu" or action.shape != shape:
        return Rejection(check="finite", reason=f"an action needs shape {shape}, got {action.dtype}{action.shape}")
    if not np.isfinite(action).all():
        return Rejection(check="finite", reason=f"the action is not finite: {action.tolist()}")
    if not np.isfinite(reference).all():
        return Rejection(check="finite", reason="the position that a delta is added to is not finite")
    action = action.astype(np.float64)
    count = len(action) - (robot.gripper is not None)
    if robot.actions.mode == "joint_position":
        applied = np.concatenate([action[:count], np.clip(action[count:], -1.0, 1.0)])
    else:
        applied = np.clip(action, -1.0, 1.0)
    delta = np.zeros(6)
    if robot.actions.mode == "cartesian_delta":
        delta = applied[:6] * np.repeat([robot.actions.translation or 0.0, robot.actions.rotation or 0.0], 3)
        position, rotation = kinematics.pose(reference)
        position = position + delta[:3]
        rotation = Rotation.from_rotvec(delta[3:]).as_matrix() @ rotation
        joints = reference if not delta.any() else kinematics.solve(position, rotation, reference)
        if joints is None:
            return Rejection(
                check="joint limits", reason=f"no joint positions reach {np.round(position, 4).tolist()} m"
            )
    else:
        joints = applied[:count]
        if robot.actions.mode == "joint_delta":
            joints = reference + joints * (robot.actions.joint or 0.0)
        position, rotation = kinematics.pose(joints)
    return Target(
        joints=joints,
        position=position,
        rotation=rotation,
        gripper=None if robot.gripper is None else _gripper(robot, float(applied[-1])),
        applied=applied.astype(np.float32),
        delta=delta,
    )


def gripper_entry(gripper: Gripper, number: float | None) -> float:
    """The action entry that asks for a gripper's own number; the one that opens it when no number was sent yet."""
    if number is None or gripper.closed == gripper.open:
        return -1.0 if gripper.positive == "closes" else 1.0
    closed = (number - gripper.open) / (gripper.closed - gripper.open)
    return 2 * closed - 1 if gripper.positive == "closes" else 1 - 2 * closed


def _gripper(robot: Robot, entry: float) -> float:
    gripper = robot.gripper
    if gripper is None:
        return 0.0
    closed = (entry + 1.0) / 2.0 if gripper.positive == "closes" else (1.0 - entry) / 2.0
    return gripper.open + closed * (gripper.closed - gripper.open)
