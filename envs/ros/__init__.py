"""An arm behind a rosbridge server, as a gymnasium environment with a safety gate.

`RosArmEnv` is the world; `load_robot` reads what an arm is; `check_command` is the gate.  `BridgeClient` talks
rosbridge v2, `BridgeServer` and `SimProcess` start a real server and a simulated arm, and `FakeBridge` and `FakeArm`
are FAKES for tests.
"""

from __future__ import annotations

from .bridge_server import BridgeServer, free_port, ros_environment
from .client import BridgeClient
from .env import RosArmEnv
from .estop import EmergencyStop
from .fake_arm import FakeArm
from .fake_bridge import FakeBridge
from .gate import Bounds, Motion, Rejection, at_rest, bounds_of, check_command
from .hold import ArmHeld, Hold, HoldLatch
from .kinematics import Kinematics
from .link import ArmLink
from .report import CommandReport
from .robot import Robot, load_robot, parse_robot
from .sim_launch import SimProcess
from .wire import ActionResult, Event, MalformedMessage

__all__ = [
    "ActionResult",
    "ArmHeld",
    "ArmLink",
    "Bounds",
    "BridgeClient",
    "BridgeServer",
    "CommandReport",
    "EmergencyStop",
    "Event",
    "FakeArm",
    "FakeBridge",
    "Hold",
    "HoldLatch",
    "Kinematics",
    "MalformedMessage",
    "Motion",
    "Rejection",
    "Robot",
    "RosArmEnv",
    "SimProcess",
    "at_rest",
    "bounds_of",
    "check_command",
    "free_port",
    "load_robot",
    "parse_robot",
    "ros_environment",
]
