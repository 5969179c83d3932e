"""The arm's environment against the fake bridge: clock, gate, hold, shadow and recovery."""

from __future__ import annotations

import socket
import threading
import time
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from thinktwice.envs import MultiStep, check_observation
from thinktwice.envs.ros import ArmHeld, FakeArm, FakeBridge, Robot, RosArmEnv, parse_robot
from thinktwice.envs.ros.sim_launch import run_simulated_arm
from thinktwice.errors import ConfigError, ContractError, WorldError

COMMANDS = "/joint_trajectory_controller/joint_trajectory"


def changed(robot: Robot, **parts: dict) -> Robot:
    data = robot.model_dump(mode="json")
    for name, values in parts.items():
        data[name] = {**data[name], **values} if isinstance(values, dict) else values
    return parse_robot(data)


def moves(bridge: FakeBridge) -> list[dict]:
    return [message for message in bridge.published(COMMANDS) if message["points"]]


def move(x: float = 1.0) -> np.ndarray:
    return np.array([x, 0, 0, 0, 0, 0, -1], np.float32)


def drive(env: RosArmEnv, steps: int) -> None:
    for _ in range(steps):
        env.step(move())


def test_a_new_environment_is_held_until_an_operator_arms_it(arm_env: RosArmEnv, bridge: FakeBridge) -> None:
    arm_env.reset(seed=0)
    with pytest.raises(ArmHeld, match="not armed"):
        arm_env.step(move())
    arm_env.arm()
    arm_env.step(move())
    assert len(moves(bridge)) == 1


def test_a_delta_moves_the_end_effector_by_what_it_says(arm_env: RosArmEnv) -> None:
    before, _ = arm_env.reset(seed=0)
    arm_env.arm()
    for _ in range(10):
        after, *_, info = arm_env.step(move())
    time.sleep(0.1)
    after = arm_env.observe()
    np.testing.assert_allclose(after["state"][:3] - before["state"][:3], [0.05, 0, 0], atol=1e-3)
    np.testing.assert_allclose(after["state"][3:6], before["state"][3:6], atol=5e-3)
    np.testing.assert_array_equal(info["applied_action"], move())
    assert info["sent"]


def test_commands_are_never_closer_than_a_period_even_after_a_slow_decision(
    arm_env: RosArmEnv, bridge: FakeBridge
) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    for index in range(8):
        arm_env.step(move(0.1))
        if index == 3:
            time.sleep(0.08)
    stamps = [m["header"]["stamp"]["sec"] + m["header"]["stamp"]["nanosec"] * 1e-9 for m in moves(bridge)]
    # Stamps are the robot's clock at sending, which a joint state refreshes every 10 ms.
    assert min(np.diff(stamps)) > 0.03


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_holds_the_arm(arm_env: RosArmEnv, bridge: FakeBridge, bad: float) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    action = move()
    action[3] = bad
    with pytest.raises(ArmHeld, match="violation"):
        arm_env.step(action)
    with pytest.raises(ArmHeld, match="violation"):
        arm_env.step(move())
    assert moves(bridge) == []


