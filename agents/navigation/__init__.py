"""Exploring unknown floors: maps from depth, frontiers, paths, and the agents that use nothing more."""

from __future__ import annotations
