"""What LIBERO's numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..conventions import Camera, Conventions, Dim

CONTROL_HZ = 20.0
"""LIBERO's control rate (`control_freq` of its `ControlEnv`); the physics runs at 500 Hz."""

POSITION_SCALE = 0.05
"""Metres that one unit of the position command moves the goal: `output_max` of robosuite's ``osc_pose.json``."""

ROTATION_SCALE = 0.5
"""Radians that one unit of the rotation command turns the goal: `output_max` of robosuite's ``osc_pose.json``."""

ACTION = (
    Dim(name="position", size=3, unit=f"{POSITION_SCALE} m", frame="world", representation="delta"),
    Dim(name="rotation", size=3, unit=f"{ROTATION_SCALE} rad", frame="world", representation="delta_axis_angle"),
    Dim(name="gripper", size=1, unit="1", frame="none", representation="sign", positive="closes"),
)
"""Operational-space control: the goal is the present pose of the gripper's grip site plus this."""

STATE = (
    Dim(name="position", size=3, unit="m", frame="world", representation="absolute"),
    Dim(name="rotation", size=3, unit="rad", frame="world", representation="axis_angle"),
    Dim(name="gripper", size=2, unit="m", frame="joint", representation="absolute"),
)
"""Position of the grip site, orientation of the robot's hand body, and the two fingers' joint positions.

These are robosuite's ``robot0_eef_pos``, ``robot0_eef_quat`` as axis-angle and ``robot0_gripper_qpos``: the state that
LIBERO's data sets and LeRobot use.
"""

STATE_BOUNDS = np.array([10.0] * 3 + [2 * np.pi] * 3 + [0.1] * 2, np.float32)
"""Magnitudes that no state exceeds: the arm reaches 1.2 m, and a finger 0.04 m."""


def libero_conventions(cameras: Sequence[str], *, height: int, width: int, rendering: str) -> Conventions:
    """The conventions of an environment with these cameras."""
    shown = tuple(Camera(name=name, height=height, width=width, rendering=rendering) for name in cameras)
    return Conventions(action=ACTION, state=STATE, cameras=shown, control_hz=CONTROL_HZ)
