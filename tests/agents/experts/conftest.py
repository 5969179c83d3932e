"""A hand without an arm in tiny scenes, so that the primitives are tested without LIBERO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.experts.motion import POSITION_SCALE, ROTATION_SCALE, Command, rotation_error, servo
from thinktwice.agents.experts.scene import Scene, View
from thinktwice.envs.libero.install import import_mujoco

mujoco = import_mujoco()  # with the GL backend that the other tests of this process need

_SUBSTEPS = 12
_MASS, _INERTIA = 2.0, 0.02
_STIFFNESS = 150.0
"""robosuite's OSC_POSE, 1/s²; critically damped."""
_PAD = 'type="box" mass="0.05" size="0.006 0.008 0.0193" friction="2 0.05 0.0001"'
_HAND = """
<mujoco>
  <option timestep="0.004" integrator="implicitfast"/>
  <default><geom condim="3" friction="1 0.005 0.0001" density="200"/></default>
  <worldbody>
    <geom name="table" type="plane" size="2 2 0.1"/>
    <body name="robot0_base" pos="-0.55 0 0"/>
    <body name="gripper0_hand" pos="{x} {y} {z}" quat="0 0.70710678 0.70710678 0" gravcomp="1">
      <freejoint/>
      <inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>
      <site name="gripper0_grip_site"/>
      <geom name="gripper0_hand_collision" type="box" size="0.105 0.034 0.05" pos="0 0 -0.081"/>
      <body name="gripper0_finger1" gravcomp="1">
        <joint name="gripper0_finger_joint1" type="slide" axis="1 0 0" range="0 0.04" damping="150"/>
        <geom name="gripper0_finger1_pad" pos="0.006 0 -0.010" {pad}/>
      </body>
      <body name="gripper0_finger2" gravcomp="1">
        <joint name="gripper0_finger_joint2" type="slide" axis="1 0 0" range="-0.04 0" damping="150"/>
        <geom name="gripper0_finger2_pad" pos="-0.006 0 -0.010" {pad}/>
      </body>
    </body>
    {things}
  </worldbody>
  <actuator>
    <position joint="gripper0_finger_joint1" kp="1000" forcerange="-20 20"/>
    <position joint="gripper0_finger_joint2" kp="1000" forcerange="-20 20"/>
  </actuator>
</mujoco>
"""


class Puppet:
    """A scene with a flying hand that is driven as robosuite's OSC drives the arm's."""

    def __init__(self, things: str, *, at: tuple[float, float, float] = (-0.1, 0.0, 0.25)) -> None:
        x, y, z = at
        xml = _HAND.format(x=x, y=y, z=z, pad=_PAD, mass=_MASS, inertia=_INERTIA, things=things)
        self.model: Any = mujoco.MjModel.from_xml_string(xml)
        self.data: Any = mujoco.MjData(self.model)
        self.data.qpos[7:9] = self.data.ctrl[:] = 0.04, -0.04
        self._body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, "gripper0_hand")
        mujoco.mj_forward(self.model, self.data)
        self.scene = Scene(self.model)

    def view(self) -> View:
        return self.scene.view(self.data)

    def follow(self, decide: Callable[[View], Command], until: Callable[[View], bool], *, steps: int) -> list[str]:
        """Plays commands until something holds, at most so many steps; the phases that were passed through."""
        phases: list[str] = []
        for _ in range(steps):
            view = self.view()
            if until(view):
                return phases
            command = decide(view)
            if not phases or phases[-1] != command.phase:
                phases.append(command.phase)
            self._move(servo(view.hand, command))
        pytest.fail(f"not reached in {steps} steps, phases: {phases[-20:]}, hand at {view.hand.position.round(3)}")

    def _move(self, action: np.ndarray) -> None:
        position = self.data.xpos[self._body] + POSITION_SCALE * action[:3]
        turn = np.zeros(9)
        quaternion = np.zeros(4)
        angle = float(np.linalg.norm(action[3:6])) * ROTATION_SCALE
        mujoco.mju_axisAngle2Quat(quaternion, action[3:6] / max(float(np.linalg.norm(action[3:6])), 1e-9), angle)
        mujoco.mju_quat2Mat(turn, quaternion)
        rotation = turn.reshape(3, 3) @ self.data.xmat[self._body].reshape(3, 3)
        self.data.ctrl[:] = (0.0, 0.0) if action[6] > 0 else (0.04, -0.04)
        damping, velocity = 2 * np.sqrt(_STIFFNESS), np.zeros(6)
        for _ in range(_SUBSTEPS):
            mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_BODY, self._body, velocity, 0)
            shift = position - self.data.xpos[self._body]
            tilt = rotation_error(self.data.xmat[self._body].reshape(3, 3), rotation)
            self.data.xfrc_applied[self._body, :3] = _MASS * (_STIFFNESS * shift - damping * velocity[3:])
            self.data.xfrc_applied[self._body, 3:] = _INERTIA * (_STIFFNESS * tilt - damping * velocity[:3])
            mujoco.mj_step(self.model, self.data)


@pytest.fixture
def puppet() -> type[Puppet]:
    return Puppet
