"""When the large model is called."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class LesaSettings:
    """What decides when the large model is called.

    Attributes:
        threshold: mean confidence above which a detection is a candidate.
        frames: in how many frames it must be seen.
        margin: in the reflex's own metres; options nearer to each other are a matter for the model.
        rank_calls: ranking calls per episode; after that the reflex chooses.
        verify_calls: verification calls per episode; after that the reflex judges.
        every_frame: call at every frame, whatever the triggers say: the expensive baseline.
    """

    threshold: float = 0.5
    frames: int = 2
    margin: float = 0.8
    rank_calls: int = 2
    verify_calls: int = 6
    every_frame: bool = False
