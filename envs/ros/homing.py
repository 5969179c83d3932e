"""Homing: the one motion that is handed to the robot's own trajectory action as a whole."""

from __future__ import annotations

import numpy as np

from ...errors import ConfigError, WorldError
from .gate import Bounds, Rejection, at_rest, check_command
from .hold import HoldLatch
from .kinematics import Kinematics
from .link import ArmLink
from .messages import FOLLOW_JOINT_TRAJECTORY, joint_trajectory, type_name


def go_home(link: ArmLink, latch: HoldLatch, kinematics: Kinematics, bounds: Bounds) -> None:
    """Bring an armed arm home with its ``FollowJointTrajectory`` action, and wait until it is there.

    The gate checks the goal as one long command: its limits, its mean velocity and the workspace at its end.  A hold on
    the way stops a trajectory controller as any other motion.

    Raises:
        ConfigError: the robot's description has no homing.
        ArmHeld: the arm is held.
        WorldError: the goal was refused by the gate or the robot, failed, or did not end in time; the arm is held.
    """
    robot = link.robot
    homing = robot.homing
    if homing is None:
        raise ConfigError(f"{robot.name} cannot be homed: its description has no homing.")
    latch.check()
    target = np.array(homing.positions)
    measured = link.reading().value.position[: len(target)]
    verdict = check_command(target, at_rest(measured), bounds, period=homing.seconds, tool=kinematics.position)
    if isinstance(verdict, Rejection):
        _fail(latch, f"{verdict.check}: {verdict.reason}")
    trajectory = joint_trajectory(
        robot.joints.names, target, stamp=0.0, seconds=homing.seconds, frame=robot.frame, ros=robot.ros
    )
    kind = type_name(FOLLOW_JOINT_TRAJECTORY, robot.ros, "action")
    result = link.client.send_goal(homing.action, kind, {"trajectory": trajectory}, timeout=homing.seconds + 10)
    code = result.values.get("error_code", 0) if isinstance(result.values, dict) else 0
    if not result.accepted or code != 0:
        _fail(latch, f"the robot answered {result.values}")
    latch.check()


def _fail(latch: HoldLatch, reason: str) -> None:
    latch.hold("violation", f"homing failed: {reason}")
    raise WorldError(f"homing failed: {reason}. The arm is held.")
