"""The simulated arm's faults: their names, and how to raise and clear them while it runs.

The node listens on ``/sim/fault`` for the faults that are to hold from then on, as JSON in a ``std_msgs/String``, and
answers on ``/sim/fault/state`` with those that do, or with what is wrong with the request.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat

from ...errors import WorldError
from .client import BridgeClient
from .wire import Message

FAULT_TOPIC = "/sim/fault"
STATE_TOPIC = "/sim/fault/state"
_STRING = "std_msgs/msg/String"
_REPEAT_SECONDS = 0.1


class Faults(BaseModel):
    """What goes wrong, until other faults replace it.

    Attributes:
        joint_states: ``silent`` sends none; ``stuck`` repeats the last one; ``reordered`` sends every second one out of
            order; ``nan`` puts NaN into a position; ``names`` leaves a joint out.
        images: ``silent``; ``stuck``; ``broken`` sends bytes that are no image; ``huge`` sends 12 MB once a
            minute, and no other.
        clock: seconds added to every stamp, for stale, future and jumping clocks.
        motion: ``frozen`` ignores commands while states keep coming.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    joint_states: Literal["none", "silent", "stuck", "reordered", "nan", "names"] = "none"
    images: Literal["none", "silent", "stuck", "broken", "huge"] = "none"
    clock: FiniteFloat = 0.0
    motion: Literal["none", "frozen"] = "none"


FAULTS: Mapping[str, tuple[Faults, str]] = {
    "none": (Faults(), "everything works again"),
    "frozen": (Faults(motion="frozen"), "the arm ignores commands while its joint states keep coming"),
    "joints-silent": (Faults(joint_states="silent"), "no joint states come"),
    "joints-stuck": (Faults(joint_states="stuck"), "the same joint state comes again and again"),
    "joints-nan": (Faults(joint_states="nan"), "a joint position is not a number"),
    "joints-missing": (Faults(joint_states="names"), "joint states lack a joint"),
    "joints-reordered": (Faults(joint_states="reordered"), "every second joint state is half a second old"),
    "clock-behind": (Faults(clock=-5.0), "everything is stamped 5 s in the past"),
    "clock-ahead": (Faults(clock=5.0), "everything is stamped 5 s in the future"),
    "camera-silent": (Faults(images="silent"), "no images come"),
    "camera-stuck": (Faults(images="stuck"), "the same image comes again and again"),
    "camera-broken": (Faults(images="broken"), "images cannot be decoded"),
    "camera-huge": (Faults(images="huge"), "an image of 12 MB comes, and no other"),
}
"""A fault's name on the command line, what it is made of, and what happens."""


class FaultControl:
    """Raises and clears faults of a running simulated arm, through its rosbridge server.

    Args:
        url: the server.
    """

    def __init__(self, url: str) -> None:
        self._client = BridgeClient(url)
        self._told = threading.Condition()
        self._state: Message = {}

    def __enter__(self) -> Self:
        self._client.advertise(FAULT_TOPIC, _STRING)
        self._client.subscribe(STATE_TOPIC, _STRING, self._hear)
        self._client.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def set(self, faults: Faults, *, timeout: float = 20.0) -> None:
        """Let these faults hold and no others, and wait until the arm's node says so.

        Raises:
            WorldError: the node does not answer in time.
        """
        wanted = faults.model_dump()
        deadline = time.monotonic() + timeout
        with self._told:
            self._state = {}
            while self._state.get("faults") != wanted:
                if time.monotonic() >= deadline:
                    raise WorldError(
                        f"no simulated arm took the fault within {timeout:g} s at {self._client.url}. "
                        "Is it a `thinktwice sim-arm` without --libero?"
                    )
                # What is sent before bridge and node have met is lost, and a bridge may be on its way back.
                with contextlib.suppress(WorldError):
                    self._client.publish(FAULT_TOPIC, {"data": faults.model_dump_json()})
                self._told.wait(_REPEAT_SECONDS)

    def _hear(self, message: Message) -> None:
        with self._told:
            self._state = json.loads(message["data"])
            self._told.notify_all()
