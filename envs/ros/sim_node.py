"""The simulated arm as a real ROS 2 node: ``python -m thinktwice.envs.ros.sim_node``.

Topics and services are those of ``robots/panda_sim.yaml``.  Faults are made on demand; see `sim_faults`.  With
``--journal`` it writes one JSON line per received command and per joint reading, so that a test can tell what reached
the arm and how it moved without the bridge.
"""

from __future__ import annotations

import array
import contextlib
import dataclasses
import importlib
import io
import json
import math
import os
import threading
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
from pydantic import ValidationError

from ...errors import MissingDependency, install_line
from ..libero.install import import_mujoco
from .sim_faults import FAULT_TOPIC, STATE_TOPIC, Faults
from .sim_physics import FINGERS, JOINTS, SimulatedArm

_STATE_HZ = 100
_TRAJECTORY = "/joint_trajectory_controller/joint_trajectory"
_SIZE = 128
_HUGE_BYTES = 12_000_000
_HUGE_SECONDS = 60.0
"""Between two huge images.  A rosbridge server makes JSON of one byte by byte, and its only ROS thread does nothing
else meanwhile: two a second starved its joint states, its services and the end of the fault for good."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the simulated arm's node."""

    camera_hz: float = 20.0
    """Images per second; 0 for none."""
    journal: Path | None = None
    """Write received commands and joint readings here, one JSON object per line."""


