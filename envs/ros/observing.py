"""What an agent sees of an arm: the state vector, the images, and their conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from scipy.spatial.transform import Rotation

from ...errors import WorldError
from ..chunks import Array
from ..conventions import Camera, Conventions, Dim
from ..observations import IMAGES, STATE, TASK, Observation
from .kinematics import Kinematics
from .link import ArmLink
from .robot import CameraStream, Robot, StatePart
from .streams import decode
from .targets import action_dims
from .wire import MalformedMessage

_TEXT = spaces.Text(min_length=0, max_length=1000, charset="".join(chr(code) for code in range(32, 127)))


def state_dims(robot: Robot) -> tuple[Dim, ...]:
    """What the entries of ``state`` mean."""
    joints, frame = len(robot.joints.names), robot.actions.frame
    fingers = len(robot.gripper.joints) if robot.gripper else 0
    dims: dict[StatePart, Dim] = {
        "joint_position": Dim(name="joints", size=joints, unit="rad", frame="joint", representation="absolute"),
        "joint_velocity": Dim(name="joint_speeds", size=joints, unit="rad/s", frame="joint", representation="absolute"),
        "gripper_position": Dim(name="gripper", size=fingers, unit="m", frame="joint", representation="absolute"),
        "eef_position": Dim(name="position", size=3, unit="m", frame=frame, representation="absolute"),
        "eef_axis_angle": Dim(name="rotation", size=3, unit="rad", frame=frame, representation="axis_angle"),
        "eef_quaternion_xyzw": Dim(name="rotation", size=4, unit="1", frame=frame, representation="quaternion_xyzw"),
    }
    return tuple(dims[part] for part in robot.state)


def arm_conventions(robot: Robot) -> Conventions:
    """The conventions of a robot description."""
    cameras = tuple(
        Camera(
            name=name,
            height=camera.height,
            width=camera.width,
            mirrored=camera.mirrored,
            rendering=camera.rendering,
        )
        for name, camera in robot.cameras.items()
    )
    return Conventions(
        action=action_dims(robot), state=state_dims(robot), cameras=cameras, control_hz=robot.timing.rate_hz
    )


def observation_space(robot: Robot) -> spaces.Dict:
    """The space of a robot's observations."""
    size = sum(dim.size for dim in state_dims(robot))
    parts: dict[str, spaces.Space[Any]] = {
        STATE: spaces.Box(-np.inf, np.inf, (size,), np.float32),
        TASK: _TEXT,
    }
    for name, camera in robot.cameras.items():
        parts[IMAGES + name] = spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)
    return spaces.Dict(parts)


def observe(robot: Robot, kinematics: Kinematics, link: ArmLink, task: str) -> Observation:
    """The newest of everything.

    Raises:
        WorldError: a stream has nothing yet, or an image cannot be used.
    """
    observation: dict[str, Any] = {STATE: state_of(robot, kinematics, link), TASK: task}
    for name, camera in robot.cameras.items():
        sample = link.cameras[name].newest
        if sample is None:
            raise WorldError(f"no image has arrived on {camera.topic}.")
        try:
            observation[IMAGES + name] = _fitted(decode(sample), camera)
        except MalformedMessage as error:
            raise WorldError(f"{camera.topic}: {error}.") from error
    return observation


def state_of(robot: Robot, kinematics: Kinematics, link: ArmLink) -> Array:
    """The newest state vector, ``float32[S]``; see `state_dims`."""
    reading, count = link.reading().value, len(robot.joints.names)
    joints = reading.position[:count]
    parts: list[Array] = []
    for part in robot.state:
        if part == "joint_position":
            parts.append(joints)
        elif part == "joint_velocity":
            # A robot that reports no speed is at rest as far as an agent can know.
            parts.append(np.nan_to_num(reading.velocity[:count]))
        elif part == "gripper_position":
            parts.append(reading.position[count:])
        else:
            position, rotation = kinematics.pose(joints)
            turn = Rotation.from_matrix(rotation)
            if part == "eef_position":
                parts.append(position + np.array(robot.model.base_position))
            elif part == "eef_axis_angle":
                parts.append(axis_angle(turn, robot.model.rotation_near))
            else:
                parts.append(turn.as_quat())
    return np.concatenate(parts).astype(np.float32)


def axis_angle(turn: Rotation, near: tuple[float, float, float] | None) -> Array:
    """The axis-angle of an orientation, ``float64[3]``: of the two, the one nearer to ``near``."""
    short = turn.as_rotvec()
    angle = float(np.linalg.norm(short))
    if near is None or angle == 0.0:
        return short
    long = short * (1 - 2 * np.pi / angle)
    return min((short, long), key=lambda vector: float(np.linalg.norm(vector - np.array(near))))


def _fitted(pixels: Array, camera: CameraStream) -> Array:
    from PIL import Image

    if camera.crop is not None:
        top, left, height, width = camera.crop
        if top < 0 or left < 0 or top + height > pixels.shape[0] or left + width > pixels.shape[1]:
            raise WorldError(f"{camera.topic} has {pixels.shape[:2]} pixels; the crop {camera.crop} lies outside.")
        pixels = pixels[top : top + height, left : left + width]
    if pixels.shape[:2] == (camera.height, camera.width):
        return pixels
    resized = Image.fromarray(pixels).resize((camera.width, camera.height), Image.Resampling.BILINEAR)
    return np.asarray(resized)
