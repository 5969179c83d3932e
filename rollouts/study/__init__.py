"""Studies: several ways to act on the same episodes, and what they say about each other."""

from __future__ import annotations

from .config import Arm, StudyConfig
from .play import play_study
from .summary import write_study

__all__ = ["Arm", "StudyConfig", "play_study", "write_study"]
