"""LIBERO's privileged expert over ROS: it reads the scene from ``/sim/state`` into a simulator of its own."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs import Array, Observation
from ...envs.libero.env import LiberoEnv
from ...envs.libero.install import import_mujoco
from ...envs.ros import RosArmEnv
from ...errors import UsageError, WorldError
from ..policy import Proposal
from .expert import ExpertPolicy

_WAIT_SECONDS = 20.0


class RosExpertPolicy:
    """Puts its own simulator where the scene behind the bridge is, and asks `ExpertPolicy`.

    Args:
        arm: the arm, whose server also carries ``/sim/state``; it exists for simulated scenes alone.
        task: LIBERO's task that stands behind the bridge.
    """

    name = "ros-expert"
    conventions = None

    def __init__(self, arm: RosArmEnv, task: str) -> None:
        self._mirror = LiberoEnv(task, cameras=())
        self._expert = ExpertPolicy(self._mirror)
        self._episode: tuple[int, int] | None = None
        self._newest: Array | None = None
        self._arrived = threading.Condition()
        arm.link.client.subscribe("/sim/state", "std_msgs/msg/Float64MultiArray", self._take)

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """As `ExpertPolicy.propose`, at the scene's newest state.

        Raises:
            ContractError: ``n`` is less than 1.
            WorldError: no state arrives.
        """
        self._follow()
        return self._expert.propose(observation, n, seed=seed)

    def describe(self) -> dict[str, Any]:
        """Kind."""
        return {"policy": self.name, "privileged": True}

    def _take(self, message: Any) -> None:
        with self._arrived:
            self._newest = np.array(message["data"], np.float64)
            self._arrived.notify_all()

    def _follow(self) -> None:
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._newest is not None, _WAIT_SECONDS):
                raise WorldError("nothing arrives on /sim/state: is a LIBERO scene behind this bridge?")
            newest = self._newest
        if newest is None:
            raise WorldError("nothing arrives on /sim/state.")
        episode = int(newest[0]), int(newest[1])
        if episode != self._episode:
            # A reset puts fixtures where this episode has them, which the state alone does not say.
            self._mirror.reset(seed=episode[1], options={"init_state": episode[0]})
            self._episode = episode
        mujoco = import_mujoco()
        mujoco.mj_setState(self._mirror.model, self._mirror.data, newest[2:], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(self._mirror.model, self._mirror.data)


def build_ros_expert(argument: str, env: gym.Env[Any, Any]) -> RosExpertPolicy:
    """``--policy ros-expert:libero_object/0``.

    Raises:
        UsageError: no task was given, or the world is no arm over ROS.
    """
    arm = env.unwrapped
    if not isinstance(arm, RosArmEnv) or not argument:
        raise UsageError("ros-expert needs a LIBERO scene over ROS and its task: --policy ros-expert:libero_object/0")
    return RosExpertPolicy(arm, argument)
