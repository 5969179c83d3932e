"""The grasp search on shapes whose right grasps are known."""

from __future__ import annotations

import numpy as np

from thinktwice.agents.experts.grasps import FINGER_OUTER, MAX_WIDTH, PALM_HALF, TIP, search_grasps
from thinktwice.agents.experts.shapes import box_surface

NOTHING = np.zeros((0, 3))


def box(half: tuple[float, float, float], *, yaw: float = 0.0, at: tuple[float, float, float] = (0.0, 0.0, 0.0)):
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    return box_surface(np.array(half)) @ turn.T + np.array(at)


def ring(radius: float, height: float, thickness: float = 0.003):
    angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    levels = np.linspace(0.0, height, 12)
    parts = [
        np.stack([r * np.cos(angles), r * np.sin(angles), np.full_like(angles, z)], axis=1)
        for z in levels
        for r in (radius - thickness, radius)
    ]
    return np.concatenate(parts)


def test_a_box_is_gripped_across_its_narrow_side_whatever_its_yaw():
    for yaw in (0.0, 0.4, 1.2, 2.5):
        best = search_grasps(box((0.04, 0.02, 0.03), yaw=yaw), NOTHING)[0]
        narrow = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        assert abs(best.axis @ narrow) > 0.99
        assert np.linalg.norm(best.position[:2]) < 0.012
        assert 0.036 <= best.width <= 0.05


def test_a_box_wider_than_the_hand_on_all_sides_has_no_grasp():
    assert search_grasps(box((0.06, 0.06, 0.03)), NOTHING) == []


def test_a_bowl_is_gripped_at_its_rim_on_every_side():
    grasps = search_grasps(ring(0.053, 0.05), NOTHING)
    assert grasps
    for grasp in grasps:
        radial = grasp.position[:2] / np.linalg.norm(grasp.position[:2])
        assert abs(np.linalg.norm(grasp.position[:2]) - 0.0515) < 0.006
        assert abs(grasp.axis[:2] @ radial) > 0.9
    assert {np.sign(grasp.position[1]) for grasp in grasps} == {-1.0, 1.0}


def test_fingertips_stay_above_what_the_object_stands_on():
    flat = box((0.041, 0.021, 0.009), at=(0.0, 0.0, 0.909))
    best = search_grasps(flat, NOTHING)[0]
    assert best.position[2] - TIP >= 0.9


def test_a_neighbour_where_a_finger_would_be_forbids_the_grasp():
    object_, wall = box((0.02, 0.02, 0.03)), box((0.1, 0.004, 0.05), at=(0.0, 0.03, 0.02))
    free, beside = search_grasps(object_, NOTHING), search_grasps(object_, wall)
    assert any(abs(grasp.axis[1]) > 0.95 for grasp in free)
    for grasp in beside:
        reach = grasp.position[1] + FINGER_OUTER * abs(grasp.axis[1])
        assert reach < 0.026 or abs(grasp.axis[1]) < 0.5


def test_a_tall_wall_near_the_palm_forbids_deep_grasps():
    object_, tower = box((0.02, 0.02, 0.02)), box((0.02, 0.02, 0.2), at=(0.0, 0.09, 0.15))
    grasps = search_grasps(object_, tower)
    assert grasps
    for grasp in grasps:
        along = (tower - grasp.position) @ grasp.axis
        across = (tower - grasp.position) @ np.array([grasp.axis[1], -grasp.axis[0], 0.0])
        under = (np.abs(along) < PALM_HALF[1] - 0.006) & (np.abs(across) < PALM_HALF[0] - 0.012)
        assert not under.any()


def test_a_roof_is_not_gripped_where_it_narrows_upwards():
    body = box((0.026, 0.026, 0.055), at=(0.0, 0.0, 0.055))
    slopes = [
        box((0.026, 0.028 - 0.024 * share, 0.001), at=(0.0, 0.0, 0.11 + 0.03 * share)) for share in np.linspace(0, 1, 8)
    ]
    best = search_grasps(np.concatenate([body, *slopes]), NOTHING)[0]
    assert best.position[2] < 0.112 or abs(best.axis[0]) > 0.9


def test_no_grasp_is_wider_than_the_hand_opens():
    assert all(grasp.width <= MAX_WIDTH for grasp in search_grasps(box((0.035, 0.05, 0.04)), NOTHING))
