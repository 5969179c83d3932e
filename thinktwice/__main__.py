"""``python -m thinktwice`` is the ``thinktwice`` command."""

from __future__ import annotations

from .scripts.cli import main

main()
