"""LESA: look around by reflex, remember in layers, and ask the large model only when it pays."""

from __future__ import annotations
