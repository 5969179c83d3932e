"""Critics: judges of which of two action chunks is better."""

from __future__ import annotations

from .contract import Critic, CriticContext

__all__ = ["Critic", "CriticContext"]
