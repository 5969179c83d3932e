"""A privileged selector: the candidate nearest to what the scripted expert would do.  No agent could know it.

It is the ceiling of what choosing among N candidates can give, as far as the expert's way is the only right one.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.libero.env import LiberoEnv
from ...errors import UsageError
from ..experts import LiberoExpert
from ..experts.chunk import expert_chunk
from .distances import pairwise_distances
from .selection import Deliberation, Selection, choose


class ExpertOracle:
    """Plays the expert ahead in the simulator, takes it back, and chooses what comes nearest.

    Args:
        env: the environment whose simulator it reads.

    Raises:
        UsageError: the world has no expert.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        world = env.unwrapped
        if not isinstance(world, LiberoEnv):
            raise UsageError(
                f"the selector 'oracle' asks LIBERO's expert; {world} has none. Choose another --selector."
            )
        self._env = world
        self._expert: LiberoExpert | None = None

    def __call__(self, deliberation: Deliberation) -> Selection:
        """The candidate with the least mean distance to the expert's actions, over those that are executed."""
        weighed = deliberation.weighed()
        expert = expert_chunk(self._env, weighed.shape[1], expert=self._current())
        (wanted,) = deliberation.metric.weigh(expert[None])
        away = pairwise_distances(np.concatenate([wanted[None], weighed]))[0, 1:]
        index = int(away.argmin())
        why = f"privileged: candidate {index} is nearest to the expert ({away[index]:.3g} away)"
        return choose(deliberation, index, why, notes={"away": away.astype(np.float32)})

    def _current(self) -> LiberoExpert:
        """The expert of the present model; what it has computed of a model holds for the whole task."""
        model, problem = self._env.model, self._env.problem
        if self._expert is None or self._expert.scene.model is not model or self._expert.problem != problem:
            self._expert = LiberoExpert(model, problem)
        return self._expert
