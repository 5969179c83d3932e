"""Training critics on preference pairs."""

from __future__ import annotations
