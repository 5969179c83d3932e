"""What is drawn into a film: the mask that the agent handed over, and its map beside the camera."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..agents.maps import read_map
from ..envs import Array
from .floorplans import Atlas, draw
from .traces import Trace, TracedDecision

MASK = (255, 64, 160)
"""Of a mask over the camera's picture."""
_OPACITY = 0.45


def masked(image: Array, decision: TracedDecision) -> Array:
    """The picture with the mask that the agent handed over at a decision, if there is one of the picture's shape."""
    rle = decision.notes.get("mask")
    if not isinstance(rle, Mapping):
        return image
    from ..envs.rooms.masks import decode

    mask = decode(cast("Mapping[str, Any]", rle))
    if mask.shape != image.shape[:2]:
        return image
    shown = image.copy()
    shown[mask] = (image[mask] * (1 - _OPACITY) + np.array(MASK) * _OPACITY).astype(np.uint8)
    return shown


class MapFilm:
    """The agent's map beside the camera, for agents that record one.

    Args:
        trace: the episode.
    """

    def __init__(self, trace: Trace) -> None:
        maps = [read_map(decision.notes) for decision in trace.decisions]
        known = [index for index, found in enumerate(maps) if found is not None]
        self._atlas = Atlas([found for found in maps if found is not None]) if known else None
        # A decision without a map shows the last one before it.
        self._shown = np.searchsorted(known, np.arange(len(maps)), side="right") - 1
        calls = {decision.index for decision in trace.decisions if "call" in decision.notes}
        self._calls = [place for place, index in enumerate(known) if index in calls]

    def picture(self, decision: int, height: int) -> Array | None:
        """``uint8[height, W, 3]``, or None where nothing was mapped yet."""
        place = int(self._shown[decision])
        if self._atlas is None or place < 0:
            return None
        return draw(self._atlas, place, height=height, calls=self._calls)
