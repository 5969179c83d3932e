"""The connections to one arm: its streams in, its commands out, and the e-stop on a connection of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from scipy.spatial.transform import Rotation

from ...errors import WorldError
from .client import BridgeClient
from .estop import EmergencyStop
from .messages import (
    COMMAND_TYPES,
    COMPRESSED_IMAGE,
    JOINT_STATE,
    JointReading,
    empty_trajectory,
    float_array,
    joint_state,
    joint_trajectory,
    pose,
    twist,
    type_name,
)
from .robot import Robot
from .streams import JointStream, Sample, Stream, image_stream
from .targets import Target
from .wire import Event, Message

_REMEMBERED = 256
"""Commands whose echo is still recognised as ours."""


class ArmLink:
    """Talks to one arm through a rosbridge server.

    Args:
        robot: the arm.
        url: the server.
        ca_file: see `BridgeClient`.
        shadow: connect and read, but announce and publish nothing.
        on_event: connection events and the server's status messages.
        on_alarm: ``("data" | "other publisher", reason)`` for what must hold the arm at once.
    """

    def __init__(
        self,
        robot: Robot,
        url: str,
        *,
        ca_file: str | None = None,
        shadow: bool,
        on_event: Callable[[Event], None],
        on_alarm: Callable[[str, str], None],
    ) -> None:
        self.robot, self.shadow = robot, shadow
        self.client = BridgeClient(url, ca_file=ca_file, on_event=on_event)
        self.estop = EmergencyStop(robot.estop, url, ca_file=ca_file, ros=robot.ros, name=robot.name)
        self._on_alarm = on_alarm
        clock, fingers = robot.timing.clock, robot.gripper.joints if robot.gripper else ()
        self.joints = JointStream(
            robot.joint_states.topic,
            max_age=robot.joint_states.max_age_ms / 1e3,
            clock=clock,
            names=[*robot.joints.names, *fingers],
            velocity=robot.bound("velocity"),
            alarm=lambda reason: on_alarm("data", reason),
        )
        self.cameras: dict[str, Stream[Message]] = {
            name: image_stream(camera.topic, max_age=camera.max_age_ms / 1e3, clock=clock)
            for name, camera in robot.cameras.items()
        }
        self.success = False
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    def open(self, *, timeout: float) -> None:
        """Connect, subscribe, and wait for the first message of every stream.

        Raises:
            WorldError: the bridge, the e-stop's connection or a stream is missing.
        """
        robot, client, ros = self.robot, self.client, self.robot.ros
        client.subscribe(robot.joint_states.topic, type_name(JOINT_STATE, ros), self._take(self.joints))
        for name, camera in robot.cameras.items():
            client.subscribe(
                camera.topic,
                type_name(COMPRESSED_IMAGE, ros),
                self._take(self.cameras[name]),
                throttle_ms=camera.throttle_ms,
            )
        if robot.success_topic is not None:
            client.subscribe(robot.success_topic, type_name("std_msgs/Bool", ros), self._on_success)
        if not self.shadow:
            command = type_name(COMMAND_TYPES[robot.command.interface], ros)
            client.advertise(robot.command.topic, command)
            if robot.command.watch:
                client.subscribe(robot.command.topic, command, self._on_command)
            if robot.gripper is not None:
                client.advertise(robot.gripper.topic, type_name(_gripper_type(robot), ros))
        client.connect(timeout=timeout)
        if not self.shadow:
            self.estop.connect(timeout=timeout)
        deadline = time.monotonic() + timeout
        try:
            for stream in (self.joints, *self.cameras.values()):
                stream.require(max(0.0, deadline - time.monotonic()))
        except WorldError as error:
            told = "; ".join(event.text for event in client.statuses)
            said = f" The server says: {told}." if told else ""
            raise WorldError(f"{error}{said} Is the robot running, and is the topic right?") from error

    def close(self) -> None:
        """Close both connections; safe to repeat."""
        self.client.close()
        self.estop.close()

    def problem(self, now: float) -> tuple[str, str] | None:
        """``("bridge" | "data", reason)`` when the arm must be held at monotonic time ``now``, or None."""
        if not self.client.connected:
            return "bridge", f"the connection to {self.client.url} is lost"
        if not self.shadow and not self.estop.connected:
            return "bridge", "the e-stop's own connection is lost"
        for stream in (self.joints, *self.cameras.values()):
            stale = stream.problem(now)
            if stale is not None:
                return "data", stale
        return None

    def restart_streams(self) -> None:
        """Accept only what arrives from now on, under whatever clock the robot has now."""
        for stream in (self.joints, *self.cameras.values()):
            stream.restart()

    def reading(self) -> Sample[JointReading]:
        """The newest joint state.

        Raises:
            WorldError: none has arrived.
        """
        sample = self.joints.newest
        if sample is None:
            raise WorldError(f"no joint state has arrived on {self.robot.joint_states.topic}.")
        return sample

    def send(self, target: Target, *, gripper: float | None) -> Message:
        """Send one command; returns the message.

        Args:
            target: what to reach in ``horizon_periods`` control periods.
            gripper: the gripper's number when it is to change, else None.

        Raises:
            WorldError: there is no connection.
        """
        robot = self.robot
        message = self._command(target)
        if self.shadow:
            return message
        with self._lock:
            self._sent.append(_fingerprint(message))
        self.client.publish(robot.command.topic, message, valid_seconds=robot.period)
        if gripper is not None and robot.gripper is not None:
            value: Message = {"data": gripper} if robot.gripper.interface == "float64" else {"data": [gripper]}
            self.client.publish(robot.gripper.topic, value, valid_seconds=robot.period)
        return message

    def send_hold(self) -> None:
        """Ask the controller to stop where it is, if the interface has a way; unsent commands are forgotten.

        A trajectory controller holds on an empty trajectory and a twist of zero stops a servo.  The other interfaces
        hold at the last target by themselves, which is at most two periods away.
        """
        self.client.forget_pending()
        if self.shadow or not self.client.connected:
            return
        robot, stamp = self.robot, self._robot_now()
        if robot.command.interface == "joint_trajectory":
            message = empty_trajectory(robot.joints.names, stamp=stamp, frame=robot.frame, ros=robot.ros)
        elif robot.command.interface == "twist":
            zero = Rotation.identity().as_rotvec()
            message = twist(zero, zero, stamp=stamp, frame=robot.frame, ros=robot.ros)
        else:
            return
        with self._lock:
            self._sent.append(_fingerprint(message))
        try:
            self.client.publish(robot.command.topic, message)
        except WorldError:
            # The connection broke since it was looked at: the horizon ends the motion.
            return

    def _command(self, target: Target) -> Message:
        robot, stamp = self.robot, self._robot_now()
        told: dict[str, Any] = {"stamp": stamp, "frame": robot.frame, "ros": robot.ros}
        if robot.command.interface == "joint_trajectory":
            seconds = robot.command.horizon_periods * robot.period
            return joint_trajectory(robot.joints.names, target.joints, seconds=seconds, **told)
        if robot.command.interface == "joint_positions":
            return float_array(target.joints)
        if robot.command.interface == "joint_state":
            return joint_state(robot.joints.names, target.joints, **told)
        if robot.command.interface == "pose":
            return pose(target.position, Rotation.from_matrix(target.rotation).as_quat(), **told)
        return twist(target.delta[:3] / robot.period, target.delta[3:] / robot.period, **told)

    def _robot_now(self) -> float:
        sample = self.joints.newest
        return 0.0 if sample is None else sample.robot_time(time.monotonic())

    def _take(self, stream: Stream[Any]) -> Callable[[Message], None]:
        def take(message: Message) -> None:
            stream.accept(message)

        return take

    def _on_success(self, message: Message) -> None:
        self.success = self.success or message.get("data") is True

    def _on_command(self, message: Message) -> None:
        with self._lock:
            ours = _fingerprint(message) in self._sent
        if not ours:
            self._on_alarm("other publisher", f"somebody else publishes on {self.robot.command.topic}")


def _gripper_type(robot: Robot) -> str:
    array = robot.gripper is not None and robot.gripper.interface == "float64_array"
    return "std_msgs/Float64MultiArray" if array else "std_msgs/Float64"


def _fingerprint(message: Message) -> str:
    # Servers fill in missing fields, so only what every interface here sets is compared.
    if "header" in message:
        stamp = message["header"]["stamp"]
        return f"{stamp.get('sec', stamp.get('secs'))}.{stamp.get('nanosec', stamp.get('nsecs'))}"
    return repr(message.get("data"))
