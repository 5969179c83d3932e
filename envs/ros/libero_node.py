"""A LIBERO scene behind ROS 2: ``python -m thinktwice.envs.ros.libero_node --task libero_object/0``.

The arm takes twists, as MoveIt Servo does: each fresh one is one control step of LIBERO's operational-space controller,
and without one nothing moves: the simulation stands.  ``/sim/episode`` (a ``std_msgs/String`` with JSON such as
``{"init_state": 3, "seed": 3}``) says which episode the next ``/reset`` begins.  ``/sim/state`` is MuJoCo's whole
state, for privileged experts; ``/sim/success`` judges.  The cameras' pictures are published after each step, and a few
times a second while nothing moves, as PNG: what a policy was trained on came through no JPEG.
"""

from __future__ import annotations

import array
import contextlib
import dataclasses
import io
import json
import math
import os
import queue
import threading
import time
from typing import Any

import numpy as np

from ..chunks import Array
from ..libero.conventions import CONTROL_HZ, POSITION_SCALE, ROTATION_SCALE
from ..libero.env import LiberoEnv
from ..libero.install import import_mujoco
from ..observations import IMAGES
from .sim_node import ros

_STALE_SECONDS = 0.2
"""A twist that is older is not executed."""
_ARM = tuple(f"robot0_joint{index}" for index in range(1, 8))
_FINGERS = ("gripper0_finger_joint1", "gripper0_finger_joint2")
_CAMERAS = ("agentview", "wrist")
_PIXELS = 96
_IDLE_SECONDS = 0.3
"""How often a picture is sent while nothing moves: one that does not come says that the scene is gone."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the LIBERO scene's node."""

    task: str = "libero_object/0"
    """LIBERO's task: suite and number."""


