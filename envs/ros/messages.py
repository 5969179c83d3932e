"""ROS messages as rosbridge JSON: what is sent, what is read, and type names for ROS 1 and ROS 2."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..chunks import Array
from .robot import CommandInterface
from .wire import MalformedMessage, Message

COMMAND_TYPES: Mapping[CommandInterface, str] = {
    "joint_trajectory": "trajectory_msgs/JointTrajectory",
    "joint_positions": "std_msgs/Float64MultiArray",
    "joint_state": "sensor_msgs/JointState",
    "pose": "geometry_msgs/PoseStamped",
    "twist": "geometry_msgs/TwistStamped",
}
JOINT_STATE = "sensor_msgs/JointState"
COMPRESSED_IMAGE = "sensor_msgs/CompressedImage"
FOLLOW_JOINT_TRAJECTORY = "control_msgs/FollowJointTrajectory"


@dataclasses.dataclass(frozen=True, kw_only=True)
class JointReading:
    """One ``sensor_msgs/JointState`` for the joints that were asked for.

    Attributes:
        stamp: header time in seconds of the robot's clock; 0.0 when the robot leaves it out.
        position: rad (m for a finger), ``float64[J]``, in the asked order; finite.
        velocity: rad/s, ``float64[J]``; NaN where the robot reports none.
    """

    stamp: float
    position: Array
    velocity: Array


def type_name(name: str, ros: int, kind: str = "msg") -> str:
    """A type's name in the ROS version: ``sensor_msgs/JointState`` or ``sensor_msgs/msg/JointState``.

    >>> type_name("sensor_msgs/JointState", 2)
    'sensor_msgs/msg/JointState'
    """
    package, _, last = name.partition("/")
    return name if ros == 1 or "/" in last else f"{package}/{kind}/{last}"


def time_message(seconds: float, ros: int) -> dict[str, int]:
    """A ROS time or duration; ROS 1 and 2 name its parts differently."""
    whole = math.floor(seconds)
    nanoseconds = min(round((seconds - whole) * 1e9), 999_999_999)
    return {"secs": whole, "nsecs": nanoseconds} if ros == 1 else {"sec": whole, "nanosec": nanoseconds}


def header(stamp: float, frame: str, ros: int) -> dict[str, Any]:
    """A ``std_msgs/Header``."""
    return {"stamp": time_message(stamp, ros), "frame_id": frame}


def read_stamp(message: Message) -> float:
    """Header time in seconds; 0.0 when there is none.

    Raises:
        MalformedMessage: the header is there and is no header.
    """
    head = message.get("header")
    if head is None:
        return 0.0
    try:
        stamp = head["stamp"]
        whole = stamp["sec"] if "sec" in stamp else stamp["secs"]
        part = stamp["nanosec"] if "nanosec" in stamp else stamp["nsecs"]
        seconds = float(whole) + float(part) * 1e-9
    except (TypeError, KeyError, ValueError) as error:
        raise MalformedMessage(f"a header without a time: {head!r}") from error
    if not math.isfinite(seconds):
        raise MalformedMessage(f"a header whose time is not finite: {head!r}")
    return seconds


def read_joint_state(message: Message, names: Sequence[str]) -> JointReading:
    """The named joints of a ``sensor_msgs/JointState``, in the order of ``names``.

    Raises:
        MalformedMessage: a joint is missing, or a position is missing, null or not finite.
    """
    given, positions = message.get("name"), message.get("position")
    if not isinstance(given, list) or not isinstance(positions, list) or len(given) != len(positions):
        raise MalformedMessage("a joint state whose names and positions do not match")
    places = {name: index for index, name in enumerate(given)}
    missing = [name for name in names if name not in places]
    if missing:
        raise MalformedMessage(f"a joint state without {missing}; it has {given}")
    position = _numbers([positions[places[name]] for name in names])
    if not np.isfinite(position).all():
        raise MalformedMessage(
            f"a joint position that is not finite: {dict(zip(names, position.tolist(), strict=True))}"
        )
    speeds = message.get("velocity")
    if not isinstance(speeds, list) or len(speeds) != len(given):
        speeds = [math.nan] * len(given)
    velocity = _numbers([speeds[places[name]] for name in names])
    return JointReading(stamp=read_stamp(message), position=position, velocity=velocity)


def _numbers(values: Sequence[Any]) -> Array:
    # rosbridge servers write NaN as null, as NaN or as a string.
    numbers = [float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else math.nan for v in values]
    return np.array(numbers, np.float64)


def image_bytes(message: Message) -> bytes:
    """The compressed bytes of a ``sensor_msgs/CompressedImage``.

    Raises:
        MalformedMessage: its data is neither base64 nor a list of bytes.
    """
    data = message.get("data")
    try:
        # rosbridge writes uint8[] as base64; a list of numbers is what ROS 1 servers may send.
        return base64.b64decode(data, validate=True) if isinstance(data, str) else bytes(data or b"")
    except (binascii.Error, TypeError, ValueError) as error:
        raise MalformedMessage(f"a compressed image whose bytes cannot be read: {error}") from error


def read_image(message: Message) -> Array:
    """The pixels of a ``sensor_msgs/CompressedImage``: ``uint8[H, W, 3]``, RGB.

    Raises:
        MalformedMessage: it holds no image that can be decoded.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(image_bytes(message))) as image:
            return np.asarray(image.convert("RGB"))
    except (ValueError, OSError, UnidentifiedImageError) as error:
        raise MalformedMessage(f"a compressed image that cannot be decoded: {error}") from error


def joint_trajectory(
    names: Sequence[str], target: Array, *, stamp: float, seconds: float, frame: str, ros: int
) -> Message:
    """A ``JointTrajectory`` with one point, to be reached ``seconds`` after ``stamp``.

    A stamp of the robot's clock makes a late copy harmless: controllers refuse a trajectory that ends in the past.
    """
    point = {"positions": target.tolist(), "time_from_start": time_message(seconds, ros)}
    return {"header": header(stamp, frame, ros), "joint_names": list(names), "points": [point]}


def empty_trajectory(names: Sequence[str], *, stamp: float, frame: str, ros: int) -> Message:
    """A ``JointTrajectory`` without points, on which ros2_controllers' joint_trajectory_controller holds."""
    return {"header": header(stamp, frame, ros), "joint_names": list(names), "points": []}


def joint_state(names: Sequence[str], target: Array, *, stamp: float, frame: str, ros: int) -> Message:
    """A ``JointState`` used as a target (crisp_controllers' ``target_joint``)."""
    return {"header": header(stamp, frame, ros), "name": list(names), "position": target.tolist()}


def float_array(values: Array) -> Message:
    """A ``Float64MultiArray``."""
    return {"layout": {"dim": [], "data_offset": 0}, "data": values.tolist()}


def pose(position: Array, quaternion_xyzw: Array, *, stamp: float, frame: str, ros: int) -> Message:
    """A ``PoseStamped``: metres and a unit quaternion."""
    point = dict(zip("xyz", position.tolist(), strict=True))
    turn = dict(zip("xyzw", quaternion_xyzw.tolist(), strict=True))
    return {"header": header(stamp, frame, ros), "pose": {"position": point, "orientation": turn}}


def twist(linear: Array, angular: Array, *, stamp: float, frame: str, ros: int) -> Message:
    """A ``TwistStamped``: m/s and rad/s."""
    speeds = {"linear": linear, "angular": angular}
    return {
        "header": header(stamp, frame, ros),
        "twist": {name: dict(zip("xyz", value.tolist(), strict=True)) for name, value in speeds.items()},
    }
