"""An arm behind a rosbridge server, as a gymnasium environment with a safety gate."""

from __future__ import annotations

from .gate import Bounds, Motion, Rejection, at_rest, bounds_of, check_command
from .kinematics import Kinematics
from .robot import Robot, load_robot, parse_robot

__all__ = [
    "Bounds",
    "Kinematics",
    "Motion",
    "Rejection",
    "Robot",
    "at_rest",
    "bounds_of",
    "check_command",
    "load_robot",
    "parse_robot",
]
