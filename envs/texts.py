"""The characters that text observations and text actions may hold."""

from __future__ import annotations

import string

CHARSET = frozenset(string.printable) | {chr(code) for code in range(0xA0, 0x250)} | set("–—‘’“”…")
"""Printable ASCII, Latin letters with accents, and typographic punctuation: what people write in instructions."""
