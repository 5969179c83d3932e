"""Triangle meshes with fewer triangles that look the same."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np

from ..chunks import Array
from .files import write_once

_VERSION = "2"
_SAMPLES = 40_000
_WELD = 0.002
"""Vertices closer than this share of the mesh's diagonal count as one; some files join parts only that closely."""
_CANDIDATES = 32
_NORMAL_WEIGHT = 0.05
"""How far apart perpendicular normals count, as a share of the mesh's diagonal (about)."""
_STRETCH = 2.5
"""How much more of the texture than its middle's density suggests a triangle may span."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh:
    """Triangles with a normal and a texture coordinate per corner.

    Attributes:
        vertices: ``float32[V, 3]``, metres.
        faces: ``int32[F, 3]``, into `vertices`.
        normals: ``float32[N, 3]``, unit length.
        face_normals: ``int32[F, 3]``, into `normals`.
        texcoords: ``float32[T, 2]``; empty for a mesh without a texture.
        face_texcoords: ``int32[F, 3]``, into `texcoords`; empty likewise.
    """

    vertices: Array
    faces: Array
    normals: Array
    face_normals: Array
    texcoords: Array
    face_texcoords: Array


def simplified(mesh: Mesh, *, target: int, cache: Path) -> Mesh:
    """The mesh with about ``target`` triangles, made once and then read from the cache.

    Args:
        mesh: the original.
        target: triangles to keep; a mesh with no more is returned as it is.
        cache: the folder of simplified meshes, shared by processes.
    """
    if len(mesh.faces) <= target:
        return mesh
    digest = hashlib.sha256(f"{_VERSION}/{target}".encode())
    for field in dataclasses.fields(mesh):
        digest.update(np.ascontiguousarray(getattr(mesh, field.name)).tobytes())
    path = write_once(cache / f"{digest.hexdigest()}.npz", lambda part: _save(part, simplify(mesh, target=target)))
    with np.load(path, allow_pickle=False) as arrays:
        return Mesh(**{field.name: arrays[field.name] for field in dataclasses.fields(Mesh)})


def simplify(mesh: Mesh, *, target: int) -> Mesh:
    """The mesh with about ``target`` triangles.

    Edges collapse by quadric error (Garland and Heckbert 1997, in ``fast-simplification``), which knows positions
    only.  Normals and texture coordinates are then read off the original surface.
    """
    import fast_simplification

    # Open borders stay: walls without a back would shrink from their edges into wedges.
    result = fast_simplification.simplify(*_welded(mesh), target_count=target, preserve_border=True)
    vertices, faces = result[0], result[1]
    faces = faces[_areas(vertices[faces]) > 0]
    normals, texcoords = _read_off(mesh, vertices[faces])
    textured = len(mesh.texcoords) > 0
    index = np.arange(faces.size, dtype=np.int32).reshape(-1, 3)
    return Mesh(
        vertices=vertices.astype(np.float32),
        faces=faces.astype(np.int32),
        normals=normals.reshape(-1, 3),
        face_normals=index,
        texcoords=texcoords.reshape(-1, 2) if textured else mesh.texcoords,
        face_texcoords=index if textured else mesh.face_texcoords,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Samples:
    """Points on a mesh's surface.

    Attributes:
        points: ``float32[S, 3]``.
        normals: ``float32[S, 3]``, interpolated, unit length.
        texcoords: ``float32[S, 2]``, interpolated; zeros without a texture.
        density: ``float32[S]``: texture coordinate per metre.
    """

    points: Array
    normals: Array
    texcoords: Array
    density: Array


def _sampled(mesh: Mesh) -> _Samples:
    """Every corner of a mesh, and points drawn evenly over its surface by a fixed generator."""
    rng = np.random.default_rng(0)
    areas = _areas(mesh.vertices[mesh.faces])
    face = rng.choice(len(mesh.faces), _SAMPLES, p=areas / areas.sum())
    weights = rng.dirichlet((1, 1, 1), _SAMPLES).astype(np.float32)
    face = np.concatenate([face, np.repeat(np.arange(len(mesh.faces)), 3)])
    weights = np.concatenate([weights, np.tile(np.eye(3, dtype=np.float32), (len(mesh.faces), 1))])

    def at(values: Array, index: Array) -> Array:
        return np.einsum("sc,scd->sd", weights, values[index[face]])

    normals = at(mesh.normals, mesh.face_normals)
    texcoords, density = np.zeros((len(face), 2), np.float32), np.zeros(len(face), np.float32)
    if len(mesh.texcoords):
        texcoords = at(mesh.texcoords, mesh.face_texcoords)
        flat = np.pad(mesh.texcoords[mesh.face_texcoords], ((0, 0), (0, 0), (0, 1)))
        density = np.sqrt(_areas(flat) / np.maximum(areas, 1e-12))[face]
    return _Samples(
        points=at(mesh.vertices, mesh.faces),
        normals=normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9),
        texcoords=texcoords,
        density=density,
    )


def _read_off(mesh: Mesh, corners: Array) -> tuple[Array, Array]:
    """Normals ``float32[F, 3, 3]`` and texture coordinates ``float32[F, 3, 2]`` of new triangles, from the original.

    Each comes from a sample near the corner.  Nearness counts normals too, so that the inside of a thin shell does not
    take its outside's colours.  A texture coordinate must also be one that the triangle can reach from its middle's
    without crossing a seam of the texture; where none is, the corner takes the middle's.
    """
    from scipy.spatial import KDTree

    samples = _sampled(mesh)
    scale = _NORMAL_WEIGHT * float(np.linalg.norm(np.ptp(samples.points, axis=0)))
    tree = KDTree(np.concatenate([samples.points, scale * samples.normals], axis=1))
    flat = np.broadcast_to(_flat_normals(corners)[:, None, :], corners.shape)
    wanted = np.concatenate([corners, scale * flat], axis=2)
    near = np.asarray(tree.query(wanted, k=_CANDIDATES)[1])
    middle = np.asarray(tree.query(wanted.mean(axis=1))[1])

    normals = samples.normals[near[:, :, 0]]
    agree = np.sum(normals * flat, axis=2, keepdims=True) > 0.5
    radius = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2)
    reach = _STRETCH * samples.density[middle][:, None] * radius
    centre = samples.texcoords[middle]
    gap = np.linalg.norm(samples.texcoords[near] - centre[:, None, None, :], axis=3)
    reachable = gap <= reach[:, :, None]
    first = np.take_along_axis(near, reachable.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
    found = reachable.any(axis=2)[:, :, None]
    return (
        # At sharp edges and open rims the nearest normal may belong to another side.
        np.where(agree, normals, flat).astype(np.float32),
        np.where(found, samples.texcoords[first], centre[:, None, :]).astype(np.float32),
    )


def _flat_normals(corners: Array) -> Array:
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)


def _welded(mesh: Mesh) -> tuple[Array, Array]:
    """Vertices that nearly share a place as one, so that neither texture seams nor loose joints are holes."""
    step = _WELD * float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    cells = np.round(mesh.vertices / step).astype(np.int64)
    _, first, index = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    faces = index.reshape(-1)[mesh.faces].astype(np.int32)
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return mesh.vertices[first].astype(np.float64), faces[whole]


def _areas(triangles: Array) -> Array:
    edges = triangles[:, 1:] - triangles[:, :1]
    return np.linalg.norm(np.cross(edges[:, 0].astype(np.float64), edges[:, 1].astype(np.float64)), axis=1) / 2


def _save(path: Path, mesh: Mesh) -> None:
    with path.open("wb") as file:
        np.savez(file, **{field.name: getattr(mesh, field.name) for field in dataclasses.fields(mesh)})
