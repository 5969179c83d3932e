"""Levels 0 and 1 of the memory: the last frames, and keyframes that together show every object.

Bounds: `RING` frames and `KEYFRAMES` keyframes, each with run-length masks of wanted kinds alone.  With the landmarks'
`CAPACITY` (level 2) and the floor map's fixed grid (level 3) this bounds an agent's memory whatever the episode's
length.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ...envs import Array
from ..navigation.geometry import Pose

RING = 32
KEYFRAMES = 48
THUMBNAIL = 64
"""Pixels a side of a keyframe's picture."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Memory:
    """One remembered frame.

    Attributes:
        frame: its index.
        pose: of the agent.
        masks: COCO RLE by landmark id, of wanted kinds.
        shows: every landmark in view.
        picture: ``uint8[64, 64, 3]`` of a keyframe; None in the ring.
        frontiers: how many frontiers were open.
    """

    frame: int
    pose: Pose
    masks: Mapping[int, Mapping[str, Any]]
    shows: frozenset[int]
    picture: Array | None = None
    frontiers: int = 0


class FrameMemory:
    """The ring and the keyframes."""

    def __init__(self) -> None:
        self.ring: collections.deque[Memory] = collections.deque(maxlen=RING)
        self.keyframes: list[Memory] = []

    def __iter__(self) -> Iterator[Memory]:
        """Every remembered frame once, keyframes first."""
        kept = {memory.frame for memory in self.keyframes}
        yield from self.keyframes
        yield from (memory for memory in self.ring if memory.frame not in kept)

    def add(self, memory: Memory, image: Array) -> None:
        """Remember a frame; it becomes a keyframe when it shows a landmark that none of them shows."""
        self.ring.append(memory)
        covered = frozenset[int]().union(*(key.shows for key in self.keyframes))
        if memory.shows <= covered:
            return
        step = max(image.shape[0] // THUMBNAIL, 1)
        self.keyframes.append(dataclasses.replace(memory, picture=image[::step, ::step].copy()))
        if len(self.keyframes) > KEYFRAMES:
            self._evict()

    def _evict(self) -> None:
        """Drop the keyframe that the cover misses least.

        The one with the fewest landmarks that no other shows goes, one without any if there is one: then no object
        loses its sole view.  When every keyframe is some object's sole view, the bound wins, and a frame with masks
        of a wanted kind outlives one without.
        """
        counts = collections.Counter(index for key in self.keyframes for index in key.shows)

        def missed(key: Memory) -> tuple[int, int, int]:
            sole = [index for index in key.shows if counts[index] == 1]
            return sum(index in key.masks for index in sole), len(sole), key.frame

        self.keyframes.remove(min(self.keyframes, key=missed))
