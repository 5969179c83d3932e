"""The privileged expert as a policy: it reads the simulator, not the observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ...cost import Cost
from ...envs import Observation
from ...envs.libero.env import LiberoEnv
from ...errors import UsageError
from ..experts import LiberoExpert
from ..policy import Proposal
from .simple import check_count, check_no_argument


class ExpertPolicy:
    """Proposes the expert's action at the simulator's present state, one per decision.

    Among several right ways it takes the one that the *episode's* seed picks, so that it keeps to one way through an
    episode; the seed of a decision changes nothing, and all candidates are equal.

    Args:
        env: the environment whose simulator it reads.
    """

    name = "expert"
    conventions = None

    def __init__(self, env: LiberoEnv) -> None:
        self._env = env
        self._expert: LiberoExpert | None = None

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``float32[n, 1, 7]``; ``notes["phase"]`` says what the expert is doing.

        Raises:
            ContractError: ``n`` is less than 1, or the environment was never reset.
        """
        del observation, seed
        check_count(n)
        advice = self._current().advise(self._env.data, seed=self._env.save_state().seed)
        chunks = np.repeat(advice.action[None, None], n, axis=0)
        return Proposal(chunks=chunks, cost=Cost(candidates=n), notes={"phase": advice.phase})

    def describe(self) -> dict[str, Any]:
        """Kind."""
        return {"policy": "expert", "privileged": True}

    def _current(self) -> LiberoExpert:
        model = self._env.model
        if self._expert is None or self._expert.scene.model is not model or self._expert.problem != self._env.problem:
            self._expert = LiberoExpert(model, self._env.problem)
        return self._expert


def build_expert(argument: str, env: gym.Env[Any, Any]) -> ExpertPolicy:
    """``--policy expert``.

    Raises:
        UsageError: an argument was given, or the world has no expert.
    """
    check_no_argument("expert", argument)
    world = env.unwrapped
    if not isinstance(world, LiberoEnv):
        raise UsageError(f"there is an expert for LIBERO only, not for {world}. Choose another --policy.")
    return ExpertPolicy(world)
