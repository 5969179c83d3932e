"""The ways of doing a task among which an episode's seed chooses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...envs import derive_seed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Modes:
    """One choice per question, the same at every step of an episode.

    Attributes:
        seed: the episode's seed.
    """

    seed: int

    def side(self, question: str) -> float:
        """-1 or 1, equally often over seeds and independent between questions."""
        return 1.0 if derive_seed(self.seed, "mode", question) & 1 else -1.0

    def order[T](self, question: str, items: Sequence[T]) -> list[T]:
        """The items in an order that the seed picks; all orders are equally likely."""
        return sorted(items, key=lambda item: derive_seed(self.seed, "mode", question, repr(item)))
