"""VLA-ATTC: adaptive test-time compute for policies that propose chunks of actions."""

from __future__ import annotations

from .agent import AttcAgent
from .build import AttcOptions, build_attc
from .clutch import Clutch, load_clutch, policy_fingerprint
from .distances import ChunkMetric, action_weights
from .gates import CriticGate, FixedGate, ThresholdGate
from .measures import COMMITTED, MEASURES, Measure, MeasureSettings, build_measure
from .selection import Deliberation, Selection, Selector

__all__ = [
    "COMMITTED",
    "MEASURES",
    "AttcAgent",
    "AttcOptions",
    "ChunkMetric",
    "Clutch",
    "CriticGate",
    "Deliberation",
    "FixedGate",
    "Measure",
    "MeasureSettings",
    "Selection",
    "Selector",
    "ThresholdGate",
    "action_weights",
    "build_attc",
    "build_measure",
    "load_clutch",
    "policy_fingerprint",
]
