"""Perception: finding, segmenting and describing what cameras show."""

from __future__ import annotations

from .contract import Detection, Perception

__all__ = ["Detection", "Perception"]
