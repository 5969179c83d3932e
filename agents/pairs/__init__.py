"""Preference pairs without annotation, and critics trained on them."""

from __future__ import annotations
