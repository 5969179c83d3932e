"""A robot as data: topics, joints, limits, frames, rates, cameras and gripper, read from one YAML file.

Nothing here has a default where a wrong value could move an arm: limits, horizon, staleness and the e-stop must be
written down, and an unknown key is an error rather than a limit that nobody reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveInt, ValidationError, model_validator

from ...errors import ConfigError, choices
from ..chunks import Array

type ActionMode = Literal["joint_position", "joint_delta", "cartesian_delta"]
type CommandInterface = Literal["joint_trajectory", "joint_positions", "joint_state", "pose", "twist"]
type StatePart = Literal[
    "joint_position", "joint_velocity", "gripper_position", "eef_position", "eef_axis_angle", "eef_quaternion_xyzw"
]

NonNegative = Annotated[FiniteFloat, Field(ge=0)]
Positive = Annotated[FiniteFloat, Field(gt=0)]
Triple = tuple[FiniteFloat, FiniteFloat, FiniteFloat]

ROBOTS = Path(__file__).parent / "robots"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JointLimits(_Strict):
    """Bounds per joint, in the order of ``names``; a bound of 0.0 forbids, it does not switch off.

    Attributes:
        names: as they stand in ``sensor_msgs/JointState.name``.
        lower: rad.
        upper: rad.
        velocity: rad/s.
        acceleration: rad/s².
        jerk: rad/s³; null says in so many words that the robot has no jerk bound.
        tracking: rad; the arm is held when a joint is further than this from what was commanded.
    """

    names: tuple[str, ...] = Field(min_length=1)
    lower: tuple[FiniteFloat, ...]
    upper: tuple[FiniteFloat, ...]
    velocity: tuple[NonNegative, ...]
    acceleration: tuple[NonNegative, ...]
    jerk: tuple[NonNegative, ...] | None
    tracking: Positive

    @model_validator(mode="after")
    def _same_lengths(self) -> Self:
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"joints.names repeats a joint: {list(self.names)}")
        for field in ("lower", "upper", "velocity", "acceleration", "jerk"):
            bound = getattr(self, field)
            if bound is not None and len(bound) != len(self.names):
                raise ValueError(f"joints.{field} has {len(bound)} entries for {len(self.names)} joints")
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if low > high:
                raise ValueError(f"joint {name!r} has lower {low} above upper {high}")
        return self


class Workspace(_Strict):
    """The box that the end effector may be in: metres, base frame."""

    lower: Triple
    upper: Triple

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"workspace.lower {self.lower} lies above workspace.upper {self.upper}")
        return self


class Model(_Strict):
    """The robot's kinematics.

    Attributes:
        file: MJCF or URDF, relative to the YAML file.
        joints: the model's joint names where they differ from ``joints.names``.
        site: the MJCF site that is the end effector; or
        body: the body (URDF link) that is.
        base: the body (URDF link) whose frame is the base frame; null for the model's world.
        base_position: where the base stands, unturned, in the frame that ``eef_position`` is reported in: metres. A
            policy that was trained in simulation knows positions in the simulation's world.
        rotation_near: which of the two axis-angles of one orientation ``eef_axis_angle`` reports: the one nearer to
            this. A tool that points down has turned by about π, where the sign would flip; LIBERO's policies were
            trained near [3.14, 0, 0]. Null for the one that is no longer than π.
    """

    file: str
    joints: tuple[str, ...] | None = None
    site: str | None = None
    body: str | None = None
    base: str | None = None
    base_position: Triple = (0.0, 0.0, 0.0)
    rotation_near: Triple | None = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.site is None) == (self.body is None):
            raise ValueError("model needs exactly one of site (MJCF) and body (URDF link) for the end effector")
        return self


class Stream(_Strict):
    """A topic that must keep coming: its type follows from its use.

    Attributes:
        topic: ROS name.
        max_age_ms: the arm is held when the newest message is older, by receive time or by header.
    """

    topic: str
    max_age_ms: Positive


class CameraStream(Stream):
    """A ``sensor_msgs/CompressedImage`` topic.

    Attributes:
        throttle_ms: the server sends no more than one frame in this time, so that none queue up.
        height: pixels as the agent sees it.
        width: pixels as the agent sees it.
        crop: ``[top, left, height, width]`` of the camera's own frame, taken before resizing; null for all of it.
        mirrored: whether left and right are exchanged.
        rendering: how simulated pixels are made, see `thinktwice.envs.Camera`; null for a real camera.
    """

    throttle_ms: Annotated[int, Field(ge=0)]
    height: PositiveInt
    width: PositiveInt
    crop: tuple[int, int, int, int] | None = None
    mirrored: bool = False
    rendering: str | None = None


class Command(_Strict):
    """Where commands go.

    Attributes:
        interface: ``joint_trajectory`` (ros2_controllers, UR), ``joint_positions`` (a forward controller's
            ``Float64MultiArray``), ``joint_state`` or ``pose`` (crisp_controllers), ``twist`` (MoveIt Servo).
        topic: ROS name.
        horizon_periods: when the commanded point is to be reached, in control periods from now. A dead client's arm
            goes on for so long and no longer.
        watch: subscribe to the command topic and hold when somebody else publishes on it.
    """

    interface: CommandInterface
    topic: str
    horizon_periods: Annotated[FiniteFloat, Field(ge=1, le=2)]
    watch: bool


class Actions(_Strict):
    """What an agent's action means.

    Attributes:
        mode: ``joint_position`` (rad, absolute), ``joint_delta``, or ``cartesian_delta`` (LIBERO's 7 numbers:
            translation, axis-angle rotation, gripper; base frame).
        translation: metres for an entry of 1 (``cartesian_delta``).
        rotation: radians for an entry of 1 (``cartesian_delta``).
        joint: radians for an entry of 1 (``joint_delta``).
        reference: what a delta is added to: the last command, or the measured pose.
        frame: what the conventions call the base frame: ``world`` where a policy was trained with the robot's base
            axes as its world (LIBERO), else ``base``.
    """

    mode: ActionMode
    frame: Literal["base", "world"] = "base"
    translation: Positive | None = None
    rotation: Positive | None = None
    joint: Positive | None = None
    reference: Literal["commanded", "measured"] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {
            "joint_position": (),
            "joint_delta": ("joint", "reference"),
            "cartesian_delta": ("translation", "rotation", "reference"),
        }[self.mode]
        missing = [f"actions.{name}" for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(f"{self.mode} needs {', '.join(missing)}")
        return self


class Gripper(_Strict):
    """A gripper that follows one number.

    Attributes:
        topic: ROS name of the command.
        interface: ``float64`` (``std_msgs/Float64``) or ``float64_array`` (a forward controller).
        open: the commanded number that opens it fully.
        closed: the commanded number that closes it fully.
        positive: what an action entry of +1 does; robosuite's and LIBERO's policies close with +1.
        joints: its joints in ``JointState``, for ``gripper_position``.
    """

    topic: str
    interface: Literal["float64", "float64_array"]
    open: FiniteFloat
    closed: FiniteFloat
    positive: Literal["closes", "opens"]
    joints: tuple[str, ...] = ()


class Question(_Strict):
    """A service call that changes nothing.

    Attributes:
        name: ROS name.
        type: ROS type of the service.
        request: the request.
    """

    name: str
    type: str
    request: dict[str, Any]


class EStop(_Strict):
    """What stops the arm, over a connection of its own.

    Attributes:
        interface: a service answers, so that its success is known; a topic does not.
        name: ROS name.
        type: ROS type of the service or topic.
        request: the request or message that stops.
        probe: how it is found out before arming, without pressing it, that somebody is there: a harmless service of the
            node that stops the arm; ``rosapi``, which knows whether the service exists or the topic has subscribers; or
            ``none``, where neither is possible.
    """

    interface: Literal["service", "topic"]
    name: str
    type: str
    request: dict[str, Any]
    probe: Question | Literal["rosapi", "none"]


class Homing(_Strict):
    """A ``FollowJointTrajectory`` action that brings the arm home.

    Attributes:
        action: ROS name.
        positions: rad, in the order of ``joints.names``.
        seconds: how long the motion takes.
    """

    action: str
    positions: tuple[FiniteFloat, ...]
    seconds: Positive


class Timing(_Strict):
    """The control clock.

    Attributes:
        rate_hz: commands per second.
        decision_ms: time before each tick that is the agent's: ``step`` returns so much before the next command is due.
            What is decided within it delays nothing; what takes longer lets the arm stand.
        decision_timeout_s: the arm is held when no command came for so long while an agent drives.
        clock: ``synchronised`` when the robot's clock agrees with this machine's (NTP, PTP): header age is then
            absolute; ``independent`` when it does not: header age is then against the freshest message since arming.
    """

    rate_hz: Positive
    decision_ms: NonNegative
    decision_timeout_s: Positive
    clock: Literal["synchronised", "independent"]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.decision_ms > 1e3 / self.rate_hz:
            raise ValueError(f"decision_ms {self.decision_ms} exceeds the period of {1e3 / self.rate_hz:g} ms")
        return self


class Robot(_Strict):
    """Everything that the library knows about one arm; see the module and each part."""

    name: str
    ros: Literal[1, 2]
    frame: str
    timing: Timing
    joints: JointLimits
    workspace: Workspace
    model: Model
    joint_states: Stream
    command: Command
    actions: Actions
    estop: EStop
    state: tuple[StatePart, ...] = Field(min_length=1)
    cameras: dict[str, CameraStream] = Field(default_factory=dict)
    gripper: Gripper | None = None
    homing: Homing | None = None
    success_topic: str | None = None
    reset_service: str | None = None
    directory: Path = Field(default=ROBOTS, exclude=True)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.command.interface in ("pose", "twist") and self.actions.mode != "cartesian_delta":
            raise ValueError(f"command.interface {self.command.interface!r} needs actions.mode 'cartesian_delta'")
        if self.model.joints is not None and len(self.model.joints) != len(self.joints.names):
            raise ValueError(
                f"model.joints has {len(self.model.joints)} entries for {len(self.joints.names)} joints.names"
            )
        if self.homing is not None and len(self.homing.positions) != len(self.joints.names):
            raise ValueError(f"homing.positions needs {len(self.joints.names)} entries")
        if "gripper_position" in self.state and (self.gripper is None or not self.gripper.joints):
            raise ValueError("state lists gripper_position, but gripper.joints names no joint")
        return self

    @property
    def period(self) -> float:
        """Seconds between commands."""
        return 1.0 / self.timing.rate_hz

    @property
    def model_path(self) -> Path:
        """The kinematic model's file."""
        return self.directory / self.model.file

    def bound(self, field: Literal["lower", "upper", "velocity", "acceleration"]) -> Array:
        """One of the joint bounds as ``float64[J]``."""
        return np.array(getattr(self.joints, field), np.float64)


