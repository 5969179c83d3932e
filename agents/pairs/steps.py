"""The paper's labels: a chunk of many Euler steps is better than one of few, and the expert's is better than both.

[VLA-ATTC, as reported] pairs of (10, 3) and (9, 2) steps are mixed.  Measured here and elsewhere, the label is weak: a
chunk of few steps is nearer to the mean of the policy's distribution, and with a multimodal or a small policy that can
be the better one.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from ...envs import Array, derive_seed
from ...errors import ConfigError, UsageError
from ..policy import Policy
from .contract import EXPERT, Case, Evidence, LabelOptions, Moment
from .simulation import Simulation

MANY, FEW = "many", "few"
MIXES = ((10, 3), (9, 2))
"""Euler steps of the better and the worse chunk."""

_UTILITY = {FEW: 0.0, MANY: 1.0, EXPERT: 2.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepsOptions:
    """Options of the source ``steps``."""

    step_samples: int = 2
    """Source steps: chunks of many and of few steps at each decision."""


class StepsSource:
    """Samples with many and with few steps.

    Args:
        policy: whose steps can be chosen: it has a public ``steps``.
        simulation: where an expert's chunk is asked for; None where the caller has one.
        options: how many.

    Raises:
        UsageError: the policy's steps cannot be chosen.
        ConfigError: fewer than one sample.
    """

    def __init__(self, policy: Policy, simulation: Simulation | None, options: StepsOptions) -> None:
        if options.step_samples < 1:
            raise ConfigError(f"step_samples must be at least 1, got {options.step_samples}.")
        self._policies = [tuple(with_steps(policy, count) for count in mix) for mix in MIXES]
        self._simulation = simulation if simulation is not None and simulation.knows_expert else None
        self._options = options

    def evidence(self, moment: Moment) -> Evidence:
        """Chunks of many and few steps, and the expert's where there is one.  The seed picks one of `MIXES`."""
        extra = self.samples(moment)
        if self._simulation is not None:
            length = np.shape(moment.proposal.chunks)[1]
            extra[EXPERT] = self._simulation.expert_modes(length, 1)
        return Evidence(extra=extra)

    def samples(self, moment: Moment) -> dict[str, Array]:
        """The chunks of many and few steps alone."""
        mix = derive_seed(moment.seed, "mix") % len(self._policies)
        count, seen = self._options.step_samples, moment.observation
        return {
            role: np.asarray(policy.propose(seen, count, seed=derive_seed(moment.seed, role)).chunks, np.float32)
            for role, policy in zip((MANY, FEW), self._policies[mix], strict=True)
        }

    def describe(self) -> dict[str, Any]:
        """The mixes and how many samples."""
        return {"source": "steps", "mixes": MIXES, **dataclasses.asdict(self._options)}


def judge_steps(case: Case, options: LabelOptions) -> Array:  # noqa: ARG001  a judge takes them
    """By role alone: the expert, then many steps, then few; the policy's own candidates are not compared."""
    return np.array([_UTILITY.get(role, np.nan) for role in case.roles], np.float32)


def with_steps(policy: Policy, steps: int) -> Policy:
    """The same policy with another number of Euler steps; the weights are shared.

    Raises:
        UsageError: its steps cannot be chosen.
    """
    if not isinstance(getattr(policy, "steps", None), int):
        raise UsageError(
            f"the label source 'steps' needs a policy whose Euler steps can be chosen (a public `steps`), which "
            f"{policy.name} is not. Use --source expert or branch."
        )
    other: Any = copy.copy(policy)
    other.steps = steps
    return other
