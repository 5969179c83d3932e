"""What the environment tells about every command, sent or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..chunks import Array
from .messages import JointReading
from .streams import Sample
from .wire import Message


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandReport:
    """One command as it was asked for and as it was sent.

    Attributes:
        at: wall seconds.
        action: what was asked for, as it came.
        applied: the action that was sent, ``float32[A]``; None when it was rejected.
        target: rad, ``float64[J]``; None when it was rejected.
        rejection: why it was rejected, or empty.
        sent: False in shadow mode and when rejected.
        late_seconds: how long after its tick it was sent.
        reading: the joint state that it was checked against.
        state: the state vector of that reading, ``float32[S]``.
        images: the newest compressed image of each camera.
    """

    at: float
    action: Array
    applied: Array | None
    target: Array | None
    rejection: str
    sent: bool
    late_seconds: float
    reading: Sample[JointReading]
    state: Array
    images: Mapping[str, Sample[Message]]
