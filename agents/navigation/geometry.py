"""From pixels to the odometry frame: the camera model that every navigating agent shares.

The world declares the pose in ``state`` (position from the start, compass yaw, pitch); height and field of view of
the camera are calibration, which an agent may know.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import NDArray

from ...envs import Array, Observation
from ...envs.rooms.scene import CAMERA_HEIGHT, VERTICAL_FOV

type Points = NDArray[np.float32]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pose:
    """Where the agent is: metres and radians in the odometry frame."""

    x: float
    y: float
    yaw: float
    pitch: float
    bump: bool = False

    @classmethod
    def of(cls, observation: Observation) -> Pose:
        """The pose in an observation's ``state``."""
        x, y, yaw, pitch, bump = (float(value) for value in observation["state"])
        return cls(x=x, y=y, yaw=yaw, pitch=pitch, bump=bump > 0.5)

    def bearing(self, x: float, y: float) -> float:
        """The turn, in (-pi, pi], that would face a point."""
        return wrap(math.atan2(y - self.y, x - self.x) - self.yaw)

    def distance(self, x: float, y: float) -> float:
        """Metres to a point on the floor."""
        return math.hypot(x - self.x, y - self.y)


def wrap(angle: float) -> float:
    """An angle in (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2 * math.pi)


@functools.lru_cache(maxsize=8)
def rays(height: int, width: int, stride: int) -> tuple[Points, Points]:
    """Tangents of every ``stride``-th pixel: to the left, and up; each ``float32[h, w]``."""
    focal = height / 2 / math.tan(math.radians(VERTICAL_FOV) / 2)
    up = -(np.arange(0, height, stride) + 0.5 - height / 2) / focal
    left = -(np.arange(0, width, stride) + 0.5 - width / 2) / focal
    grid = np.meshgrid(left.astype(np.float32), up.astype(np.float32))
    return grid[0], grid[1]


def points(depth: Array, pose: Pose, stride: int = 1) -> Points:
    """The 3D point under every ``stride``-th pixel.

    Args:
        depth: ``float32[H, W]``, metres along the optical axis.
        pose: of the agent.
        stride: pixels between samples.

    Returns:
        ``float32[h, w, 3]``: x and y in the odometry frame, z above the floor, metres.
    """
    left, up = rays(*depth.shape, stride)
    z = depth[::stride, ::stride]
    cos_p, sin_p = math.cos(pose.pitch), math.sin(pose.pitch)
    ahead = z * (cos_p - up * sin_p)
    side = z * left
    cos_y, sin_y = math.cos(pose.yaw), math.sin(pose.yaw)
    return np.stack(
        [
            pose.x + ahead * cos_y - side * sin_y,
            pose.y + ahead * sin_y + side * cos_y,
            CAMERA_HEIGHT + z * (sin_p + up * cos_p),
        ],
        axis=-1,
    )
