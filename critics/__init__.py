"""Critics: judges of which of two action chunks is better."""

from __future__ import annotations

from .checkpoint import load_critic, open_critic, save_critic
from .contract import Critic, CriticContext
from .learned import Binding, LearnedCritic
from .spec import CriticSpec, Feature

__all__ = [
    "Binding",
    "Critic",
    "CriticContext",
    "CriticSpec",
    "Feature",
    "LearnedCritic",
    "load_critic",
    "open_critic",
    "save_critic",
]
