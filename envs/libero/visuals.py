"""What the cameras draw: LIBERO's own meshes and textures, or lighter ones.

MuJoCo keeps two things apart that come from one model by default: the scene (which geom is where, from the physics) and
the drawing context (the meshes and textures that geoms point to by number).  Here the context has a model of its own.
So the physics is the same whatever the rendering, and nothing has to be copied between two simulations.
"""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from ..chunks import Array
from .files import working_folder, write_once
from .install import compile_xml, import_mujoco, release_memory
from .meshes import Mesh, simplified
from .scene import assets_only

TEXTURE_SIZE = 512
"""Pixels of a ``fast`` texture's longer side; LIBERO's have up to 4096."""

FACE_SHARE, FACES_LEAST, FACES_MOST = 0.1, 400, 2500
"""A ``fast`` mesh keeps this share of its triangles, within these limits."""

_VERSION = "1"


def full_visuals(xml: str) -> Any:
    """A model with the scene's meshes, textures and materials as LIBERO has them (``mujoco.MjModel``)."""
    return compile_xml(xml)


def light_visuals(xml: str, physics: Any) -> Any:
    """A model with simplified meshes and small textures, numbered as in the physics (``mujoco.MjModel``).

    There is no multisampling and no shadow map.  What is costly to make is kept in the cache folder.

    Args:
        xml: the scene with its texture files.
        physics: the scene's ``mujoco.MjModel``, whose meshes are simplified.
    """
    mujoco = import_mujoco()
    cache = working_folder() / "libero-fast"
    spec = mujoco.MjSpec.from_string(_with_small_textures(assets_only(xml), cache / "textures"))
    textured = _textured_meshes(physics)
    for index in range(physics.nmesh):
        mesh = physics_mesh(physics, index, textured=index in textured)
        target = int(np.clip(FACE_SHARE * len(mesh.faces), FACES_LEAST, FACES_MOST))
        _add_mesh(spec, physics.mesh(index).name, simplified(mesh, target=target, cache=cache / "meshes"))
    _add_planes(spec, physics)
    model = spec.compile()
    _undo_centering(model)
    model.stat.extent = physics.stat.extent
    model.vis.quality.offsamples = 0
    model.vis.quality.shadowsize = 0
    del spec
    release_memory()
    return model


def _add_planes(spec: Any, physics: Any) -> None:
    """Planes are drawn from lists that the context makes of its own model's, in their order."""
    plane = import_mujoco().mjtGeom.mjGEOM_PLANE
    for index in np.flatnonzero(physics.geom_type == plane):
        geom = physics.geom(index)
        material = physics.mat(geom.matid[0]).name if geom.matid[0] >= 0 else ""
        spec.worldbody.add_geom(type=plane, size=geom.size, material=material)


def _textured_meshes(model: Any) -> set[int]:
    """The meshes that some geom shows with a texture; others may have texture coordinates that nothing reads."""
    is_mesh = model.geom_type == import_mujoco().mjtGeom.mjGEOM_MESH
    has_texture = (model.mat_texid >= 0).any(axis=1)
    shown = is_mesh & (model.geom_matid >= 0) & has_texture[model.geom_matid]
    return set(model.geom_dataid[shown].tolist())


def physics_mesh(model: Any, index: int, *, textured: bool) -> Mesh:
    """A mesh of a compiled model, in the mesh's own frame.

    Args:
        model: ``mujoco.MjModel``.
        index: the mesh's number.
        textured: whether its texture coordinates are wanted.
    """

    def part(values: Array, first: Array, count: Array) -> Array:
        return np.array(values[first[index] : first[index] + count[index]])

    faces = part(model.mesh_face, model.mesh_faceadr, model.mesh_facenum)
    textured = textured and model.mesh_texcoordnum[index] > 0
    return Mesh(
        vertices=part(model.mesh_vert, model.mesh_vertadr, model.mesh_vertnum),
        faces=faces,
        normals=part(model.mesh_normal, model.mesh_normaladr, model.mesh_normalnum),
        face_normals=part(model.mesh_facenormal, model.mesh_faceadr, model.mesh_facenum),
        texcoords=part(model.mesh_texcoord, model.mesh_texcoordadr, model.mesh_texcoordnum)
        if textured
        else np.zeros((0, 2), np.float32),
        face_texcoords=part(model.mesh_facetexcoord, model.mesh_faceadr, model.mesh_facenum)
        if textured
        else np.zeros((0, 3), np.int32),
    )


def _add_mesh(spec: Any, name: str, mesh: Mesh) -> None:
    added = spec.add_mesh(name=name)
    # Open and thin surfaces have no volume; the inertia is of no interest here.
    added.inertia = import_mujoco().mjtMeshInertia.mjMESH_INERTIA_SHELL
    parts = [mesh.vertices[mesh.faces], mesh.normals[mesh.face_normals]]
    if len(mesh.texcoords):
        parts.append(mesh.texcoords[mesh.face_texcoords])
    # One index for all three: MuJoCo 3.17 mixes up indices of normals that are given apart.
    corners = np.concatenate(parts, axis=2).reshape(mesh.faces.size, -1)
    rows, index = np.unique(corners, axis=0, return_inverse=True)
    added.uservert = rows[:, :3].reshape(-1)
    added.usernormal = rows[:, 3:6].reshape(-1)
    added.usertexcoord = rows[:, 6:].reshape(-1)
    added.userface = index.reshape(-1)


def _undo_centering(model: Any) -> None:
    """Bring vertices and normals back into the frame they were given in; compiling moved them to their inertia's."""
    mujoco = import_mujoco()
    for index in range(model.nmesh):
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, model.mesh_quat[index])
        turn = rotation.reshape(3, 3).T
        first, count = model.mesh_vertadr[index], model.mesh_vertnum[index]
        model.mesh_vert[first : first + count] = model.mesh_vert[first : first + count] @ turn + model.mesh_pos[index]
        first, count = model.mesh_normaladr[index], model.mesh_normalnum[index]
        model.mesh_normal[first : first + count] = model.mesh_normal[first : first + count] @ turn


def _with_small_textures(xml: str, cache: Path) -> str:
    root = ET.fromstring(xml)  # noqa: S314  the simulator's own output
    for texture in root.iter("texture"):
        for attribute, value in texture.attrib.items():
            if attribute.startswith("file"):
                texture.set(attribute, str(_small_texture(Path(value), cache)))
    return ET.tostring(root, encoding="unicode")


def _small_texture(path: Path, cache: Path) -> Path:
    """The picture itself when it is small, or a smaller copy in the cache."""
    from PIL import Image

    with Image.open(path) as picture:
        if max(picture.size) <= TEXTURE_SIZE:
            return path
    digest = hashlib.sha256(f"{_VERSION}/{TEXTURE_SIZE}".encode() + path.read_bytes()).hexdigest()
    return write_once(cache / f"{digest}.png", lambda part: _shrink(path, part))


def _shrink(path: Path, target: Path) -> None:
    from PIL import Image

    with Image.open(path) as picture:
        mode = "RGBA" if "transparency" in picture.info else "RGB"
        small = picture if picture.mode in ("L", "RGB", "RGBA") else picture.convert(mode)
        small.thumbnail((TEXTURE_SIZE, TEXTURE_SIZE), Image.Resampling.BOX)
        small.save(target, format="PNG")
