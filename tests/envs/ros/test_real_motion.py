"""A commanded motion on the simulated arm, over real ROS 2 and a real rosbridge server."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

from thinktwice.envs import MultiStep, check_observation
from thinktwice.envs.ros import ArmHeld, Robot, RosArmEnv, parse_robot
from thinktwice.errors import WorldError

pytestmark = pytest.mark.sim


def in_mode(robot: Robot, mode: str) -> Robot:
    data = robot.model_dump(mode="json")
    data["actions"]["mode"] = mode
    return parse_robot(data)


def perform(env: RosArmEnv, actions: np.ndarray) -> np.ndarray:
    """Execute actions, arming again when a loaded machine starved the watchdog; returns the last joint target."""
    done, target = 0, np.zeros(7)
    deadline = time.monotonic() + 60
    while done < len(actions):
        assert time.monotonic() < deadline, env.hold
        assert env.hold is None or env.hold.kind in ("data", "not armed"), env.hold
        with contextlib.suppress(WorldError):
            if env.hold is not None:
                env.arm()
            *_, info = env.step(actions[done])
            target, done = info["target"], done + 1
    return target


@pytest.mark.parametrize("mode", ["joint_position", "joint_delta", "cartesian_delta"])
def test_a_commanded_motion_is_reached_and_the_estop_stops_it(peers, seeing_panda, until, mode: str) -> None:
    env = RosArmEnv(in_mode(seeing_panda, mode), peers.server.url, task="move", timeout=60)
    try:
        env.reset(seed=0)
        env.arm()
        observation, _ = env.reset(seed=0)
        check_observation(observation)
        assert observation["images.front"].shape == (128, 128, 3)
        assert observation["images.front"].std() > 5, "an image of something"
        start = env.link.reading().value.position[:7]
        if mode == "joint_position":
            ramp = np.linspace(0, 1, 21)[1:, None] * np.array([0.2, 0.1, -0.1, 0.1, 0.1, -0.1, 0.2])
            actions = np.concatenate([start + ramp, -np.ones((20, 1))], 1)
        elif mode == "joint_delta":
            actions = np.tile([0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 1.0, -1.0], (20, 1))
        else:
            actions = np.tile([0.5, 0.5, 0.5, 0.0, 0.0, 0.5, -1.0], (20, 1))
        target = perform(env, actions.astype(np.float32))

        def error() -> float:
            return float(np.abs(env.link.reading().value.position[:7] - target).max())

        until(lambda: error() < 0.02, "the joints are within 0.02 rad of the command", 10)
        assert np.abs(target - start).max() > 0.05, "it moved at all"
        assert env.emergency_stop() is True
        began = time.time()
        with pytest.raises(ArmHeld, match="e-stop"):
            env.step(actions[0].astype(np.float32))
        time.sleep(1.0)
        assert peers.journal.travel(began + 0.3, time.time()) < 0.01
        assert peers.journal.accepted(began) == []
    finally:
        env.close()


def test_a_chunk_moves_the_arm_and_reports_every_command(peers, real_panda) -> None:
    env = RosArmEnv(real_panda, peers.server.url, timeout=60)
    try:
        env.reset(seed=0)
        env.arm()
        wrapped = MultiStep(env)
        for _ in range(5):
            try:
                before, _ = wrapped.reset(seed=0)
                chunk = np.tile(np.array([0.5, 0, 0, 0, 0, 0, -1], np.float32), (8, 1))
                after, _, terminated, _, info = wrapped.step(chunk)
                break
            except ArmHeld:
                env.arm()
        else:
            pytest.fail(f"never ran undisturbed: {env.hold}")
        assert len(info["steps"]) == 8
        assert all(step["info"]["sent"] for step in info["steps"])
        assert not terminated
        assert after["state"][0] > before["state"][0]
    finally:
        env.close()
