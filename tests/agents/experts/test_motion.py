"""From commands to actions, without a simulator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thinktwice.agents.experts.motion import CLOSE, Command, facing, reach_tilt, rotation_error, servo
from thinktwice.agents.experts.scene import Hand, height_along
from thinktwice.agents.experts.slide import is_flat

DOWN = np.array([0.0, 0.0, -1.0])
NEUTRAL = np.array([0.0, 1.0, 0.0])


def axis_at(degrees: float) -> np.ndarray:
    """A fingers' axis turned from the initial pose, counterclockwise."""
    return np.array([-np.sin(np.radians(degrees)), np.cos(np.radians(degrees)), 0.0])


def hand(position: tuple[float, float, float], rotation: np.ndarray) -> Hand:
    return Hand(position=np.array(position), rotation=rotation, velocity=np.zeros(3), width=0.04, width_rate=0.0)


def test_nothing_is_commanded_at_the_target() -> None:
    rotation = facing(DOWN, NEUTRAL, NEUTRAL)
    command = Command(position=np.array([0.1, 0.2, 1.0]), rotation=rotation, grip=CLOSE, phase="")
    action = servo(hand((0.1, 0.2, 1.0), rotation), command)
    assert action.dtype == np.float32
    assert np.allclose(action, [0, 0, 0, 0, 0, 0, 1], atol=1e-6)


def test_far_targets_saturate_without_changing_direction() -> None:
    rotation = facing(DOWN, NEUTRAL, NEUTRAL)
    command = Command(position=np.array([0.4, 0.2, 0.0]), rotation=rotation, grip=CLOSE, phase="", speed=0.5)
    action = servo(hand((0.0, 0.0, 0.0), rotation), command)
    assert np.allclose(action[:3], [0.5, 0.25, 0.0], atol=1e-6)


def test_the_rotation_error_turns_one_into_the_other() -> None:
    first, second = Rotation.random(rng=1).as_matrix(), Rotation.random(rng=2).as_matrix()
    turned = Rotation.from_rotvec(rotation_error(first, second)).as_matrix() @ first
    assert np.allclose(turned, second)


@pytest.mark.parametrize(
    ("current", "wanted", "taken"),
    [(0, 60, 60), (0, 120, -60), (40, 120, 120), (100, 0, 0), (-70, 70, 70), (150, 0, 0), (150, -20, 160)],
)
def test_the_nearer_sign_is_taken_unless_the_last_joint_ends_there(current: float, wanted: float, taken: float) -> None:
    rotation = facing(DOWN, axis_at(wanted), axis_at(current))
    assert np.allclose(rotation[:, 0], axis_at(taken))


def test_a_wide_turn_keeps_the_wrist_upright_first() -> None:
    leaning = np.array([0.0, 0.6, -0.8])
    start, end = facing(DOWN, axis_at(-60), axis_at(-60)), facing(leaning, axis_at(90), axis_at(90))
    turn = servo(hand((0.0, 0.0, 0.0), start), Command(position=np.zeros(3), rotation=end, grip=CLOSE, phase=""))[3:6]
    assert np.allclose(turn, [0.0, 0.0, 1.0])
    start = facing(leaning, axis_at(-60), axis_at(-60))
    turn = servo(hand((0.0, 0.0, 0.0), start), Command(position=np.zeros(3), rotation=end, grip=CLOSE, phase=""))[3:6]
    righted = Rotation.from_rotvec([*turn[:2], 0.0]).as_matrix() @ start
    assert righted[2, 2] < start[2, 2] < -0.7
    assert turn[2] == pytest.approx(1.0)
    near = facing(DOWN, axis_at(70), axis_at(70))
    turn = servo(hand((0.0, 0.0, 0.0), near), Command(position=np.zeros(3), rotation=end, grip=CLOSE, phase=""))[3:6]
    assert abs(turn[0]) > 0.5


@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.2, 0.3), (-0.7, 0.7, 0.0)])
def test_facing_is_a_rotation_and_ignores_the_axis_sign(axis: tuple[float, float, float]) -> None:
    rotation = facing(DOWN, np.array(axis), NEUTRAL)
    assert np.allclose(rotation @ rotation.T, np.eye(3))
    assert np.isclose(np.linalg.det(rotation), 1.0)
    assert np.allclose(rotation[:, 2], DOWN)
    assert np.allclose(rotation, facing(DOWN, -np.array(axis), NEUTRAL))


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
