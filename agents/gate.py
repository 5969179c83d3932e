"""The gate's contract: doubt about a proposal, and whether to deliberate."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..envs import Observation
from .policy import Proposal


@runtime_checkable
class Gate(Protocol):
    """Measures doubt in its own unit and says when it is too much."""

    @property
    def candidates_needed(self) -> int:
        """How many candidates a proposal must hold for `doubt` to be computed (the clutch needs two)."""
        ...

    def doubt(self, observation: Observation, proposal: Proposal) -> float:
        """Doubt about the proposal: finite, larger is more doubtful."""
        ...

    def opens(self, doubt: float) -> bool:
        """Whether this much doubt calls for deliberation."""
        ...
