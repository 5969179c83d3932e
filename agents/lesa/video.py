"""The same controller on a recorded video: it watches, verifies, and revises masks backward; nothing moves.

Tracks in the image take the place of landmarks, because a recording has neither depth nor poses.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...cost import Cost
from ...envs import Array, Observation
from ...envs.rooms.masks import encode
from ...envs.rooms.queries import Query
from ...envs.rooms.scoring import jaccard
from ...errors import ContractError
from ...perception import Detection, Perception
from ...perception.reasoner import Facts, Reasoner, Verdict
from ...perception.reasoner_rules import agreement
from ...perception.rooms_vocabulary import read_label
from ..navigation.geometry import Pose
from .memory import FrameMemory, Memory
from .states import TRIGGERS, Event, State, advance
from .tracks import MaskPort, MaskTrack

CAMERA = "front"
_OVERLAP = 0.1
_JUMP = 0.15
"""Of the image's width: how far a track's middle may move between two frames."""
_FORGET = 10
"""Frames after which a track that was not seen ends."""
_TRACKS = 100
_STILL = Pose(x=0.0, y=0.0, yaw=0.0, pitch=0.0)


@dataclasses.dataclass(slots=True)
class Track:
    """One thing followed through the image."""

    id: int
    kind: str
    looks: dict[tuple[str, str, str], float]
    score: float
    seen: int
    last: int
    mask: Array
    verdict: str = ""

    @property
    def look(self) -> tuple[str, str, str]:
        """Size, colour and material that most frames agree on."""
        return max(self.looks, key=lambda key: (self.looks[key], key))


class VideoAgent:
    """Watches frames in order and submits a mask for each.

    Args:
        perception: finds things by name.
        reasoner: the large model, or its stand-in.
        expression: what to segment.
        port: receives masks, also revisions of earlier frames.
        threshold: mean confidence above which a track is a candidate.
        frames: in how many frames it must have been seen.

    Raises:
        UsageError: the expression is empty or means nothing known.
    """

    def __init__(
        self,
        perception: Perception,
        reasoner: Reasoner,
        expression: str,
        *,
        port: MaskPort,
        threshold: float = 0.5,
        frames: int = 2,
    ) -> None:
        self._perception, self._reasoner, self._expression = perception, reasoner, expression
        self._threshold, self._frames = threshold, frames
        self.memory = FrameMemory()
        self.track = MaskTrack(port, self.memory)
        self.calls: list[dict[str, Any]] = []
        self.cost = Cost()
        self._tracks: dict[int, Track] = {}
        self._next = 0
        self._frame = -1
        self._accepted: int | None = None
        self.state = State.PARSE
        reply = reasoner.understand(expression)
        self.goal: Query = reply.value
        self._account(State.PARSE, reply.cost, reply.why)
        # There is nothing to scan or approach in a recording: watching is exploring.
        self.state = advance(advance(self.state, Event.UNDERSTOOD), Event.TURNED_ROUND)

    def watch(self, observation: Observation) -> int | None:
        """Take in the next frame and submit its mask.

        Returns:
            The id of the track whose mask the frame carries, or None.
        """
        self._frame += 1
        image: Array = observation[f"images.{CAMERA}"]
        found = self._perception.detect(observation, self.goal.kinds, camera=CAMERA)
        masks = {self._follow(d, image.shape[1]).id: d.mask for d in found if d.mask is not None}
        encoded = {mark: encode(mask) for mark, mask in masks.items()}
        self.memory.add(Memory(frame=self._frame, pose=_STILL, masks=encoded, shows=frozenset(encoded)), image)
        self._verify(image)
        shown = self._shown(frozenset(encoded))
        self.track.submit(self._frame, shown, image.shape[:2])
        return shown

    def _follow(self, detection: Detection, width: int) -> Track:
        if detection.mask is None:
            raise ContractError("a detection without a mask cannot be followed.")
        phrase = read_label(detection.label)
        best, most = None, _OVERLAP
        for track in self._tracks.values():
            if track.kind != phrase.kind or track.last == self._frame or self._frame - track.last > _FORGET:
                continue
            overlap = jaccard(track.mask, detection.mask)
            near = float(np.abs(_middle(track.mask) - _middle(detection.mask)).max()) / width
            likeness = overlap if overlap > _OVERLAP else _OVERLAP + (_JUMP - near)
            if likeness > most:
                best, most = track, likeness
        look = (phrase.size, phrase.colour, phrase.material)
        if best is None:
            best = Track(
                id=self._next,
                kind=phrase.kind,
                looks={look: 1.0},
                score=detection.score,
                seen=0,
                last=self._frame,
                mask=detection.mask,
            )
            self._tracks[self._next] = best
            self._next += 1
            if len(self._tracks) > _TRACKS:
                del self._tracks[min(self._tracks.values(), key=lambda track: (track.last, track.id)).id]
        best.looks[look] = best.looks.get(look, 0.0) + 1.0
        best.score += (detection.score - best.score) / (best.seen + 1)
        best.seen += 1
        best.last, best.mask = self._frame, detection.mask
        return best

    def _facts(self, track: Track) -> Facts:
        size, colour, material = track.look
        return Facts(kind=track.kind, size=size, colour=colour, material=material)

    def _verify(self, image: Array) -> None:
        """Ask about the first track that became a candidate in this frame."""
        if self._accepted is not None and self._accepted in self._tracks:
            accepted = self._tracks[self._accepted]
            if self._frame - accepted.last <= _FORGET:
                return
            self._accepted = None
            self.state = advance(advance(self.state, Event.LOST), Event.GAVE_UP)
        for track in list(self._tracks.values()):
            ready = track.seen >= self._frames and track.score >= self._threshold and track.last == self._frame
            if track.verdict or not ready or agreement(self.goal, self._facts(track))[0] == "reject":
                continue
            self.state = advance(self.state, Event.CANDIDATE)
            reply = self._reasoner.verify(self._expression, self.goal, self._facts(track), image)
            self._account(State.VERIFY, reply.cost, reply.why)
            self._conclude(track, reply.value, image)
            return

    def _conclude(self, track: Track, verdict: Verdict, image: Array) -> None:
        # What a recording does not show cannot be looked at from nearer: what is not contradicted is taken.
        track.verdict = "reject" if verdict == "reject" else "accept"
        if track.verdict == "reject":
            self.state = advance(self.state, Event.REJECTED)
            return
        self._accepted = track.id
        self.state = advance(self.state, Event.ACCEPTED)
        self.track.revise(track.id, image.shape[:2])

    def _shown(self, visible: frozenset[int]) -> int | None:
        return self._accepted if self._accepted is not None and self._accepted in visible else None

    def _account(self, trigger: State, cost: Cost, why: str) -> None:
        self.cost += cost
        tokens = cost.prompt_tokens + cost.completion_tokens
        self.calls.append({"frame": max(self._frame, 0), "trigger": TRIGGERS[trigger], "tokens": tokens, "why": why})


def _middle(mask: Array) -> Array:
    rows, columns = np.nonzero(mask)
    return np.array([rows.mean(), columns.mean()])
