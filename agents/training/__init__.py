"""Training policies from demonstrations."""

from __future__ import annotations
