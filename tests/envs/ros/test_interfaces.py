"""Each command interface, both ROS versions, homing and the e-stop topic, against the fake bridge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thinktwice.envs.ros import ArmHeld, FakeArm, FakeBridge, Robot, RosArmEnv, parse_robot
from thinktwice.envs.ros.observing import axis_angle
from thinktwice.errors import WorldError

MOVE = np.array([1, 0, 0, 0, 0, 0, -1], np.float32)


def with_parts(robot: Robot, **parts: object) -> Robot:
    data = robot.model_dump(mode="json")
    for name, value in parts.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) and data.get(name) else value
    return parse_robot(data)


def one_step(robot: Robot, bridge: FakeBridge) -> list[dict]:
    env = RosArmEnv(robot, bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        env.step(MOVE)
    finally:
        env.close()
    return bridge.published(robot.command.topic)


@pytest.mark.parametrize("interface", ["joint_positions", "joint_state", "pose", "twist"])
def test_interfaces_carry_the_same_command(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot, interface: str
) -> None:
    robot = with_parts(patient_panda, command={"interface": interface, "topic": "/other"})
    first = one_step(robot, bridge)[0]
    if interface == "joint_positions":
        assert len(first["data"]) == 7
    elif interface == "joint_state":
        assert first["name"] == list(robot.joints.names)
        assert len(first["position"]) == 7
    elif interface == "pose":
        env = RosArmEnv(robot, bridge.url)
        wanted = env.kinematics.position(fake_arm.position) + np.array([0.005, 0, 0])
        np.testing.assert_allclose([first["pose"]["position"][axis] for axis in "xyz"], wanted, atol=1e-3)
    else:
        np.testing.assert_allclose(first["twist"]["linear"]["x"], 0.005 * 20)


def test_a_servo_is_stopped_by_a_twist_of_zero(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> None:
    robot = with_parts(patient_panda, command={"interface": "twist", "topic": "/servo"})
    assert one_step(robot, bridge)[-1]["twist"]["linear"] == {"x": 0.0, "y": 0.0, "z": 0.0}


def test_ros_1_names_and_times(bridge: FakeBridge, patient_panda: Robot) -> None:
    robot = with_parts(patient_panda, ros=1)
    with FakeArm(bridge, robot, np.array([0.0, 0.19635, 0.0, -2.61799, 0.0, 2.94159, 0.785398])):
        first = one_step(robot, bridge)[0]
    assert set(first["header"]["stamp"]) == {"secs", "nsecs"}
    types = {operation["topic"]: operation["type"] for operation in bridge.opened if operation["op"] == "advertise"}
    assert types[robot.command.topic] == "trajectory_msgs/JointTrajectory"


def test_an_estop_topic_is_sent_but_cannot_confirm(bridge: FakeBridge, fake_arm, patient_panda: Robot, until) -> None:
    data = patient_panda.model_dump(mode="json")
    data["estop"] = {
        "interface": "topic", "name": "/halt", "type": "std_msgs/Bool", "request": {"data": True}, "probe": "none"
    }  # fmt: skip
    env = RosArmEnv(parse_robot(data), bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        assert env.emergency_stop() is False
        assert env.link.estop.state == "pressed; a topic cannot confirm it"
        until(lambda: bridge.published("/halt") == [{"data": True}], "the stop")
    finally:
        env.close()


def probed(robot: Robot, probe: object, **estop: object) -> Robot:
    data = robot.model_dump(mode="json")
    data["estop"] = {**data["estop"], "probe": probe, **estop}
    return parse_robot(data)


@pytest.mark.parametrize(
    ("estop", "asked", "answer"),
    [
        ({}, "/rosapi/service_type", {"type": "std_srvs/srv/SetBool"}),
        ({"interface": "topic", "type": "std_msgs/Bool"}, "/rosapi/subscribers", {"subscribers": ["/safety"]}),
    ],
)
def test_rosapi_is_asked_whether_the_estop_exists(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot, estop: dict, asked: str, answer: dict
) -> None:
    env = RosArmEnv(probed(patient_panda, "rosapi", **estop), bridge.url)
    try:
        env.reset(seed=0)
        with pytest.raises(WorldError, match=r"e-stop.*does not answer \(.*/rosapi/.*estop\.probe"):
            env.link.estop.probe(timeout=0.5)
        questions: list[dict] = []
        bridge.services[asked] = lambda question: questions.append(question) or dict.fromkeys(answer, "")
        with pytest.raises(WorldError, match="rosapi knows nobody behind /estop"):
            env.link.estop.probe(timeout=0.5)
        assert "NOBODY ANSWERS" in env.link.estop.state
        bridge.services[asked] = lambda _: answer
        env.arm()
        assert env.link.estop.state == "/estop exists"
        assert "/estop" in questions[0].values()
        assert not fake_arm.stopped
    finally:
        env.close()


def test_an_estop_that_is_not_probed_still_needs_its_connection(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot, until
) -> None:
    env = RosArmEnv(probed(patient_panda, "none"), bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        assert "nobody was asked" in env.link.estop.state
        env.hold_now()
        env.link.estop.close()
        until(lambda: not env.link.estop.connected, "closed")
        with pytest.raises(WorldError, match="its connection is away"):
            env.arm()
    finally:
        env.close()


def test_a_hold_while_the_arm_is_being_armed_wins(arm_env: RosArmEnv, bridge: FakeBridge) -> None:
    arm_env.reset(seed=0)
    bridge.services["/sim_panda/get_parameters"] = lambda _: arm_env.hold_now() or {}
    with pytest.raises(WorldError, match="a hold was asked for meanwhile"):
        arm_env.arm()
    assert arm_env.hold is not None


HOMING = {"action": "/home", "positions": [0.0, 0.2, 0.0, -2.6, 0.0, 2.9, 0.8], "seconds": 3.0}


def test_homing_sends_one_trajectory_goal(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> None:
    goals: list[dict] = []

    def go(goal: dict) -> dict:
        goals.append(goal)
        fake_arm.position = np.array(goal["trajectory"]["points"][0]["positions"])
        return {"error_code": 0}

    bridge.actions["/home"] = go
    env = RosArmEnv(with_parts(patient_panda, homing=HOMING), bridge.url)
    try:
        env.reset(seed=0)
        with pytest.raises(ArmHeld):
            env.home()
        env.arm()
        env.home()
        np.testing.assert_allclose(fake_arm.position, HOMING["positions"])
        assert goals[0]["trajectory"]["points"][0]["time_from_start"]["sec"] == 3
        assert env.hold is None
    finally:
        env.close()


@pytest.mark.parametrize("answer", ["reject", "error"])
def test_a_rejected_homing_goal_holds_the_arm(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot, answer: str
) -> None:
    def go(_: dict) -> dict:
        if answer == "reject":
            raise ValueError("joint names do not match")
        return {"error_code": -4, "error_string": "path tolerance violated"}

    bridge.actions["/home"] = go
    env = RosArmEnv(with_parts(patient_panda, homing=HOMING), bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        with pytest.raises(WorldError, match="homing"):
            env.home()
        assert env.hold is not None
    finally:
        env.close()


@pytest.mark.parametrize(
    ("turn", "near", "reported"),
    [
        ([3.1, 0.0, 0.0], None, [3.1, 0.0, 0.0]),
        ([3.2, 0.0, 0.0], None, [3.2 - 2 * np.pi, 0.0, 0.0]),
        ([3.2, 0.0, 0.0], (3.14, 0.0, 0.0), [3.2, 0.0, 0.0]),
        ([-3.1, 0.0, 0.0], (3.14, 0.0, 0.0), [2 * np.pi - 3.1, 0.0, 0.0]),
        ([0.0, 0.0, 0.0], (3.14, 0.0, 0.0), [0.0, 0.0, 0.0]),
    ],
)
def test_of_two_equal_rotations_the_one_near_to_what_a_policy_knows(
    turn: list[float], near: tuple[float, float, float] | None, reported: list[float]
) -> None:
    np.testing.assert_allclose(axis_angle(Rotation.from_rotvec(turn), near), reported, atol=1e-9)


def test_positions_are_in_the_frame_that_policies_know(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot
) -> None:
    def state(robot: Robot) -> np.ndarray:
        env = RosArmEnv(robot, bridge.url)
        try:
            return env.reset(seed=0)[0]["state"]
        finally:
            env.close()

    moved = state(with_parts(patient_panda, model={"base_position": [-0.66, 0.0, 0.912]}))
    apart = moved - state(patient_panda)
    np.testing.assert_allclose(apart[:3], [-0.66, 0.0, 0.912], atol=1e-5)
    np.testing.assert_allclose(apart[3:], 0.0, atol=1e-5)
