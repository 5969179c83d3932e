"""LESA: look around by reflex, remember in layers, and ask the large model only when it pays."""

from __future__ import annotations

from .agent import LesaAgent
from .build import LesaOptions, build_every_frame, build_lesa
from .states import Event, State

__all__ = ["Event", "LesaAgent", "LesaOptions", "State", "build_every_frame", "build_lesa"]
