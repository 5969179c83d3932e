"""A LIBERO task solved over ROS: real ROS 2 node, real bridge, the agent of the simulation.

Run: ``python -m benchmarks.libero_over_ros [--policy bundled --states 10-19]``.  The scene stands in a process of its
own behind a rosbridge server; the agent is `ReflexAgent` with the scripted expert, which reads the scene from
``/sim/state``, or with the bundled policy, which sees the cameras' pictures and the arm's joints alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import time
from typing import Any, Literal

import tyro

from thinktwice.agents import ReflexAgent
from thinktwice.agents.catalog import build_policy
from thinktwice.agents.policies.ros_expert import build_ros_expert
from thinktwice.envs import EpisodeId, MultiStep, check_compatible
from thinktwice.envs.libero.suites import find_task
from thinktwice.envs.ros import BridgeServer, RosArmEnv, SimProcess
from thinktwice.envs.ros.robot import load_robot
from thinktwice.errors import WorldError
from thinktwice.rollouts.episode import rollout
from thinktwice.rollouts.statistics import wilson


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the benchmark."""

    task: str = "libero_object/0"
    """LIBERO's task."""
    policy: Literal["expert", "bundled"] = "expert"
    """Who acts."""
    states: str = "0-9"
    """Stored initial states, FIRST-LAST: 0-9 are for tuning, 10-39 for reporting."""
    base_position: tuple[float, float, float] | None = None
    """Where the arm stands in the scene's world, where it is not the robot file's: see its comment."""
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


def build_agent(options: Options, env: RosArmEnv) -> ReflexAgent:
    """The agent of ``thinktwice rollout``."""
    if options.policy == "expert":
        return ReflexAgent(build_ros_expert(options.task, env))
    policy = build_policy("bundled", env)
    check_compatible(env.conventions, policy.conventions, world_name="libero_sim", policy_name=policy.name)
    return ReflexAgent(policy, execute=8)


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
        robot = load_robot("libero_sim")
        if options.base_position is not None:
            model = robot.model.model_copy(update={"base_position": options.base_position})
            robot = robot.model_copy(update={"model": model})
        env = RosArmEnv(robot, server.url, timeout=120, max_steps=options.max_steps)
        env.reset(seed=0)
        agent = build_agent(options, env)
        env.link.client.advertise("/sim/episode", "std_msgs/msg/String")
        time.sleep(1.0)
        instruction = find_task(options.task).language
        first, last = (int(end) for end in options.states.split("-"))
        played = [episode(env, agent, instruction, index) for index in range(first, last + 1)]
        env.close()
    solved = sum(one["success"] for one in played)
    interval = wilson(solved, len(played))
    result = {
        "task": options.task,
        "policy": options.policy,
        "solved": solved,
        "of": len(played),
        "ci95": None if interval is None else [round(interval.low, 3), round(interval.high, 3)],
        "episodes": played,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options, prog="python -m benchmarks.libero_over_ros"))
