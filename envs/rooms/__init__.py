"""Rooms: procedural multi-room houses to explore, with referring expressions to find things by."""

from __future__ import annotations
