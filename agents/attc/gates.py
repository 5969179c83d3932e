"""Gates: when to deliberate."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ...critics import Critic
from ...envs import Observation
from ...errors import ConfigError, require
from ..policy import Proposal
from .judging import preferences
from .measures import COMMITTED, Measure, check_candidates

CRITIC = "critic"
"""The gate that asks the critic instead of measuring distances."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThresholdGate:
    """Opens where a measure of doubt is above a threshold.

    Attributes:
        measure: the doubt.
        threshold: in the measure's unit; infinity measures and never opens, which is what calibration looks at.
    """

    measure: Measure
    threshold: float
    comparisons: int = 0

    def __post_init__(self) -> None:
        """Check the threshold.

        Raises:
            ConfigError: it is not a number.
        """
        _check_threshold(self.threshold)

    @property
    def candidates_needed(self) -> int:
        """What the measure reads."""
        return self.measure.candidates_needed

    @property
    def evaluations(self) -> int:
        """Evaluations of the action head for one doubt."""
        return self.measure.evaluations

    def doubt(self, observation: Observation, proposal: Proposal) -> float:
        """The measure's doubt.

        Raises:
            ContractError: there are too few candidates, one is not finite, or the doubt is not.
        """
        del observation
        check_candidates(proposal, self.candidates_needed)
        doubt = self.measure(proposal)
        require(math.isfinite(doubt), f"the gate's doubt must be finite, got {doubt}")
        return doubt

    def opens(self, doubt: float) -> bool:
        """Whether the doubt is above the threshold."""
        return doubt > self.threshold


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticGate:
    """Opens where the critic prefers another of the first candidates to the reflex.

    Candidates that are far apart may all be right, and a wrong one may stand alone: distance is no sign of what
    choosing would gain.  A critic's glance at few candidates is, for the price of one small batch of comparisons.

    Attributes:
        critic: judges.
        threshold: of the greatest probability that one of the others is better than the reflex; infinity measures and
            never opens.
        candidates_needed: how many candidates it looks at, the reflex among them.
    """

    critic: Critic
    threshold: float
    candidates_needed: int = 2
    evaluations: int = 0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigError: the threshold is not a number, or there is nothing to compare.
        """
        _check_threshold(self.threshold)
        if self.candidates_needed < 2:
            raise ConfigError(f"a gate compares at least 2 candidates, got {self.candidates_needed}.")

    @property
    def comparisons(self) -> int:
        """Pairs that the critic scores for one doubt: the reflex with each of the others."""
        return self.candidates_needed - 1

    def doubt(self, observation: Observation, proposal: Proposal) -> float:
        """The greatest probability that another of the candidates is better than the reflex, from 0 to 1.

        Raises:
            ContractError: there are too few candidates, or the critic's answer is none.
        """
        check_candidates(proposal, self.candidates_needed)
        seen = dataclasses.replace(proposal, chunks=proposal.chunks[: self.candidates_needed])
        others = [(place, 0) for place in range(1, self.candidates_needed)]
        committed = proposal.notes.get(COMMITTED)
        return float(preferences(self.critic, observation, seen, committed=committed, pairs=others).max())

    def opens(self, doubt: float) -> bool:
        """Whether the doubt is above the threshold."""
        return doubt > self.threshold


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixedGate:
    """Deliberates always, or never, and looks at nothing: both ends of what a gate can do.

    Attributes:
        always: which of the two.
        candidates_needed: how many candidates to propose at once: all of them where it always deliberates.
    """

    always: bool
    candidates_needed: int = 1
    evaluations: int = 0
    comparisons: int = 0

    def doubt(self, observation: Observation, proposal: Proposal) -> float:
        """Always 0: it does not look.

        Raises:
            ContractError: there are too few candidates.
        """
        del observation
        check_candidates(proposal, self.candidates_needed)
        return 0.0

    def opens(self, doubt: float) -> bool:
        """The same, whatever the doubt."""
        del doubt
        return self.always


type AttcGate = ThresholdGate | CriticGate | FixedGate


def describe_gate(gate: AttcGate, settings: dict[str, Any]) -> dict[str, Any]:
    """Plain data for a run's record; an infinite threshold is None."""
    if isinstance(gate, FixedGate):
        return {"name": "always" if gate.always else "never"}
    return {**settings, "threshold": gate.threshold if math.isfinite(gate.threshold) else None}


def _check_threshold(threshold: float) -> None:
    if math.isnan(threshold):
        raise ConfigError("a gate's threshold must be a number, got nan.")
