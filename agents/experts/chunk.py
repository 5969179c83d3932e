"""The expert's future: what it would do from here, played in the simulator and taken back."""

from __future__ import annotations

import numpy as np

from ...envs import Array
from ...envs.libero.env import LiberoEnv
from ...errors import UsageError
from .expert import LiberoExpert


def expert_chunk(env: LiberoEnv, length: int, *, expert: LiberoExpert | None = None, seed: int | None = None) -> Array:
    """The expert's next actions from the present state, without noise: labels for DAgger and for critics.

    The world is stepped ahead and restored, so that what follows is as if nobody had looked.  After success the
    expert goes on (it lets go and retreats).

    Args:
        env: a LIBERO environment within an episode.
        length: how many actions.
        expert: an expert for the present model, to reuse what it has computed; built when None.
        seed: picks among the right ways; the episode's own when None.

    Returns:
        ``float32[length, 7]``.

    Raises:
        UsageError: ``length`` is less than 1.
    """
    if length < 1:
        raise UsageError(f"an expert's chunk has at least 1 action, got length={length}.")
    if expert is None:
        expert = LiberoExpert(env.model, env.problem)
    before = env.save_state()
    chosen = before.seed if seed is None else seed
    actions: list[Array] = []
    try:
        for _ in range(length):
            action = expert.advise(env.data, seed=chosen).action
            actions.append(action)
            env.step_blind(action)
    finally:
        env.restore_state(before)
    return np.stack(actions)
