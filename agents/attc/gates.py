"""Gates: when to deliberate."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ...envs import Observation
from ...errors import ConfigError, require
from ..policy import Proposal
from .measures import Measure, check_candidates


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThresholdGate:
    """Opens where a measure of doubt is above a threshold.

    Attributes:
        measure: the doubt.
        threshold: in the measure's unit; infinity measures and never opens, which is what calibration looks at.
    """

    measure: Measure
    threshold: float

    def __post_init__(self) -> None:
        """Check the threshold.

        Raises:
            ConfigError: it is not a number.
        """
        if math.isnan(self.threshold):
            raise ConfigError("a gate's threshold must be a number, got nan.")

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
class FixedGate:
    """Deliberates always, or never, and looks at nothing: both ends of what a gate can do.

    Attributes:
        always: which of the two.
        candidates_needed: how many candidates to propose at once: all of them where it always deliberates.
    """

    always: bool
    candidates_needed: int = 1
    evaluations: int = 0

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


type AttcGate = ThresholdGate | FixedGate


def describe_gate(gate: AttcGate, settings: dict[str, Any]) -> dict[str, Any]:
    """Plain data for a run's record; an infinite threshold is None."""
    if isinstance(gate, FixedGate):
        return {"name": "always" if gate.always else "never"}
    return {**settings, "threshold": gate.threshold if math.isfinite(gate.threshold) else None}
