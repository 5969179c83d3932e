"""Surface points of MuJoCo's collision geometry: what the hand can touch, which is not what the cameras show."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...envs import Array
from ...envs.libero.install import import_mujoco

SPACING = 0.006
"""Distance of neighbouring surface points, metres: below half a fingertip's width (17 mm)."""

LARGE = 0.05
"""A geom with a half size above this (furniture) is sampled `COARSE` times more sparsely."""

COARSE = 3.0


def collides(model: Any, geom: int) -> bool:
    """Whether a geom takes part in contacts (LIBERO's visual meshes do not)."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def geom_points(model: Any, geom: int) -> Array:
    """Points on a geom's surface in the frame of its body: ``float64[N, 3]``, metres.

    Boxes are sampled exactly; capsules, cylinders and ellipsoids as their bounding boxes; meshes by their vertices.

    Raises:
        ValueError: the geom is a plane or a height field, which have no bounded surface.
    """
    mujoco = import_mujoco()
    kind, size = int(model.geom_type[geom]), np.array(model.geom_size[geom], np.float64)
    types = mujoco.mjtGeom
    if kind == types.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        local = np.array(model.mesh_vert[first : first + model.mesh_vertnum[mesh]], np.float64)
    elif kind in (types.mjGEOM_BOX, types.mjGEOM_ELLIPSOID):
        local = box_surface(size)
    elif kind == types.mjGEOM_SPHERE:
        local = box_surface(np.full(3, size[0]))
    elif kind == types.mjGEOM_CAPSULE:
        local = box_surface(np.array([size[0], size[0], size[1] + size[0]]))
    elif kind == types.mjGEOM_CYLINDER:
        local = box_surface(np.array([size[0], size[0], size[1]]))
    else:
        raise ValueError(f"geom {geom} of type {kind} has no bounded surface.")
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    return local @ rotation.reshape(3, 3).T + model.geom_pos[geom]


def box_surface(half: Array) -> Array:
    """A grid of points on the six faces of a box about the origin: ``float64[N, 3]``.

    Args:
        half: ``float64[3]``, half sizes in metres.
    """
    spacing = SPACING * (COARSE if half.max() > LARGE else 1.0)
    axes = [np.linspace(-h, h, max(2, int(np.ceil(2 * h / spacing)) + 1)) for h in half]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid[(np.abs(np.abs(grid) - half) < 1e-9).any(axis=1)]
