"""Where a chunk of actions would lead the gripper, over a camera's picture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..chunks import Array
from .conventions import CONTROL_HZ, POSITION_SCALE

_STIFFNESS = 150.0
"""1/s²: ``kp`` of robosuite's ``osc_pose.json``; its damping ratio is 1, so the arm is critically damped."""


def commanded_way(position: Array, chunk: Array) -> Array:
    """The gripper's way by the arm controller's own law, from rest and without contact.

    At each control step the goal is the present position plus the command, and the controller pulls the arm towards it
    as a critically damped spring would; within one step (0.05 s) it covers about a quarter of the way to the goal.

    Args:
        position: ``float[3]``, metres, where the chunk begins.
        chunk: ``float[T, 7]``, see `conventions.ACTION`.

    Returns:
        ``float64[T + 1, 3]``, metres.
    """
    rate, step = math.sqrt(_STIFFNESS), 1.0 / CONTROL_HZ
    decay = math.exp(-rate * step)
    way, velocity = [np.asarray(position, np.float64)], np.zeros(3)
    for command in np.clip(np.asarray(chunk, np.float64)[:, :3], -1.0, 1.0) * POSITION_SCALE:
        pull = velocity - rate * command
        way.append(way[-1] + command - decay * (command - pull * step))
        velocity = decay * (velocity - rate * step * pull)
    return np.stack(way)


def project(points: Array, model: Any, data: Any, camera: str, *, aspect: float) -> Array:
    """Points on a camera's picture.

    Args:
        points: ``float[P, 3]``, metres, world frame.
        model: ``mujoco.MjModel``.
        data: ``mujoco.MjData``, whose camera poses are up to date.
        camera: the simulator's name.
        aspect: the picture's width over its height.

    Returns:
        ``float32[P, 2]``: shares of its width and height from the upper left; NaN behind the camera.
    """
    index = model.camera(camera).id
    seen = (points - data.cam_xpos[index]) @ data.cam_xmat[index].reshape(3, 3)
    depth = np.where(seen[:, 2] < 0, -seen[:, 2], np.nan)
    focal = 0.5 / math.tan(math.radians(float(model.cam_fovy[index])) / 2)
    shares = [0.5 + focal / aspect * seen[:, 0] / depth, 0.5 - focal * seen[:, 1] / depth]
    return np.stack(shares, axis=1).astype(np.float32)
