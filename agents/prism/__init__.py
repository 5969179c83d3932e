"""PRISM: a language model that decides and a vision-language model that perceives, coupled by questions."""

from __future__ import annotations

from .agent import FIXED_QUESTIONS, Ablation, Bounds, PrismAgent
from .contract import Choice, Critique, Memory, Reasoner, Said, Situation, Summary
from .oracle import TextOracle
from .prompted import PromptedReasoner
from .rules import RuleReasoner

__all__ = [
    "FIXED_QUESTIONS",
    "Ablation",
    "Bounds",
    "Choice",
    "Critique",
    "Memory",
    "PrismAgent",
    "PromptedReasoner",
    "Reasoner",
    "RuleReasoner",
    "Said",
    "Situation",
    "Summary",
    "TextOracle",
]
