"""robosuite's control step with every quantity computed once: the same trajectory, bit for bit, in less time.

One control step is 25 substeps of 2 ms.  In each, robosuite computes poses, contacts, inertia and velocities three
times for one and the same state (``forward`` in the environment, ``forward`` in the controller, ``mj_step``), looks
names up, and updates observables that nobody reads here.  `ExactStepper` computes positions and velocities once
(``mj_step1``) and goes on as robosuite does.

Two things are kept because the last bits depend on them.  The constraint solver runs as often as in robosuite: it
starts from its own last solution.  And the arrays of the controller keep the memory layout that they have there: a
matrix product rounds differently in another.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from ...errors import WorldError
from ..chunks import Array
from .install import import_mujoco

type Stepping = Literal["exact", "stock"]
"""How a control step is computed; both give the same states."""

STEPPINGS: tuple[Stepping, ...] = get_args(Stepping.__value__)


class ExactStepper:
    """Steps the robosuite environment of one task.

    Args:
        env: robosuite's environment as LIBERO makes it: one Panda under operational-space control with fixed gains
            and without interpolation; its episodes do not end by themselves.

    Raises:
        WorldError: the environment is another.
    """

    def __init__(self, env: Any) -> None:
        from robosuite.utils.control_utils import nullspace_torques, opspace_matrices, orientation_error

        _check_supported(env)
        self._env = env
        self._mujoco = import_mujoco()
        self._opspace, self._nullspace, self._orientation_error = opspace_matrices, nullspace_torques, orientation_error
        robot, model = env.robots[0], env.sim.model
        self._site = model.site_name2id(robot.controller.eef_name)
        self._joints = np.array(robot.controller.qvel_index)
        self._joint_positions = np.array(robot.controller.qpos_index)
        self._arm = np.array(robot._ref_joint_actuator_indexes)
        self._torque_low, self._torque_high = robot.torque_limits
        self._fingers = np.array([model.actuator_name2id(name) for name in robot.gripper.actuators])
        low, high = model.actuator_ctrlrange[self._fingers].T
        self._finger_middle, self._finger_half = 0.5 * (high + low), 0.5 * (high - low)
        self._substeps = int(env.control_timestep / env.model_timestep)
        self._positions, self._rotations = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        self._inertia = np.zeros((model.nv, model.nv))
        # Robosuite's own expressions, for their layout; each look fills them anew.
        self._jacobian = np.vstack([self._positions[:, self._joints], self._rotations[:, self._joints]])
        self._jacobian_position = np.array(self._positions[:, self._joints])
        self._jacobian_rotation = np.array(self._rotations[:, self._joints])
        self._arm_inertia = self._inertia[self._joints, :][:, self._joints]

    def step(self, action: Array) -> bool:
        """One control step.

        Args:
            action: ``float64[7]``, as robosuite takes it.

        Returns:
            Whether the task's goal holds afterwards.
        """
        env, mujoco = self._env, self._mujoco
        model, data = env.sim.model._model, env.sim.data._data
        velocities_known = mujoco.mjtStage.mjSTAGE_VEL
        robot = env.robots[0]
        controller, gripper = robot.controller, robot.gripper
        closing = np.array([-1.0, 1.0]) * gripper.speed * np.sign(action[6:])
        env.timestep += 1
        for substep in range(self._substeps):
            mujoco.mj_step1(model, data)
            mujoco.mj_forwardSkip(model, data, velocities_known, 1)
            if controller.new_update:  # not in the substep after a reset, which acts on what the controller saw then
                mujoco.mj_forwardSkip(model, data, velocities_known, 1)
                self._look(model, data, controller)
            if substep == 0:
                controller.set_goal(action[:6])
            torques = self._torques(data, controller)
            data.ctrl[self._arm] = np.minimum(np.maximum(torques, self._torque_low), self._torque_high)
            gripper.current_action = np.minimum(np.maximum(gripper.current_action + closing, -1.0), 1.0)
            data.ctrl[self._fingers] = self._finger_middle + self._finger_half * gripper.current_action
            mujoco.mj_step2(model, data)
            controller.new_update = True
        env.cur_time += env.control_timestep
        env._post_process()
        return bool(env._check_success())

    def _look(self, model: Any, data: Any, controller: Any) -> None:
        """What robosuite's ``Controller.update`` computes, by the same operations in the same layout."""
        joints, positions, rotations = self._joints, self._positions, self._rotations
        self._mujoco.mj_jacSite(model, data, positions, rotations, self._site)
        self._mujoco.mj_fullM(model, data, self._inertia)
        velocities = data.qvel
        controller.ee_pos = data.site_xpos[self._site].copy()
        controller.ee_ori_mat = data.site_xmat[self._site].reshape(3, 3).copy()
        controller.ee_pos_vel = np.dot(positions, velocities)
        controller.ee_ori_vel = np.dot(rotations, velocities)
        controller.joint_pos = data.qpos[self._joint_positions]
        controller.joint_vel = velocities[joints]
        self._jacobian_position[:] = self._jacobian[:3] = positions[:, joints]
        self._jacobian_rotation[:] = self._jacobian[3:] = rotations[:, joints]
        self._arm_inertia[:] = self._inertia[joints[:, None], joints]
        controller.J_full, controller.mass_matrix = self._jacobian, self._arm_inertia
        controller.J_pos, controller.J_ori = self._jacobian_position, self._jacobian_rotation
        controller.new_update = False

    def _torques(self, data: Any, controller: Any) -> Array:
        """Operational-space control (Khatib 1987) as in robosuite's ``OperationalSpaceController``."""
        kp, kd, inertia, jacobian = controller.kp, controller.kd, controller.mass_matrix, controller.J_full
        force = (controller.goal_pos - controller.ee_pos) * kp[:3] + -controller.ee_pos_vel * kd[:3]
        turn = self._orientation_error(controller.goal_ori, controller.ee_ori_mat)
        torque = turn * kp[3:6] + -controller.ee_ori_vel * kd[3:6]
        _, along, around, nullspace = self._opspace(inertia, jacobian, controller.J_pos, controller.J_ori)
        wrench = np.concatenate([np.dot(along, force), np.dot(around, torque)])
        towards_goal = np.dot(jacobian.T, wrench) + data.qfrc_bias[self._joints]
        return towards_goal + self._nullspace(
            inertia, nullspace, controller.initial_joint, controller.joint_pos, controller.joint_vel
        )


def _check_supported(env: Any) -> None:
    robot = env.robots[0]
    controller, gripper = robot.controller, robot.gripper
    expected = {
        "robots": (len(env.robots), 1),
        "controller": (controller.name, "OSC_POSE"),
        "impedance mode": (controller.impedance_mode, "fixed"),
        "interpolation": (controller.interpolator_pos or controller.interpolator_ori, None),
        "decoupled position and orientation": (controller.uncoupling, True),
        "gripper": (type(gripper).__name__, "PandaGripper"),
        "integrator": (env.sim.model._model.opt.integrator, import_mujoco().mjtIntegrator.mjINT_EULER),
    }
    for name, (found, wanted) in expected.items():
        if found != wanted:
            raise WorldError(f"exact stepping knows {name} {wanted!r} alone, not {found!r}; use stepping='stock'.")