class SimNode:
    """The node and its threads.

    Args:
        options: see `Options`.

    Raises:
        MissingDependency: the ROS wheels are not installed.
    """

    def __init__(self, options: Options) -> None:
        self._rclpy = ros("rclpy")
        sensor, trajectory = ros("sensor_msgs.msg"), ros("trajectory_msgs.msg")
        standard, services = ros("std_msgs.msg"), ros("std_srvs.srv")
        self._joint_state, self._image, self._string = sensor.JointState, sensor.CompressedImage, standard.String
        self._rclpy.init()
        self.arm, self.faults = SimulatedArm(), Faults()
        self._options = options
        self._journal: IO[str] | None = None if options.journal is None else options.journal.open("a", buffering=1)
        self._node = self._rclpy.create_node("sim_panda")
        newest = ros("rclpy.qos").QoSProfile(depth=1)
        self._states = self._node.create_publisher(sensor.JointState, "/joint_states", newest)
        self._images = self._node.create_publisher(sensor.CompressedImage, "/camera/front/compressed", newest)
        self._node.create_subscription(trajectory.JointTrajectory, _TRAJECTORY, self._on_trajectory, 10)
        self._node.create_subscription(standard.Float64, "/gripper_controller/commands", self._on_gripper, 10)
        self._node.create_subscription(standard.String, FAULT_TOPIC, self._on_fault, 10)
        self._fault_state = self._node.create_publisher(standard.String, STATE_TOPIC, 10)
        self._node.create_service(services.SetBool, "/estop", self._on_estop)
        self._node.create_service(services.Trigger, "/reset", self._on_reset)
        self._last_state: Any = None
        self._last_image: Any = None
        self._sent, self._huge_due = 0, 0.0

    def run(self) -> None:
        """Simulate and answer until interrupted."""
        threading.Thread(target=self._simulate, daemon=True).start()
        if self._options.camera_hz > 0:
            threading.Thread(target=self._film, daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt, self._rclpy.executors.ExternalShutdownException):
            self._rclpy.spin(self._node)

    def _now(self) -> float:
        return time.time() + self.faults.clock

    def _stamp(self, message: Any, seconds: float) -> None:
        message.header.stamp.sec = math.floor(seconds)
        message.header.stamp.nanosec = int((seconds % 1.0) * 1e9)

    def _write(self, **entry: Any) -> None:
        if self._journal is not None:
            self._journal.write(json.dumps({"time": time.time(), **entry}) + "\n")

    def _on_trajectory(self, message: Any) -> None:
        now, stamp = self._now(), message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        if self.faults.motion == "frozen":
            verdict = "frozen"
        elif not message.points:
            verdict = self.arm.follow(None, now=now, arrive=now)
        elif tuple(message.joint_names) != JOINTS:
            verdict = "malformed"
        else:
            point = message.points[-1]
            after = point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
            verdict = self.arm.follow(np.array(point.positions), now=now, arrive=(stamp or now) + after)
        self._write(command="trajectory", stamp=stamp, verdict=verdict)

    def _on_gripper(self, message: Any) -> None:
        self._write(command="gripper", verdict=self.arm.grip(float(message.data)))

    def _on_fault(self, message: Any) -> None:
        problem = ""
        try:
            self.faults = Faults.model_validate_json(message.data)
        except ValidationError as error:
            problem = str(error)
        else:
            self._write(fault=message.data)
        state = {"faults": self.faults.model_dump(), "problem": problem}
        self._fault_state.publish(self._string(data=json.dumps(state)))

    def _on_estop(self, request: Any, response: Any) -> Any:
        self.arm.stop(stopped=bool(request.data))
        self._write(command="estop", verdict=str(request.data))
        response.success, response.message = True, "stopped" if request.data else "released"
        return response

    def _on_reset(self, _: Any, response: Any) -> Any:
        self.arm.reset()
        response.success, response.message = True, "home"
        return response

    def _simulate(self) -> None:
        due = time.monotonic()
        while self._rclpy.ok():
            self.arm.advance(self._now())
            self._publish_state()
            due = max(due + 1 / _STATE_HZ, time.monotonic() - 1 / _STATE_HZ)
            time.sleep(max(0.0, due - time.monotonic()))

    def _publish_state(self) -> None:
        moment, now, fault = self.arm.snapshot(), self._now(), self.faults.joint_states
        self._sent += 1
        if self._sent % 2 == 0:
            self._write(position=moment.position[:7].round(6).tolist())
        if fault == "silent":
            return
        message = self._joint_state()
        message.name = [*JOINTS, *FINGERS]
        message.position, message.velocity = moment.position.tolist(), moment.velocity.tolist()
        message.effort = moment.effort.tolist()
        self._stamp(message, now - 0.5 if fault == "reordered" and self._sent % 2 else now)
        if fault == "nan":
            message.position[0] = math.nan
        elif fault == "names":
            message.name, message.position = message.name[1:], message.position[1:]
        elif fault == "stuck" and self._last_state is not None:
            message = self._last_state
        self._last_state = message
        self._states.publish(message)

    def _film(self) -> None:
        from PIL import Image

        mujoco = import_mujoco()
        renderer = mujoco.Renderer(self.arm.model, _SIZE, _SIZE)
        data = mujoco.MjData(self.arm.model)
        due = time.monotonic()
        while self._rclpy.ok():
            data.qpos[:] = self.arm.snapshot().position
            mujoco.mj_forward(self.arm.model, data)
            renderer.update_scene(data, "front")
            encoded = io.BytesIO()
            Image.fromarray(renderer.render()).save(encoded, "JPEG", quality=90)
            self._publish_image(encoded.getvalue())
            due = max(due + 1 / self._options.camera_hz, time.monotonic() - 1 / self._options.camera_hz)
            time.sleep(max(0.0, due - time.monotonic()))

    def _publish_image(self, content: bytes) -> None:
        fault = self.faults.images
        if fault == "silent" or (fault == "huge" and time.monotonic() < self._huge_due):
            return
        if fault == "broken":
            content = b"not an image"
        elif fault == "huge":
            content, self._huge_due = bytes(_HUGE_BYTES), time.monotonic() + _HUGE_SECONDS
        message = self._image(format="jpeg")
        self._stamp(message, self._now())
        message.data = array.array("B", content)  # bytes would be checked one by one
        if fault == "stuck" and self._last_image is not None:
            message = self._last_image
        self._last_image = message
        self._images.publish(message)


def ros(name: str) -> Any:
    """A ROS Python module, or the error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"the ROS 2 wheel of {name.partition('.')[0]}",
            purpose="the simulated arm",
            install=install_line("ros"),
        ) from error


def main() -> None:
    """Run the node with options from the command line."""
    import tyro

    SimNode(tyro.cli(Options, prog="python -m thinktwice.envs.ros.sim_node")).run()
    # ROS and GL threads of native code outlive Python's own shutdown and may crash in it.
    os._exit(0)


if __name__ == "__main__":
    main()
