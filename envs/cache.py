"""Where files that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of this library: ``$XDG_CACHE_HOME/thinktwice``, by default ``~/.cache/thinktwice``.

    It may not exist yet, and deleting it loses nothing but time.
    """
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "thinktwice"
