"""A fake perception for tests: it finds patches of a pure colour, by the colour's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..envs import Array, Observation
from ..errors import require
from .contract import Detection

COLOURS: Mapping[str, tuple[int, int, int]] = {"goal": (0, 160, 0), "point": (200, 0, 0)}
"""What the fake world draws, RGB."""


class FakePerception:
    """Finds the fake world's goal and point by their exact colours."""

    name = "fake"

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        """One detection per known query that is in the picture; larger patches are more confident."""
        key = f"images.{camera}"
        require(key in observation, f"the observation has no {key!r}; it has {sorted(observation)}")
        image = observation[key]
        found = [
            Detection(label=query, score=float(mask.mean()), box=_box(mask), mask=mask)
            for query in queries
            if query in COLOURS and (mask := np.all(image == COLOURS[query], axis=-1)).any()
        ]
        return sorted(found, key=lambda detection: -detection.score)


def _box(mask: Array) -> Array:
    rows, columns = np.nonzero(mask)
    return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], np.float32)
