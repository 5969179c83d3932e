"""Level 2 of the memory: the things that were seen, each with a place, attributes and its best view."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.rooms.furniture import FURNITURE
from ...perception import Detection
from ...perception.rooms_vocabulary import Phrase, read_label
from ..navigation.geometry import Points, Pose

CAPACITY = 300
"""Landmarks kept; the one least often seen that is neither furniture nor of a wanted kind goes first."""
_MIN_POINTS = 6
_MAX_RANGE = 7.0
_LOOKS = 8


@dataclasses.dataclass(slots=True)
class Landmark:
    """One thing.

    Attributes:
        id: unique in the episode.
        kind: what it is.
        centre: float64[3], metres, odometry frame.
        low: float64[3], corner of its bounding box.
        high: float64[3], the other one.
        looks: votes for (size, colour, material), weighted by nearness; at most 8 are kept.
        seen: in how many frames.
        score: mean confidence.
        nearest: metres of the best view.
        view: where the agent stood then, (x, y).
        last: the frame in which it was last seen.
        verdict: what verification said, or empty.
        opened: of a container, whether the agent opened it.
    """

    id: int
    kind: str
    centre: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    looks: dict[tuple[str, str, str], float]
    seen: int
    score: float
    nearest: float
    view: tuple[float, float]
    last: int
    verdict: str = ""
    opened: bool = False

    @property
    def look(self) -> tuple[str, str, str]:
        """Size, colour and material that most looks agree on."""
        return max(self.looks, key=lambda key: (self.looks[key], key))

    def gap(self, x: float, y: float) -> float:
        """Metres on the floor from a point to its bounding box; 0 inside."""
        dx = max(self.low[0] - x, 0.0, x - self.high[0])
        dy = max(self.low[1] - y, 0.0, y - self.high[1])
        return math.hypot(dx, dy)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Sighting:
    """One detection, placed in space."""

    phrase: Phrase
    score: float
    centre: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    distance: float
    view: tuple[float, float]
    frame: int


class Landmarks:
    """All landmarks of an episode, at most `CAPACITY`."""

    def __init__(self) -> None:
        self._by_id: dict[int, Landmark] = {}
        self._next = 0
        self.wanted: frozenset[str] = frozenset()

    def all(self) -> list[Landmark]:
        """Every landmark, oldest first."""
        return list(self._by_id.values())

    def get(self, index: int) -> Landmark | None:
        """A landmark by its id."""
        return self._by_id.get(index)

    def of(self, kinds: Iterable[str]) -> list[Landmark]:
        """Those of some kinds, oldest first."""
        names = frozenset(kinds)
        return [landmark for landmark in self._by_id.values() if landmark.kind in names]

    def update(self, detections: Sequence[Detection], cloud: Points, pose: Pose, frame: int) -> dict[int, int]:
        """Merge one frame's detections.

        Args:
            detections: each with a mask.
            cloud: ``float32[H, W, 3]``, the point under every pixel.
            pose: of the agent.
            frame: its index.

        Returns:
            The landmark's id by the detection's index; detections too small or far to place are left out.
        """
        placed: dict[int, int] = {}
        for index, detection in enumerate(detections):
            sighting = _place(detection, cloud, pose, frame)
            if sighting is None:
                continue
            known = self._match(sighting, set(placed.values()))
            if known is None:
                known = self._add(sighting)
            else:
                _merge(known, sighting)
            placed[index] = known.id
        return placed

    def _match(self, sighting: _Sighting, taken: set[int]) -> Landmark | None:
        """The nearest landmark of its kind that this could be: one detection per landmark and frame."""
        best: Landmark | None = None
        furniture = sighting.phrase.kind in FURNITURE
        reach = 0.9 if furniture else 0.16 + 0.04 * sighting.distance
        for landmark in self._by_id.values():
            if landmark.kind != sighting.phrase.kind or landmark.id in taken:
                continue
            away = float(np.linalg.norm(landmark.centre[:2] - sighting.centre[:2]))
            if furniture and _overlap(landmark, sighting):
                away = 0.0
            elif not furniture and abs(float(landmark.centre[2] - sighting.centre[2])) > 0.25:
                continue
            if away < reach:
                best, reach = landmark, away
        return best

    def _add(self, sighting: _Sighting) -> Landmark:
        if len(self._by_id) >= CAPACITY:
            spare = [m for m in self._by_id.values() if m.kind not in self.wanted and m.kind not in FURNITURE]
            victim = min(spare or self._by_id.values(), key=lambda m: (m.seen, m.last))
            del self._by_id[victim.id]
        phrase = sighting.phrase
        landmark = Landmark(
            id=self._next,
            kind=phrase.kind,
            centre=sighting.centre,
            low=sighting.low,
            high=sighting.high,
            looks={(phrase.size, phrase.colour, phrase.material): 1.0 / (0.3 + sighting.distance)},
            seen=1,
            score=sighting.score,
            nearest=sighting.distance,
            view=sighting.view,
            last=sighting.frame,
        )
        self._by_id[self._next] = landmark
        self._next += 1
        return landmark


def _place(detection: Detection, cloud: Points, pose: Pose, frame: int) -> _Sighting | None:
    if detection.mask is None:
        return None
    spots = cloud[detection.mask].astype(np.float64)
    if len(spots) < _MIN_POINTS:
        return None
    centre = np.median(spots, axis=0)
    distance = pose.distance(float(centre[0]), float(centre[1]))
    if distance > _MAX_RANGE:
        return None
    low, high = np.percentile(spots, [4, 96], axis=0)
    return _Sighting(
        phrase=read_label(detection.label),
        score=detection.score,
        centre=centre,
        low=low,
        high=high,
        distance=distance,
        view=(pose.x, pose.y),
        frame=frame,
    )


def _overlap(landmark: Landmark, sighting: _Sighting) -> bool:
    below = bool((sighting.low[:2] < landmark.high[:2] + 0.1).all())
    return below and bool((sighting.high[:2] > landmark.low[:2] - 0.1).all())


def _merge(landmark: Landmark, sighting: _Sighting) -> None:
    """Fold a sighting in; nearer ones weigh more, and the best view's size of an object replaces a worse one's."""
    phrase, distance = sighting.phrase, sighting.distance
    weight = 1.0 / (0.3 + distance)
    if landmark.kind in FURNITURE:
        landmark.low = np.minimum(landmark.low, sighting.low)
        landmark.high = np.maximum(landmark.high, sighting.high)
        landmark.centre = (landmark.low + landmark.high) / 2
    else:
        share = 0.6 if distance < landmark.nearest else 0.2
        landmark.centre = (1 - share) * landmark.centre + share * sighting.centre
        if distance <= landmark.nearest:
            landmark.low, landmark.high = sighting.low, sighting.high
    look = (phrase.size, phrase.colour, phrase.material)
    if look in landmark.looks or len(landmark.looks) < _LOOKS:
        landmark.looks[look] = landmark.looks.get(look, 0.0) + weight
    landmark.score += (sighting.score - landmark.score) / (landmark.seen + 1)
    landmark.seen += 1
    landmark.last = sighting.frame
    if distance < landmark.nearest:
        landmark.nearest, landmark.view = distance, sighting.view
