"""Simplified meshes keep their shape, their normals and their texture."""

from pathlib import Path

import numpy as np
import pytest

from thinktwice.envs.chunks import Array
from thinktwice.envs.libero.meshes import Mesh, simplified, simplify


def globe(*, rings: int = 40, segments: int = 80, inner: bool = False) -> Mesh:
    """A unit sphere whose texture has a seam where it closes; with ``inner``, a thin shell with an inside."""
    v, u = np.meshgrid(np.linspace(0, 1, rings + 1), np.linspace(0, 1, segments + 1), indexing="ij")
    theta, phi = np.pi * v.reshape(-1), 2 * np.pi * u.reshape(-1)
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)
    points = np.round(points, 6).astype(np.float32)
    texture = np.stack([u.reshape(-1), v.reshape(-1)], axis=1).astype(np.float32)
    row, column = np.meshgrid(np.arange(rings), np.arange(segments), indexing="ij")
    a = (row * (segments + 1) + column).reshape(-1)
    b = a + segments + 1
    faces = np.concatenate([np.stack([a, b, b + 1], 1), np.stack([a, b + 1, a + 1], 1)]).astype(np.int32)
    normals = points
    if inner:
        faces = np.concatenate([faces, faces[:, ::-1] + len(points)])
        points, normals = np.concatenate([points, 0.99 * points]), np.concatenate([points, -points])
        texture = np.concatenate([texture, texture + np.array([2, 0])]).astype(np.float32)
    return Mesh(
        vertices=points, faces=faces, normals=normals, face_normals=faces, texcoords=texture, face_texcoords=faces
    )


def corners(mesh: Mesh) -> tuple[Array, Array, Array]:
    return mesh.vertices[mesh.faces], mesh.normals[mesh.face_normals], mesh.texcoords[mesh.face_texcoords]


def test_a_simplified_mesh_has_the_wanted_size_and_shape() -> None:
    mesh = simplify(globe(), target=600)
    assert 500 <= len(mesh.faces) <= 600
    points, normals, _ = corners(mesh)
    assert np.abs(np.linalg.norm(points, axis=2) - 1).max() < 0.05
    assert np.sum(normals * points, axis=2).min() > 0.9


def test_no_triangle_is_smeared_across_the_texture_seam() -> None:
    points, _, texture = corners(simplify(globe(), target=600))
    assert np.ptp(texture[:, :, 0], axis=1)[np.abs(points[:, :, 2]).max(axis=1) < 0.8].max() < 0.25
    # Away from the poles the texture is where it was: u is the longitude.
    longitude = np.arctan2(points[:, :, 1], points[:, :, 0]) / (2 * np.pi) % 1
    error = np.abs((texture[:, :, 0] - longitude + 0.5) % 1 - 0.5)[np.abs(points[:, :, 2]) < 0.8]
    assert np.quantile(error, 0.99) < 0.05


def test_the_inside_of_a_shell_keeps_its_own_texture_and_normals() -> None:
    points, normals, texture = corners(simplify(globe(inner=True), target=2000))
    flat = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    inside = np.sum(flat * points.mean(axis=1), axis=1) < 0
    assert 0.3 < inside.mean() < 0.7
    assert (texture[inside, :, 0] >= 1.9).mean() > 0.98
    assert (texture[~inside, :, 0] <= 1.1).mean() > 0.98
    assert np.sum(normals[inside] * points[inside], axis=2).mean() < -0.9


def test_a_mesh_without_texture_stays_without() -> None:
    mesh = globe()
    plain = Mesh(
        vertices=mesh.vertices,
        faces=mesh.faces,
        normals=mesh.normals,
        face_normals=mesh.face_normals,
        texcoords=np.zeros((0, 2), np.float32),
        face_texcoords=np.zeros((0, 3), np.int32),
    )
    assert simplify(plain, target=300).texcoords.shape == (0, 2)


def test_the_cache_gives_what_was_made_and_small_meshes_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = globe()
    assert simplified(mesh, target=len(mesh.faces), cache=tmp_path) is mesh
    made = simplified(mesh, target=500, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr("thinktwice.envs.libero.meshes.simplify", lambda *_, **__: pytest.fail("made twice"))
    again = simplified(mesh, target=500, cache=tmp_path)
    for field in ("vertices", "faces", "normals", "face_normals", "texcoords", "face_texcoords"):
        assert np.array_equal(getattr(made, field), getattr(again, field))
