"""A LIBERO scene behind real ROS 2, solved by the agent of the simulation."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

from thinktwice.agents import ReflexAgent
from thinktwice.agents.policies.ros_expert import build_ros_expert
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.ros import BridgeServer, RosArmEnv, SimProcess
from thinktwice.errors import UsageError, WorldError
from thinktwice.rollouts.episode import rollout

TASK = "libero_object/0"


@pytest.fixture(scope="module")
def scene() -> Iterator[tuple[RosArmEnv, SimProcess]]:
    pytest.importorskip("rclpy", reason="needs the extra: pip install -c constraints.txt -e '.[ros]'")
    domain = 90 + os.getpid() % 10
    with SimProcess(domain=domain, libero=TASK) as node, BridgeServer(domain=domain) as server:
        env = RosArmEnv("libero_sim", server.url, timeout=240, max_steps=2500)
        try:
            env.reset(seed=0)
            yield env, node
        finally:
            env.close()


@pytest.mark.sim
@pytest.mark.slow
def test_an_agent_sees_what_it_sees_in_the_simulation(scene: tuple[RosArmEnv, SimProcess]) -> None:
    env, _ = scene
    inside = LiberoEnv(TASK, height=96, width=96, rendering="fast")
    wanted, _ = inside.reset(seed=0, options={"init_state": 0})
    assert env.conventions == inside.conventions
    seen = env.observe()
    for name in ("agentview", "wrist"):
        np.testing.assert_array_equal(seen[f"images.{name}"], wanted[f"images.{name}"])
    # Metres and radians; the arm's model over ROS is Franka's, robosuite's differs by half a millimetre.
    np.testing.assert_allclose(seen["state"], wanted["state"], atol=2e-3)
    inside.close()


@pytest.mark.sim
@pytest.mark.slow
def test_the_expert_solves_a_libero_task_over_ros(scene: tuple[RosArmEnv, SimProcess]) -> None:
    env, node = scene
    agent = ReflexAgent(build_ros_expert(TASK, env))
    deadline = time.monotonic() + 60
    while env.hold is not None and time.monotonic() < deadline:
        with contextlib.suppress(WorldError):
            env.arm()
    episode = EpisodeId(world="thinktwice/RosArm-v0", task=TASK, init_state=0, seed=0)
    last = None
    for step in rollout(MultiStep(env), agent, episode):
        last = step
    assert last is not None
    assert last.success
    assert last.terminated
    assert node.process.poll() is None


@pytest.mark.parametrize("argument", ["", TASK])
def test_the_ros_expert_needs_an_arm_and_a_task(argument: str, request: pytest.FixtureRequest) -> None:
    env = RosArmEnv("panda_sim", "ws://127.0.0.1:1") if not argument else MultiStep(request.getfixturevalue("no_arm"))
    with pytest.raises(UsageError, match="needs a LIBERO scene"):
        build_ros_expert(argument, env)


@pytest.fixture
def no_arm():
    from gymnasium.envs.classic_control import CartPoleEnv

    return CartPoleEnv()
