"""Rollouts: running episodes, recording them so that nothing is lost, and judging them."""

from __future__ import annotations

from .episode import Step, rollout

__all__ = ["Step", "rollout"]
