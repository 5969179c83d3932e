"""Forward and inverse kinematics on the robot's own MuJoCo model (MJCF or URDF)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import ConfigError, choices
from ..chunks import Array
from ..libero.install import import_mujoco
from .robot import Robot

_DAMPING = 1e-4
_MAX_STEP = 0.2
"""rad per iteration, so that a linearisation is never trusted far from where it was made."""


class Kinematics:
    """The arm's geometry, without dynamics.  One thread at a time.

    Args:
        robot: names the model's file, joints, base and end effector.

    Raises:
        ConfigError: the file cannot be read, or lacks something that the description names.
    """

    def __init__(self, robot: Robot) -> None:
        mujoco = self._mujoco = import_mujoco()
        self._model = _load(robot.model_path)
        self._data = mujoco.MjData(self._model)
        names = robot.model.joints or robot.joints.names
        joints = [_find(self._model, mujoco.mjtObj.mjOBJ_JOINT, name, robot.model_path) for name in names]
        self._qpos = self._model.jnt_qposadr[joints]
        self._dofs = self._model.jnt_dofadr[joints]
        self._site = robot.model.site is not None
        kind = mujoco.mjtObj.mjOBJ_SITE if self._site else mujoco.mjtObj.mjOBJ_BODY
        self._tip = _find(self._model, kind, robot.model.site or robot.model.body or "", robot.model_path)
        base = robot.model.base
        self._base = 0 if base is None else _find(self._model, mujoco.mjtObj.mjOBJ_BODY, base, robot.model_path)
        self._lower, self._upper = robot.bound("lower"), robot.bound("upper")

    def pose(self, joints: Array) -> tuple[Array, Array]:
        """The end effector in the base frame.

        Args:
            joints: rad, ``float64[J]``.

        Returns:
            Position ``float64[3]`` in metres and rotation matrix ``float64[3, 3]``.
        """
        self._data.qpos[self._qpos] = joints
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_comPos(self._model, self._data)
        held = self._data.site_xpos if self._site else self._data.xpos
        turned = self._data.site_xmat if self._site else self._data.xmat
        base_position = self._data.xpos[self._base]
        base_rotation = self._data.xmat[self._base].reshape(3, 3)
        position = base_rotation.T @ (held[self._tip] - base_position)
        return position, base_rotation.T @ turned[self._tip].reshape(3, 3)

    def position(self, joints: Array) -> Array:
        """The end effector's position in the base frame: metres, ``float64[3]``."""
        return self.pose(joints)[0]

    def solve(
        self,
        position: Array,
        rotation: Array,
        start: Array,
        *,
        tolerance_m: float = 1e-4,
        tolerance_rad: float = 1e-3,
        iterations: int = 50,
    ) -> Array | None:
        """Joint positions that bring the end effector to a pose, near ``start``.

        Damped least squares (Wampler 1986, Nakamura and Hanafusa 1986), one linearisation per iteration.

        Args:
            position: m, ``float64[3]``, base frame.
            rotation: ``float64[3, 3]``, base frame.
            start: rad, ``float64[J]``; the solution nearest to it is sought.
            tolerance_m: how far the position may be off.
            tolerance_rad: how far the rotation may be off.
            iterations: at most so many.

        Returns:
            rad, ``float64[J]``, within the joint limits; None when no such solution was found.
        """
        joints = np.array(start, np.float64)
        jacobian = np.zeros((6, self._model.nv))
        function = self._mujoco.mj_jacSite if self._site else self._mujoco.mj_jacBody
        for _ in range(iterations):
            here, turned = self.pose(joints)
            error = np.concatenate([position - here, Rotation.from_matrix(rotation @ turned.T).as_rotvec()])
            if np.linalg.norm(error[:3]) < tolerance_m and np.linalg.norm(error[3:]) < tolerance_rad:
                within = np.all(joints >= self._lower) and np.all(joints <= self._upper)
                return joints if within else None
            function(self._model, self._data, jacobian[:3], jacobian[3:], self._tip)
            base = self._data.xmat[self._base].reshape(3, 3)
            arm = np.vstack([base.T @ jacobian[:3], base.T @ jacobian[3:]])[:, self._dofs]
            step = arm.T @ np.linalg.solve(arm @ arm.T + _DAMPING * np.eye(6), error)
            joints = joints + step * min(1.0, _MAX_STEP / max(float(np.abs(step).max()), 1e-12))
        return None


def _load(path: Path) -> Any:
    try:
        return import_mujoco().MjModel.from_xml_path(str(path))
    except (ValueError, OSError) as error:
        raise ConfigError(f"the robot's kinematic model {path} cannot be loaded: {error}.") from error


def _find(model: Any, kind: Any, name: str, path: Path) -> int:
    mujoco = import_mujoco()
    found = mujoco.mj_name2id(model, kind, name)
    if found < 0:
        counts = {
            mujoco.mjtObj.mjOBJ_JOINT: model.njnt,
            mujoco.mjtObj.mjOBJ_SITE: model.nsite,
            mujoco.mjtObj.mjOBJ_BODY: model.nbody,
        }
        valid = [mujoco.mj_id2name(model, kind, index) or "" for index in range(counts[kind])]
        what = kind.name.removeprefix("mjOBJ_").lower()
        raise ConfigError(f"the model {path} has no {what} {name!r}. {choices(name, valid)}")
    return found
