"""Rollouts: running episodes, recording them so that nothing is lost, and judging them."""

from __future__ import annotations

from .comparison import Comparison, compare
from .config import RunConfig
from .episode import Step, rollout
from .records import AttemptRecord, EpisodeRecord, Run, open_run
from .runner import run
from .summary import Group, Latency, Summary
from .traces import Trace, TracedDecision

__all__ = [
    "AttemptRecord",
    "Comparison",
    "EpisodeRecord",
    "Group",
    "Latency",
    "Run",
    "RunConfig",
    "Step",
    "Summary",
    "Trace",
    "TracedDecision",
    "compare",
    "open_run",
    "rollout",
    "run",
]
