"""The ROS 2 message definitions that a deployment's log carries, in MCAP's ``ros2msg`` form.

A definition is the message's fields, then each type that it refers to behind a line of ``=``.  The fields are those of
ROS 2's common_interfaces (jazzy): https://github.com/ros2/common_interfaces
"""

from __future__ import annotations

from collections.abc import Mapping

_LINE = "=" * 80
_TIME = "int32 sec\nuint32 nanosec"
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id"


def _with(fields: str, parts: Mapping[str, str]) -> str:
    return "\n".join([fields, *(f"{_LINE}\nMSG: {name}\n{text}" for name, text in parts.items())])


_STAMPED = {"std_msgs/Header": _HEADER, "builtin_interfaces/Time": _TIME}

SCHEMAS: Mapping[str, str] = {
    "sensor_msgs/msg/JointState": _with(
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort", _STAMPED
    ),
    "sensor_msgs/msg/CompressedImage": _with("std_msgs/Header header\nstring format\nuint8[] data", _STAMPED),
    "std_msgs/msg/Float64MultiArray": _with(
        "std_msgs/MultiArrayLayout layout\nfloat64[] data",
        {
            "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset",
            "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
        },
    ),
    "std_msgs/msg/String": "string data",
}