class LiberoNode:
    """The node.  The simulator belongs to the main thread; ROS callbacks only put work into its queue.

    Args:
        options: see `Options`.
    """

    def __init__(self, options: Options) -> None:
        self._env = LiberoEnv(options.task, cameras=_CAMERAS, height=_PIXELS, width=_PIXELS, rendering="fast")
        self._env.reset(seed=0, options={"init_state": 0})
        self._rclpy = ros("rclpy")
        sensor, standard = ros("sensor_msgs.msg"), ros("std_msgs.msg")
        geometry, services = ros("geometry_msgs.msg"), ros("std_srvs.srv")
        self._rclpy.init()
        self._messages: dict[str, Any] = {
            "joints": sensor.JointState,
            "state": standard.Float64MultiArray,
            "success": standard.Bool,
            "image": sensor.CompressedImage,
        }
        node = self._node = self._rclpy.create_node("libero_panda")
        newest = ros("rclpy.qos").QoSProfile(depth=1)
        self._publishers = {
            "joints": node.create_publisher(sensor.JointState, "/joint_states", newest),
            "state": node.create_publisher(standard.Float64MultiArray, "/sim/state", newest),
            "success": node.create_publisher(standard.Bool, "/sim/success", newest),
        }
        for name in _CAMERAS:
            topic = f"/camera/{name}/compressed"
            self._publishers[name] = node.create_publisher(sensor.CompressedImage, topic, newest)
        node.create_subscription(geometry.TwistStamped, "/servo_node/delta_twist_cmds", self._on_twist, newest)
        node.create_subscription(standard.Float64, "/gripper/command", self._on_gripper, newest)
        node.create_subscription(standard.String, "/sim/episode", self._on_episode, newest)
        node.create_service(services.Trigger, "/reset", self._on_reset)
        node.create_service(services.SetBool, "/estop", self._on_estop)
        self._work: queue.Queue[Any] = queue.Queue()
        self._twist: tuple[float, Array] | None = None
        self._named: dict[str, int] = {"init_state": 0, "seed": 0}
        self._episode = self._named
        self._gripper, self._stopped = -1.0, False
        self._film_due = 0.0

    def run(self) -> None:
        """Simulate and answer until interrupted."""
        threading.Thread(target=self._spin, daemon=True).start()
        try:
            while self._rclpy.ok():
                with contextlib.suppress(queue.Empty):
                    self._work.get(timeout=1 / CONTROL_HZ / 5)()
                moved = self._step()
                self._publish()
                if moved or time.monotonic() >= self._film_due:
                    self._film()
        except KeyboardInterrupt:
            return
        except Exception:
            if self._rclpy.ok():  # otherwise rclpy answered Ctrl-C first and closed the publishers
                raise

    def _spin(self) -> None:
        with contextlib.suppress(self._rclpy.executors.ExternalShutdownException):
            self._rclpy.spin(self._node)

    def _on_twist(self, message: Any) -> None:
        stamp = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        linear, angular = message.twist.linear, message.twist.angular
        speeds = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        # Only the newest waits: a queue would execute what was decided on a state that is long gone.
        self._twist = stamp, speeds

    def _step(self) -> bool:
        """Execute the newest twist; returns whether there was one."""
        newest, self._twist = self._twist, None
        if newest is None or self._stopped:
            return False
        stamp, speeds = newest
        if time.time() - stamp > _STALE_SECONDS or not speeds.any() or not np.isfinite(speeds).all():
            return False
        deltas = speeds / (np.repeat([POSITION_SCALE, ROTATION_SCALE], 3) * CONTROL_HZ)
        self._env.step_blind(np.array([*deltas, self._gripper], np.float32))
        return True

    def _on_gripper(self, message: Any) -> None:
        self._gripper = float(np.clip(message.data, -1.0, 1.0))

    def _on_episode(self, message: Any) -> None:
        self._named = {key: int(value) for key, value in json.loads(message.data).items()}

    def _on_estop(self, request: Any, response: Any) -> Any:
        self._stopped = bool(request.data)
        response.success = True
        return response

    def _on_reset(self, _: Any, response: Any) -> Any:
        done = threading.Event()

        def begin() -> None:
            self._episode = self._named
            self._env.reset(seed=self._episode["seed"], options={"init_state": self._episode["init_state"]})
            self._gripper, self._stopped, self._twist, self._film_due = -1.0, False, None, 0.0
            done.set()

        self._work.put(begin)
        response.success, response.message = done.wait(60), json.dumps(self._episode)
        return response

    def _publish(self) -> None:
        model, data = self._env.model, self._env.data
        joints = self._messages["joints"]()
        _stamp(joints)
        joints.name = [*_ARM, *_FINGERS]
        joints.position = [float(data.joint(name).qpos[0]) for name in joints.name]
        joints.velocity = [float(data.joint(name).qvel[0]) for name in joints.name]
        mujoco = import_mujoco()
        integration = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, integration, mujoco.mjtState.mjSTATE_INTEGRATION)
        state, success = self._messages["state"](), self._messages["success"]()
        state.data = [float(self._episode["init_state"]), float(self._episode["seed"]), *integration.tolist()]
        success.data = bool(self._env.check_success())
        for name, message in (("joints", joints), ("state", state), ("success", success)):
            self._publishers[name].publish(message)

    def _film(self) -> None:
        from PIL import Image

        seen = self._env.observe()
        for name in _CAMERAS:
            message, encoded = self._messages["image"](format="png"), io.BytesIO()
            Image.fromarray(seen[IMAGES + name]).save(encoded, "PNG", compress_level=1)
            _stamp(message)
            message.data = array.array("B", encoded.getvalue())  # bytes would be checked one by one
            self._publishers[name].publish(message)
        self._film_due = time.monotonic() + _IDLE_SECONDS


def _stamp(message: Any) -> None:
    now = time.time()
    message.header.stamp.sec, message.header.stamp.nanosec = math.floor(now), int(now % 1.0 * 1e9)


def main() -> None:
    """Run the node with options from the command line."""
    import tyro

    LiberoNode(tyro.cli(Options, prog="python -m thinktwice.envs.ros.libero_node")).run()
    # ROS threads of native code outlive Python's own shutdown and may crash in it.
    os._exit(0)


if __name__ == "__main__":
    main()
