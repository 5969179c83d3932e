"""Privileged scripted experts: functions of the simulator's state, with no memory."""

from __future__ import annotations

from .chunk import expert_chunk
from .expert import Advice, LiberoExpert

__all__ = ["Advice", "LiberoExpert", "expert_chunk"]
