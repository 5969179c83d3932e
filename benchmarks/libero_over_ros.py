"""A LIBERO task solved by the scripted expert over ROS: real ROS 2 node, real bridge, the agent of the simulation.

Run: ``python -m benchmarks libero_over_ros``.  The scene stands in a process of its own behind a rosbridge server; the
agent is `ReflexAgent` with the expert of ``--policy expert``, which reads the scene from ``/sim/state``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import time
from typing import Any

import tyro

from thinktwice.agents import ReflexAgent
from thinktwice.agents.policies.ros_expert import build_ros_expert
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.ros import BridgeServer, RosArmEnv, SimProcess
from thinktwice.errors import WorldError
from thinktwice.rollouts.episode import rollout


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the benchmark."""

    task: str = "libero_object/0"
    """LIBERO's task."""
    episodes: int = 10
    """Stored initial states 0, 1, 2, …"""
    domain: int = 62
    """ROS_DOMAIN_ID."""
    max_steps: int = 2500
    """Commands per episode; a machine that cannot step the scene at 20 Hz leaves some without effect."""


def arm(env: RosArmEnv) -> None:
    """Arm, waiting for the data that arming needs."""
    deadline = time.monotonic() + 60
    while env.hold is not None and time.monotonic() < deadline:
        with contextlib.suppress(WorldError):
            env.arm()
        time.sleep(0.1)


def episode(env: RosArmEnv, agent: ReflexAgent, task: str, index: int) -> dict[str, Any]:
    """Play one stored initial state."""
    env.link.client.publish("/sim/episode", {"data": json.dumps({"init_state": index, "seed": index})})
    time.sleep(0.5)
    arm(env)
    name = EpisodeId(world="thinktwice/RosArm-v0", task=task, init_state=index, seed=index)
    began, commands, success, error = time.monotonic(), 0, False, ""
    try:
        for step in rollout(MultiStep(env), agent, name):
            commands, success = commands + len(step.executed), step.success
    except WorldError as failure:
        error = str(failure)
    return {
        "init_state": index,
        "success": success,
        "commands": commands,
        "seconds": round(time.monotonic() - began, 1),
        "error": error,
    }


def main(options: Options = Options()) -> None:
    """Play every episode and print one JSON object."""
    with SimProcess(domain=options.domain, libero=options.task), BridgeServer(domain=options.domain) as server:
        env = RosArmEnv("libero_sim", server.url, timeout=120, max_steps=options.max_steps)
        env.reset(seed=0)
        agent = ReflexAgent(build_ros_expert(options.task, env))
        env.link.client.advertise("/sim/episode", "std_msgs/msg/String")
        time.sleep(1.0)
        played = [episode(env, agent, options.task, index) for index in range(options.episodes)]
        env.close()
    solved = sum(one["success"] for one in played)
    sys.stdout.write(json.dumps({"task": options.task, "solved": solved, "of": len(played), "episodes": played}) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options, prog="python -m benchmarks.libero_over_ros"))
