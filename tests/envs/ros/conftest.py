"""Fakes and real peers for the tests of the ROS arm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from thinktwice.envs.ros import FakeArm, FakeBridge, Robot, RosArmEnv, load_robot, parse_robot

# A pose over the table, in the middle of the workspace.
HOME = np.array([0.0, 0.19635, 0.0, -2.61799, 0.0, 2.94159, 0.785398])


@pytest.fixture
def until() -> Callable[..., None]:
    """Waits for a condition; a test fails when it never comes true."""

    def wait(condition: Callable[[], object], what: str, timeout: float = 20.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"never came true: {what}"
            time.sleep(0.005)

    return wait


@pytest.fixture
def patient_panda() -> Robot:
    """The shipped Panda with staleness limits that a loaded two-core machine keeps, and no wait for images."""
    data = load_robot("panda_sim").model_dump(mode="json")
    data["joint_states"]["max_age_ms"] = 1500
    data["cameras"] = {}
    return parse_robot(data)


@pytest.fixture
def bridge() -> Iterator[FakeBridge]:
    with FakeBridge() as running:
        running.services["/reset"] = lambda _: {"success": True}
        yield running


@pytest.fixture
def fake_arm(bridge: FakeBridge, patient_panda: Robot) -> Iterator[FakeArm]:
    with FakeArm(bridge, patient_panda, HOME) as arm:
        yield arm


@pytest.fixture
def arm_env(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> Iterator[RosArmEnv]:
    env = RosArmEnv(patient_panda, bridge.url, task="wave")
    yield env
    env.close()
