"""FAKE: an arm behind a `FakeBridge` that goes where it is told at once, for tests without ROS."""

from __future__ import annotations

import base64
import io
import threading
import time
from typing import Any, Self

import numpy as np

from ..chunks import Array
from .fake_bridge import FakeBridge
from .messages import float_array, joint_state
from .robot import Question, Robot


class FakeArm:
    """FAKE arm: publishes joint states at 100 Hz and grey images, and takes every trajectory's last point at once.

    It has no inertia and no controller; only that data flows and commands arrive can be tested with it.

    Args:
        bridge: where it lives.
        robot: whose topics it uses.
        home: rad, ``float64[J]``.

    Attributes:
        position: rad, ``float64[J]``; assign it to move the arm by hand.
        alive: False makes it silent.
        clock: seconds added to every stamp.
        stopped: whether the e-stop was pressed.
    """

    def __init__(self, bridge: FakeBridge, robot: Robot, home: Array) -> None:
        self.position, self.alive, self.clock, self.stopped = np.array(home, np.float64), True, 0.0, False
        self._bridge, self._robot = bridge, robot
        self._seen = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake arm", daemon=True)
        bridge.services[robot.estop.name] = self._stop
        if isinstance(robot.estop.probe, Question):
            bridge.services[robot.estop.probe.name] = lambda _: {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(5)

    def _stop(self, _: dict[str, Any]) -> dict[str, Any]:
        self.stopped = True
        return {"success": True, "message": "stopped"}

    def _run(self) -> None:
        count = 0
        pictures = {name: _grey(camera.height, camera.width) for name, camera in self._robot.cameras.items()}
        while not self._closing.wait(0.01):
            self._obey()
            if not self.alive:
                continue
            self._publish_joints()
            count += 1
            if count % 5 == 0:
                for name, data in pictures.items():
                    head = joint_state([], np.zeros(0), stamp=self._now(), frame=name, ros=self._robot.ros)["header"]
                    self._bridge.publish(
                        self._robot.cameras[name].topic, {"header": head, "format": "png", "data": data}
                    )

    def _now(self) -> float:
        return time.time() + self.clock

    def _publish_joints(self) -> None:
        fingers = self._robot.gripper.joints if self._robot.gripper else ()
        names = [*self._robot.joints.names, *fingers]
        values = np.concatenate([self.position, np.zeros(len(fingers))])
        message = joint_state(names, values, stamp=self._now(), frame="", ros=self._robot.ros)
        velocity = float_array(np.zeros(len(names)))["data"]
        self._bridge.publish(self._robot.joint_states.topic, {**message, "velocity": velocity})

    def _obey(self) -> None:
        commands = self._bridge.published(self._robot.command.topic)
        for message in commands[self._seen :]:
            points = message.get("points") or []
            positions = points[-1]["positions"] if points else message.get("data") or message.get("position")
            if positions and not self.stopped:
                self.position = np.array(positions, np.float64)
        self._seen = len(commands)


def _grey(height: int, width: int) -> str:
    from PIL import Image

    encoded = io.BytesIO()
    Image.new("RGB", (width, height), (128, 128, 128)).save(encoded, "PNG")
    return base64.b64encode(encoded.getvalue()).decode()
