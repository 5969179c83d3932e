"""The grasps of every object of a scene, searched once per pose."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...envs import Array
from .grasps import Grasp, search_grasps
from .scene import Scene, View

_POSITION_STEP = 0.002
_ROTATION_STEP = 0.02
"""Poses are rounded to these steps (metres, entries of the matrix) before the search, so that a still object is
searched once and the answer is still a function of the state, whatever was asked before."""
_REACH = 0.2
"""Bodies farther away than this from the object's origin do not obstruct the hand, metres."""
_CAPACITY = 512

type _Pose = tuple[tuple[int, ...], tuple[int, ...]]


class GraspBook:
    """Finds and remembers grasps.

    Args:
        scene: whose objects are searched.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._known: dict[Any, list[Grasp]] = {}

    def grasps(self, view: View, name: str) -> list[Grasp]:
        """An object's grasps from above at its present pose, best first; empty when there is none."""
        own = [(body, _rounded(*view.pose(body))) for body in self._scene.bodies(name)]
        key = (name, tuple(own), tuple(self._neighbours(view, name)))
        if key not in self._known:
            if len(self._known) >= _CAPACITY:
                self._known.clear()
            self._known[key] = self._search(key[1], key[2])
        rotation, position = view.rotation(name), view.position(name)
        return [
            dataclasses.replace(grasp, position=rotation @ grasp.position + position, axis=rotation @ grasp.axis)
            for grasp in self._known[key]
        ]

    def _neighbours(self, view: View, name: str) -> list[tuple[int, _Pose]]:
        origin = view.position(name)[:2]
        near: list[tuple[int, _Pose]] = []
        for other in sorted(self._scene.roots):
            for body in self._scene.bodies(other) if other != name else ():
                points = view.body_points(body)[:, :2]
                if np.linalg.norm(np.clip(origin, points.min(axis=0), points.max(axis=0)) - origin) < _REACH:
                    near.append((body, _rounded(*view.pose(body))))
        return near

    def _search(self, own: tuple[tuple[int, _Pose], ...], near: tuple[tuple[int, _Pose], ...]) -> list[Grasp]:
        """The grasps in the frame of the object's root body."""
        points = np.concatenate([self._points(body, pose) for body, pose in own])
        obstacles = np.concatenate([self._points(body, pose) for body, pose in near] or [np.zeros((0, 3))])
        root = next(pose for body, pose in own if body == min(body for body, _ in own))
        rotation, position = _exact(root)
        return [
            dataclasses.replace(grasp, position=rotation.T @ (grasp.position - position), axis=rotation.T @ grasp.axis)
            for grasp in search_grasps(points, obstacles)
        ]

    def _points(self, body: int, pose: _Pose) -> Array:
        rotation, position = _exact(pose)
        return self._scene.body_points[body] @ rotation.T + position


def _rounded(rotation: Array, position: Array) -> _Pose:
    return (
        tuple(np.round(rotation.ravel() / _ROTATION_STEP).astype(int).tolist()),
        tuple(np.round(position / _POSITION_STEP).astype(int).tolist()),
    )


def _exact(pose: _Pose) -> tuple[Array, Array]:
    """The pose that a rounded one stands for; the rotation is the nearest proper one."""
    left, _, right = np.linalg.svd(np.reshape(pose[0], (3, 3)) * _ROTATION_STEP)
    return left @ right, np.array(pose[1]) * _POSITION_STEP
