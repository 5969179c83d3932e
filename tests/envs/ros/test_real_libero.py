"""A LIBERO scene behind real ROS 2, solved by the agent of the simulation."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

from thinktwice.agents import ReflexAgent
from thinktwice.agents.policies.ros_expert import build_ros_expert
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.ros import BridgeServer, RosArmEnv, SimProcess
from thinktwice.errors import UsageError, WorldError
from thinktwice.rollouts.episode import rollout

TASK = "libero_object/0"


@pytest.mark.sim
@pytest.mark.slow
def test_the_expert_solves_a_libero_task_over_ros() -> None:
    pytest.importorskip("rclpy", reason="needs the extra: pip install -c constraints.txt -e '.[ros]'")
    domain = 90 + os.getpid() % 10
    with SimProcess(domain=domain, libero=TASK) as node, BridgeServer(domain=domain) as server:
        env = RosArmEnv("libero_sim", server.url, timeout=240, max_steps=2500)
        try:
            env.reset(seed=0)
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
        finally:
            env.close()


@pytest.mark.parametrize("argument", ["", TASK])
def test_the_ros_expert_needs_an_arm_and_a_task(argument: str, request: pytest.FixtureRequest) -> None:
    env = RosArmEnv("panda_sim", "ws://127.0.0.1:1") if not argument else MultiStep(request.getfixturevalue("no_arm"))
    with pytest.raises(UsageError, match="needs a LIBERO scene"):
        build_ros_expert(argument, env)


@pytest.fixture
def no_arm():
    from gymnasium.envs.classic_control import CartPoleEnv

    return CartPoleEnv()
