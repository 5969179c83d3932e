"""From commands to actions, without a simulator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thinktwice.agents.experts.motion import CLOSE, Command, facing, reach_tilt, rotation_error, servo
from thinktwice.agents.experts.scene import Hand, height_along
from thinktwice.agents.experts.slide import is_flat

DOWN = np.array([0.0, 0.0, -1.0])


def hand(position: tuple[float, float, float], rotation: np.ndarray) -> Hand:
    return Hand(position=np.array(position), rotation=rotation, velocity=np.zeros(3), width=0.04, width_rate=0.0)


def test_nothing_is_commanded_at_the_target() -> None:
    rotation = facing(DOWN, np.array([0.0, 1.0, 0.0]))
    command = Command(position=np.array([0.1, 0.2, 1.0]), rotation=rotation, grip=CLOSE, phase="")
    action = servo(hand((0.1, 0.2, 1.0), rotation), command)
    assert action.dtype == np.float32
    assert np.allclose(action, [0, 0, 0, 0, 0, 0, 1], atol=1e-6)


def test_far_targets_saturate_without_changing_direction() -> None:
    rotation = facing(DOWN, np.array([0.0, 1.0, 0.0]))
    command = Command(position=np.array([0.4, 0.2, 0.0]), rotation=rotation, grip=CLOSE, phase="", speed=0.5)
    action = servo(hand((0.0, 0.0, 0.0), rotation), command)
    assert np.allclose(action[:3], [0.5, 0.25, 0.0], atol=1e-6)


def test_the_rotation_error_turns_one_into_the_other() -> None:
    first, second = Rotation.random(rng=1).as_matrix(), Rotation.random(rng=2).as_matrix()
    turned = Rotation.from_rotvec(rotation_error(first, second)).as_matrix() @ first
    assert np.allclose(turned, second)


@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.2, 0.3), (-0.7, 0.7, 0.0)])
def test_facing_is_a_rotation_and_ignores_the_axis_sign(axis: tuple[float, float, float]) -> None:
    rotation = facing(DOWN, np.array(axis))
    assert np.allclose(rotation @ rotation.T, np.eye(3))
    assert np.isclose(np.linalg.det(rotation), 1.0)
    assert np.allclose(rotation[:, 2], DOWN)
    assert np.allclose(rotation, facing(DOWN, -np.array(axis)))


def test_the_palm_leans_only_where_the_arm_is_stretched_or_folded() -> None:
    assert reach_tilt(np.array([0.55, 0.0, 0.0])) == 0.0
    assert reach_tilt(np.array([0.80, 0.0, 0.0])) > 0.05
    assert reach_tilt(np.array([0.30, 0.0, 0.05])) < -0.05


def test_heights_are_taken_along_the_way_only() -> None:
    points = np.array([[0.5, 0.0, 0.3], [0.5, 0.5, 0.9], [1.4, 0.0, 0.7]])
    start, end = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    assert height_along(points, start, end, radius=0.1) == 0.3
    assert height_along(points[1:], start, end, radius=0.1) == -np.inf


def test_plates_are_flat_however_they_lie_and_boxes_are_not() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    for rotation in (np.eye(3), Rotation.from_rotvec([0.7, 0.2, 0.1]).as_matrix()):
        assert is_flat(corners * [0.07, 0.07, 0.01] @ rotation.T, rotation)
        assert not is_flat(corners * [0.04, 0.02, 0.01] @ rotation.T, rotation)
        assert not is_flat(corners * [0.07, 0.07, 0.03] @ rotation.T, rotation)
