"""What every critic must do, as one function that a test calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..envs import Chunk, Observation
from ..errors import ContractError, require
from .contract import Critic, CriticContext

TOLERANCE = 1e-5
"""How far a preference and its mirror may be from adding to one."""


def check_critic(critic: Critic, observation: Observation, candidates: Sequence[Chunk], context: CriticContext) -> None:
    """Raise `ContractError` unless preferences are probabilities, antisymmetric, and independent of the batch.

    Args:
        critic: the critic.
        observation: one that it can judge in.
        candidates: at least two chunks of that world.
        context: what the critic may know besides.
    """
    pairs = [(a, b) for a in candidates for b in candidates]
    prefer = critic.prefer(observation, pairs, context)
    good = prefer.shape == (len(pairs),) and prefer.dtype == np.float32
    require(good, f"prefer must give float32[{len(pairs)}], got {prefer.dtype}{list(prefer.shape)}")
    inside = bool(np.isfinite(prefer).all() and (prefer >= 0).all() and (prefer <= 1).all())
    require(inside, "preferences must be finite and in [0, 1]")
    table = prefer.reshape(len(candidates), len(candidates))
    worst = float(np.abs(table + table.T - 1).max())
    require(worst <= TOLERANCE, f"swapping a pair must give one minus the preference; off by {worst:.2g}")
    alone = np.concatenate([critic.prefer(observation, [pair], context) for pair in pairs])
    worst = float(np.abs(alone - prefer).max())
    require(worst <= TOLERANCE, f"a pair's preference must not depend on the others in the batch; off by {worst:.2g}")
    require(critic.prefer(observation, [], context).shape == (0,), "no pairs must give float32[0]")
    broken = np.full_like(np.asarray(candidates[0], np.float32), np.nan)
    try:
        critic.prefer(observation, [(broken, candidates[0])], context)
    except ContractError:
        return
    raise ContractError("a critic must raise ContractError for a chunk that is not finite.")
