"""The generator of ALFWorld games."""

from __future__ import annotations

from .generate import GeneratedGames, generate_game, write_games
from .tasks import Difficulty

__all__ = ["Difficulty", "GeneratedGames", "generate_game", "write_games"]