def test_a_command_outside_the_workspace_is_not_sent(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot
) -> None:
    tight = changed(patient_panda, workspace={"upper": [0.47, 0.5, 0.9]})
    env = RosArmEnv(tight, bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        with pytest.raises(ArmHeld, match="workspace"):
            drive(env, 10)
        assert 1 <= len(moves(bridge)) <= 3
        assert env.kinematics.position(fake_arm.position)[0] <= 0.4701
    finally:
        env.close()


def test_the_first_command_is_compared_with_the_measured_arm(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot
) -> None:
    absolute = changed(patient_panda, actions={"mode": "joint_position"})
    env = RosArmEnv(absolute, bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        with pytest.raises(ArmHeld, match=r"velocity: .*raise joints\.velocity there\. An operator"):
            env.step(np.array([*fake_arm.position + 0.3, -1], np.float32))
        assert moves(bridge) == []
        env.arm()
        env.step(np.array([*fake_arm.position + 0.005, -1], np.float32))
        assert len(moves(bridge)) == 1
    finally:
        env.close()


def test_nothing_resumes_by_itself_after_the_bridge_was_lost(arm_env: RosArmEnv, bridge: FakeBridge, until) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    arm_env.step(move())
    bridge.drop()
    until(lambda: arm_env.hold, "held")
    assert arm_env.hold is not None
    assert arm_env.hold.kind == "bridge"
    until(lambda: arm_env.link.client.connected and arm_env.link.estop.connected, "connected again")
    sent = len(moves(bridge))
    with pytest.raises(ArmHeld, match="bridge"):
        arm_env.step(move())
    time.sleep(0.2)
    assert len(moves(bridge)) == sent
    arm_env.arm()
    arm_env.step(move())
    assert len(moves(bridge)) == sent + 1


@pytest.mark.slow
def test_a_connected_but_silent_server_is_not_alive(arm_env: RosArmEnv, bridge: FakeBridge, until) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    bridge.silent = True
    until(lambda: arm_env.hold, "held")
    assert arm_env.hold is not None
    assert arm_env.hold.kind in ("data", "bridge")
    with pytest.raises(WorldError, match="cannot be armed"):
        arm_env.arm()
    assert arm_env.hold is not None


def test_a_hold_in_the_middle_of_a_chunk_ends_the_chunk(arm_env: RosArmEnv, bridge: FakeBridge) -> None:
    env = MultiStep(arm_env)
    env.reset(seed=0)
    arm_env.arm()
    operator = threading.Timer(0.2, arm_env.hold_now)
    operator.start()
    with pytest.raises(ArmHeld, match="operator"):
        env.step(np.stack([move(0.2)] * 100))
    operator.join()
    sent = len(moves(bridge))
    assert 1 <= sent < 100
    arm_env.arm()
    env.step(np.stack([move(0.2)]))
    assert len(moves(bridge)) == sent + 1, "the rest of the old chunk was not sent"


def test_a_slow_policy_is_held_and_its_late_action_is_not_sent(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot, until
) -> None:
    env = RosArmEnv(changed(patient_panda, timing={"decision_timeout_s": 0.3}), bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        env.step(move())
        until(lambda: env.hold, "held")
        with pytest.raises(ArmHeld, match="late"):
            env.step(move())
        assert len(moves(bridge)) == 1
    finally:
        env.close()


def test_somebody_elses_command_holds_the_arm(arm_env: RosArmEnv, bridge: FakeBridge, until) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    arm_env.step(move(0.1))
    assert arm_env.hold is None
    bridge.publish(COMMANDS, {"header": {"stamp": {"sec": 1, "nanosec": 2}}, "joint_names": [], "points": []})
    until(lambda: arm_env.hold, "held")
    assert arm_env.hold is not None
    assert arm_env.hold.kind == "other publisher"


def test_an_arm_that_does_not_follow_is_held(arm_env: RosArmEnv, bridge: FakeBridge, fake_arm: FakeArm) -> None:
    fake_arm.stopped = True
    arm_env.reset(seed=0)
    arm_env.arm()
    # After a tick that a starved machine missed, the command is compared with the arm that did not follow.
    with pytest.raises(ArmHeld, match=r"(tracking|velocity).*raise joints\.\1 there\. An operator"):
        drive(arm_env, 60)


def test_the_emergency_stop_uses_its_own_connection_and_holds(
    arm_env: RosArmEnv, bridge: FakeBridge, fake_arm: FakeArm
) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    assert arm_env.link.estop._client is not arm_env.link.client
    assert arm_env.emergency_stop() is True
    assert fake_arm.stopped
    with pytest.raises(ArmHeld, match="e-stop"):
        arm_env.step(move())


@pytest.mark.slow
def test_an_emergency_stop_that_is_not_confirmed_says_so(arm_env: RosArmEnv, bridge: FakeBridge) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()

    def refuse(_: dict) -> dict:
        raise ValueError("no")

    bridge.services["/estop"] = refuse
    with pytest.raises(WorldError, match="hardware button"):
        arm_env.emergency_stop()
    assert arm_env.hold is not None
    assert "NOT confirmed" in arm_env.hold.reason or "refused" in arm_env.hold.reason
    with pytest.raises(WorldError, match=r"cannot be armed: .*hardware button.*press the e-stop here again"):
        arm_env.arm()
    assert arm_env.hold is not None
    bridge.services["/estop"] = lambda _: {"success": True}
    assert arm_env.emergency_stop() is True
    arm_env.arm()
    assert arm_env.hold is None


def test_a_program_that_slept_sends_nothing_when_it_wakes(
    arm_env: RosArmEnv, bridge: FakeBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its watchdog slept too, and may wake after it.
    monkeypatch.setattr(arm_env, "_problem", lambda now: None)
    arm_env.reset(seed=0)
    arm_env.arm()
    arm_env.step(move())
    sent = len(bridge.published("/joint_trajectory_controller/joint_trajectory"))
    arm_env._deciding_since = time.monotonic() - 2 * arm_env.robot.timing.decision_timeout_s
    with pytest.raises(ArmHeld, match="late"):
        arm_env.step(move())
    later = bridge.published("/joint_trajectory_controller/joint_trajectory")[sent:]
    assert all(not message["points"] for message in later), "nothing but the hold was sent"


def test_a_command_that_cannot_be_sent_is_a_hold(arm_env: RosArmEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()

    def broken(*_: object, **__: object) -> None:
        raise WorldError("not connected")

    monkeypatch.setattr(arm_env.link, "send", broken)
    with pytest.raises(ArmHeld, match=r"bridge.*not connected"):
        arm_env.step(move())


def test_shadow_mode_runs_everything_and_publishes_nothing(
    bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot
) -> None:
    env = RosArmEnv(patient_panda, bridge.url, shadow=True)
    try:
        env.reset(seed=0)
        env.arm()
        for _ in range(5):
            *_, info = env.step(move())
        assert not info["sent"]
        np.testing.assert_array_equal(info["applied_action"], move())
        with pytest.raises(ArmHeld, match="violation"):
            env.step(np.full(7, np.nan, np.float32))
    finally:
        env.close()
    assert bridge.received == []
    assert not [operation for operation in bridge.opened if operation["op"] in ("advertise", "call_service")]


def test_the_operator_can_hold_and_the_controller_is_told(arm_env: RosArmEnv, bridge: FakeBridge, until) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    arm_env.step(move())
    arm_env.hold_now()
    until(lambda: [m for m in bridge.published(COMMANDS) if m["points"] == []], "an empty trajectory")
    with pytest.raises(ArmHeld, match="operator"):
        arm_env.step(move())


def test_it_is_an_ordinary_environment(arm_env: RosArmEnv) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    observation, info = arm_env.reset(seed=1, options={"task": "pick up the block"})
    check_observation(observation)
    assert observation["task"] == "pick up the block"
    assert info["is_success"] is False
    assert sum(dim.size for dim in arm_env.conventions.action) == arm_env.action_space.shape[0]
    assert sum(dim.size for dim in arm_env.conventions.state) == observation["state"].shape[0]
    assert arm_env.conventions.control_hz == 20


def test_it_passes_gymnasiums_own_check(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> None:
    gentle = changed(patient_panda, actions={"translation": 1e-4, "rotation": 1e-4})
    env = gym.make("thinktwice/RosArm-v0", robot=gentle, bridge=bridge.url)
    try:
        env.reset(seed=0)
        env.unwrapped.arm()
        with warnings.catch_warnings():
            # An arm's state has no bounds that hold for every robot.
            warnings.simplefilter("ignore", UserWarning)
            check_env(env.unwrapped, skip_render_check=True)
    finally:
        env.close()


def test_success_and_the_step_cap(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> None:
    env = RosArmEnv(patient_panda, bridge.url, max_steps=2)
    try:
        env.reset(seed=0)
        env.arm()
        assert env.step(move(0.1))[3] is False
        _, reward, terminated, truncated, info = env.step(move(0.1))
        assert (reward, terminated, truncated, info["is_success"]) == (0.0, False, True, False)
        env.reset(seed=0)
        env.mark_success()
        _, reward, terminated, truncated, info = env.step(move(0.1))
        assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
    finally:
        env.close()


def test_the_hold_action_moves_nothing(arm_env: RosArmEnv, fake_arm: FakeArm) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    before = fake_arm.position.copy()
    for _ in range(5):
        arm_env.step(arm_env.hold_action())
    np.testing.assert_allclose(fake_arm.position, before, atol=1e-6)


def test_joint_deltas_add_up(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> None:
    env = RosArmEnv(changed(patient_panda, actions={"mode": "joint_delta"}), bridge.url)
    try:
        env.reset(seed=0)
        env.arm()
        before = fake_arm.position.copy()
        for _ in range(4):
            env.step(np.array([0, 0, 0, 0, 0, 0, 5.0, -1], np.float32))
        time.sleep(0.1)
        np.testing.assert_allclose(fake_arm.position - before, [0, 0, 0, 0, 0, 0, 0.06], atol=1e-6)
    finally:
        env.close()


def test_a_mode_without_a_sensible_cap_is_refused(patient_panda: Robot) -> None:
    with pytest.raises(ConfigError, match="max_steps"):
        RosArmEnv(patient_panda, "ws://127.0.0.1:1", max_steps=0)


def test_step_before_reset_is_refused(patient_panda: Robot) -> None:
    env = RosArmEnv(patient_panda, "ws://127.0.0.1:1")
    with pytest.raises(ContractError, match="before reset"):
        env.step(move())


def test_arming_twice_changes_nothing_and_a_failing_watchdog_holds(arm_env: RosArmEnv, monkeypatch, until) -> None:
    arm_env.reset(seed=0)
    arm_env.arm()
    arm_env.step(move())
    arm_env.arm()
    arm_env.step(move())

    def fail(_: float) -> None:
        raise ZeroDivisionError("a mistake in a check")

    monkeypatch.setattr(arm_env, "_problem", fail)
    until(lambda: arm_env.hold, "held")
    assert arm_env.hold is not None
    assert "watchdog failed" in arm_env.hold.reason


def test_a_second_simulated_arm_on_the_same_port_is_refused_before_anything_starts() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(WorldError, match=r"listens on port \d+ already.*--port"):
            run_simulated_arm(port=other.getsockname()[1], domain=3, camera_hz=0)
