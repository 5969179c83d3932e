"""The simulated Panda without ROS: MuJoCo dynamics behind a trajectory controller like ros2_controllers'."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..chunks import Array
from ..libero.install import import_mujoco

MODEL = Path(__file__).parent / "robots" / "panda.xml"
JOINTS = tuple(f"panda_joint{index}" for index in range(1, 8))
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
HOME = np.array([0.0, 0.19635, 0.0, -2.61799, 0.0, 2.94159, 0.785398])
"""A pose over the table with the gripper down; robosuite's initial pose of its Panda."""
_OPEN = 0.04
_MAX_CATCH_UP = 0.1
"""Seconds of simulated time per call at most: a machine that stalls slows the arm down instead of jumping it."""

type Verdict = Literal["accepted", "hold", "late", "malformed", "stopped"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of the arm.

    Attributes:
        position: rad, ``float64[7]``, then two finger joints in metres.
        velocity: rad/s and m/s, ``float64[9]``.
        effort: N m and N, ``float64[9]``.
    """

    position: Array
    velocity: Array
    effort: Array


class SimulatedArm:
    """A Panda under a joint trajectory controller.  Safe to call from several threads.

    The controller follows ros2_controllers' joint_trajectory_controller where it matters for safety: it goes from where
    it is to the commanded point, holds there, holds at once on an empty trajectory, and refuses a trajectory that ends
    in the past.
    """

    def __init__(self) -> None:
        mujoco = self._mujoco = import_mujoco()
        self._model = mujoco.MjModel.from_xml_path(str(MODEL))
        self._data = mujoco.MjData(self._model)
        self._lock = threading.Lock()
        self._lower, self._upper = self._model.jnt_range[:7, 0], self._model.jnt_range[:7, 1]
        self._stopped = False
        self._time: float | None = None
        self._desired = HOME.copy()
        self._start, self._end, self._from, self._to = 0.0, 0.0, HOME, HOME
        self.reset()

    @property
    def model(self) -> Any:
        """The ``MjModel``, for rendering."""
        return self._model

    def reset(self) -> None:
        """Home at rest, gripper open, emergency stop released."""
        with self._lock:
            self._mujoco.mj_resetData(self._model, self._data)
            self._data.qpos[:7], self._data.qpos[7:] = HOME, _OPEN
            self._data.ctrl[:7], self._data.ctrl[7:] = HOME, _OPEN
            self._stopped = False
            self._hold(HOME)
            self._mujoco.mj_forward(self._model, self._data)

    def stop(self, *, stopped: bool) -> None:
        """Press or release the emergency stop: it holds where the arm is, and nothing moves it until released."""
        with self._lock:
            self._stopped = stopped
            self._hold(self._data.qpos[:7].copy())

    def follow(self, target: Array | None, *, now: float, arrive: float) -> Verdict:
        """Take a trajectory of one point.

        Args:
            target: rad, ``float64[7]``; None for an empty trajectory, which holds.
            now: seconds of the robot's clock.
            arrive: when the point is to be reached, in seconds of the robot's clock.
        """
        with self._lock:
            if self._stopped:
                return "stopped"
            if target is None:
                self._hold(self._desired.copy())
                return "hold"
            if target.shape != (7,) or not np.isfinite(target).all():
                return "malformed"
            if arrive < now:
                return "late"
            self._from, self._to = self._desired.copy(), np.clip(target, self._lower, self._upper)
            self._start, self._end = now, max(arrive, now + 1e-3)
            return "accepted"

    def grip(self, width: float) -> Verdict:
        """Move each finger to ``width`` metres from the middle."""
        with self._lock:
            if self._stopped or not np.isfinite(width):
                return "stopped" if self._stopped else "malformed"
            self._data.ctrl[7:] = np.clip(width, 0.0, _OPEN)
            return "accepted"

    def advance(self, now: float) -> None:
        """Simulate until ``now``, seconds of the robot's clock."""
        with self._lock:
            step = float(self._model.opt.timestep)
            if self._time is None or not 0.0 <= now - self._time <= _MAX_CATCH_UP:
                self._time = now if self._time is None or now < self._time else now - _MAX_CATCH_UP
            while self._time + step <= now:
                self._time += step
                part = np.clip((self._time - self._start) / (self._end - self._start), 0.0, 1.0)
                self._desired = self._from + part * (self._to - self._from)
                self._data.ctrl[:7] = self._desired
                self._mujoco.mj_step(self._model, self._data)

    def snapshot(self) -> Snapshot:
        """Where the arm is now."""
        with self._lock:
            return Snapshot(
                position=self._data.qpos.copy(),
                velocity=self._data.qvel.copy(),
                effort=self._data.actuator_force.copy(),
            )

    def _hold(self, at: Array) -> None:
        self._desired = at
        self._from, self._to = at, at
        self._start, self._end = 0.0, 1e-3
