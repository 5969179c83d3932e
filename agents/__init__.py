"""Agents: policies, gates, and the deliberation that joins them."""

from __future__ import annotations

from .agent import Agent, Decision, Mode
from .gate import Gate
from .policy import Policy, Proposal
from .reflex import ReflexAgent

__all__ = ["Agent", "Decision", "Gate", "Mode", "Policy", "Proposal", "ReflexAgent"]