def load_robot(source: str | Path) -> Robot:
    """Read a robot's YAML file.

    Args:
        source: a path, or the name of a robot that ships with the library (``"panda_sim"``).

    Raises:
        ConfigError: the file does not exist, is no YAML, lacks something, or has an unknown key.
    """
    path = Path(source)
    shipped = {file.stem: file for file in sorted(ROBOTS.glob("*.yaml"))}
    if not path.is_file():
        if str(source) not in shipped:
            raise ConfigError(
                f"there is no robot file {str(source)!r}, and no robot of that name ships. {choices(source, shipped)}"
            )
        path = shipped[str(source)]
    try:
        with path.open(encoding="utf-8") as file:
            data = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"the robot file {path} cannot be read: {error}.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"the robot file {path} must hold a mapping, not {type(data).__name__}.")
    return parse_robot(data, directory=path.parent, name=str(path))


def parse_robot(data: dict[str, Any], *, directory: Path = ROBOTS, name: str = "the robot") -> Robot:
    """A robot from plain data.

    Args:
        data: what the YAML file holds.
        directory: what ``model.file`` is relative to.
        name: what an error calls it.

    Raises:
        ConfigError: naming every missing, unknown or impossible value at once.
    """
    try:
        return Robot.model_validate({**data, "directory": directory})
    except ValidationError as error:
        raise ConfigError(f"{name} cannot be deployed:\n{_problems(error)}") from error


_ADVICE = {"missing": "is required and has no safe default", "extra_forbidden": "is not a key that is read"}


def _problems(error: ValidationError) -> str:
    lines: list[str] = []
    for problem in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        advice = _ADVICE.get(problem["type"])
        lines.append(f"  - {place} {advice}" if advice else f"  - {place}: {problem['msg']} (got {problem['input']!r})")
    return "\n".join(lines)
