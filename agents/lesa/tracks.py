"""Masks: what is submitted at once, and what is revised backward when the verdict on a candidate changes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...envs import Array
from ...envs.rooms.masks import decode
from .memory import FrameMemory


class MaskPort(Protocol):
    """Where masks go: the world's write-only port, or a collector."""

    def __call__(self, mask: Array, *, frame: int | None = None) -> None:
        """Hand over ``bool[H, W]`` for the present frame, or revise an earlier one's."""
        ...


class MaskTrack:
    """Keeps the submitted masks in agreement with what is believed now.

    Args:
        port: receives masks; None when nobody wants them.
        memory: the frames whose masks can still be revised.
    """

    def __init__(self, port: MaskPort | None, memory: FrameMemory) -> None:
        self._port, self._memory = port, memory
        self._submitted: dict[int, int | None] = {}
        self.revised = 0

    def submit(self, frame: int, landmark: int | None, shape: tuple[int, ...]) -> dict[str, Any] | None:
        """Hand over the present frame's mask of a landmark, or an empty one.

        The frame must be in the memory already.

        Returns:
            What was handed over as COCO RLE, or None for an empty mask.
        """
        rle = self._write(frame, landmark, self._masks(frame), shape)
        kept = {memory.frame for memory in self._memory}
        self._submitted = {f: mark for f, mark in self._submitted.items() if f in kept}
        return rle

    def revise(self, landmark: int | None, shape: tuple[int, ...]) -> int:
        """Make every remembered frame show this landmark's mask, or none.

        Returns:
            How many frames changed.
        """
        changed = 0
        for memory in self._memory:
            wanted = landmark if landmark is not None and landmark in memory.masks else None
            if self._submitted.get(memory.frame) != wanted:
                self._write(memory.frame, wanted, dict(memory.masks), shape)
                changed += 1
        self.revised += changed
        return changed

    def _masks(self, frame: int) -> dict[int, Any]:
        return next((dict(m.masks) for m in reversed(self._memory.ring) if m.frame == frame), {})

    def _write(
        self, frame: int, landmark: int | None, masks: dict[int, Any], shape: tuple[int, ...]
    ) -> dict[str, Any] | None:
        rle = masks.get(landmark) if landmark is not None else None
        self._submitted[frame] = landmark if rle is not None else None
        if self._port is not None:
            self._port(np.zeros(shape, np.bool_) if rle is None else decode(rle), frame=frame)
        return rle
