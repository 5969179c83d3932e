"""Kinematics of the shipped Panda against Franka's published geometry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thinktwice.envs.ros import Kinematics, load_robot
from thinktwice.errors import ConfigError

# Rows of (a, d, alpha) in the modified Denavit-Hartenberg convention: Franka's FCI documentation, Panda.
PANDA_DH = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
]
HAND = 0.107 + 0.1034


def denavit_hartenberg(joints: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    for (a, d, alpha), theta in zip(PANDA_DH, joints, strict=True):
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        pose = pose @ np.array(
            [[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]]
        )
    return pose


@pytest.fixture(scope="module")
def panda() -> Kinematics:
    return Kinematics(load_robot("panda_sim"))


def draw(rng: np.random.Generator) -> np.ndarray:
    robot = load_robot("panda_sim")
    return rng.uniform(robot.bound("lower"), robot.bound("upper"))


def test_forward_kinematics_are_those_that_were_published(panda: Kinematics) -> None:
    rng = np.random.default_rng(0)
    turn = Rotation.from_euler("z", -45, degrees=True).as_matrix()
    for _ in range(30):
        joints = draw(rng)
        flange = denavit_hartenberg(joints)
        position, rotation = panda.pose(joints)
        np.testing.assert_allclose(position, flange[:3, 3] + flange[:3, 2] * HAND, atol=1e-6)
        np.testing.assert_allclose(rotation, flange[:3, :3] @ turn, atol=1e-6)


def test_inverse_kinematics_return_to_the_pose(panda: Kinematics) -> None:
    rng = np.random.default_rng(1)
    start = np.array([0.0, 0.2, 0.0, -2.4, 0.0, 2.6, 0.8])
    position, rotation = panda.pose(start)
    for _ in range(30):
        wanted = position + rng.uniform(-0.05, 0.05, 3)
        turned = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix() @ rotation
        joints = panda.solve(wanted, turned, start)
        assert joints is not None
        reached, facing = panda.pose(joints)
        np.testing.assert_allclose(reached, wanted, atol=2e-4)
        np.testing.assert_allclose(facing, turned, atol=2e-3)


def test_a_pose_out_of_reach_has_no_solution(panda: Kinematics) -> None:
    start = np.array([0.0, 0.2, 0.0, -2.4, 0.0, 2.6, 0.8])
    _, rotation = panda.pose(start)
    assert panda.solve(np.array([2.0, 0.0, 0.5]), rotation, start) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"file": "nowhere.xml"}, "cannot be loaded"),
        ({"site": "tpc"}, "no site 'tpc'"),
        ({"base": "link99"}, "no body 'link99'"),
        ({"joints": tuple(f"joint{i}" for i in range(7))}, "no joint 'joint0'"),
    ],
)
def test_a_model_that_lacks_what_is_named_is_refused(change: dict, says: str) -> None:
    robot = load_robot("panda_sim")
    broken = robot.model_copy(update={"model": robot.model.model_copy(update=change)})
    with pytest.raises(ConfigError, match=says):
        Kinematics(broken)


def test_a_base_that_is_not_the_models_origin(panda: Kinematics) -> None:
    robot = load_robot("panda_sim")
    moved = Kinematics(robot.model_copy(update={"model": robot.model.model_copy(update={"base": "link1"})}))
    joints = np.array([0.3, 0.2, 0.0, -2.4, 0.0, 2.6, 0.8])
    position, rotation = panda.pose(joints)
    in_base, facing = moved.pose(joints)
    turn = Rotation.from_euler("z", 0.3).as_matrix()
    np.testing.assert_allclose(turn @ in_base + [0, 0, 0.333], position, atol=1e-6)
    np.testing.assert_allclose(turn @ facing, rotation, atol=1e-6)
    found = moved.solve(in_base + np.array([0.01, 0, 0]), facing, joints)
    assert found is not None
    np.testing.assert_allclose(moved.position(found), in_base + np.array([0.01, 0, 0]), atol=2e-4)
