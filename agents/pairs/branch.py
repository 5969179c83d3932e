"""Labels by what happens: from one saved state, execute each candidate, continue alike, and compare the outcomes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...envs import Array, derive_seed
from ...errors import ConfigError
from ..policy import Policy
from .contract import Case, Evidence, LabelOptions, Moment
from .simulation import Simulation

OUTCOMES = "outcomes"
"""The fact: ``float32[N, R, 3]``: success (0 or 1), progress in [0, 1] and the share of the horizon that was used, of
each candidate and repetition."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BranchOptions:
    """Options of the source ``branch``."""

    continuation: str = ""
    """Source branch: who goes on after a candidate: a policy's name, such as expert; the policy itself when empty.
    An expert repairs most chunks, so that hardly any outcome differs."""
    branch_horizon: int = 120
    """Source branch: actions after which a branch is judged, the candidate's own included."""
    repeats: int = 1
    """Source branch: how often each candidate is tried, with other draws of the continuation; means are compared."""


class BranchSource:
    """Tries every candidate out.  All candidates meet the same draws of the continuation.

    Args:
        simulation: the world.
        continuation: goes on after each candidate.
        options: how far and how often.

    Raises:
        ConfigError: a number is less than 1.
    """

    def __init__(self, simulation: Simulation, continuation: Policy, options: BranchOptions) -> None:
        for name in ("branch_horizon", "repeats"):
            if getattr(options, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(options, name)}.")
        self._simulation, self._continuation, self._options = simulation, continuation, options

    def evidence(self, moment: Moment) -> Evidence:
        """The outcomes of every candidate."""
        chunks = np.asarray(moment.proposal.chunks, np.float32)[:, : moment.execute]
        tried = [[self._try(moment, chunk, repeat) for repeat in range(self._options.repeats)] for chunk in chunks]
        return Evidence(facts={OUTCOMES: np.array(tried, np.float32)})

    def describe(self) -> dict[str, Any]:
        """Who continues, how far, how often."""
        return {
            "source": "branch",
            **dataclasses.asdict(self._options),
            "continuation": self._continuation.describe(),
        }

    def _try(self, moment: Moment, chunk: Array, repeat: int) -> tuple[float, float, float]:
        horizon = self._options.branch_horizon
        with self._simulation.taken_back():
            ahead = self._simulation.play(
                self._continuation,
                moment.observation,
                opening=chunk,
                execute=moment.execute,
                horizon=horizon,
                seed=derive_seed(moment.seed, "branch", repeat),
            )
        return float(ahead.success), ahead.progress, len(ahead.actions) / horizon


def judge_by_outcome(case: Case, options: LabelOptions) -> Array:  # noqa: ARG001  a judge takes them
    """Success first, then progress, then few steps; the mean over repetitions.

    A success is worth 1 to 2, the more the earlier it came; a failure less than 1, by its progress.
    """
    success, progress, used = np.moveaxis(case.facts[OUTCOMES], -1, 0)
    utility = np.where(success > 0, 2.0 - used, 0.99 * progress).mean(axis=1)
    further = np.full(len(case.roles) - len(utility), np.nan)
    return np.concatenate([utility, further]).astype(np.float32)
