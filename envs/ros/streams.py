"""The newest value of each topic, and how old it is.

Only the newest message is kept, so a slow reader sees the present and never a queue.  A message that is older than the
newest one, or stamped too far from now, is dropped: it must not pass for life.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ...errors import WorldError
from ..chunks import Array
from .messages import JointReading, read_image, read_joint_state, read_stamp
from .wire import MalformedMessage, Message

type Clock = Literal["synchronised", "independent"]

_JUMP_FACTOR = 2.0
_JUMP_SLACK = 0.05
"""rad: what a reading may differ from the one before beyond twice its velocity bound, for noise and late stamps."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample[T]:
    """The newest message of a topic.

    Attributes:
        value: what was read from it.
        stamp: header time, seconds of the robot's clock; 0.0 without a header.
        received: monotonic seconds.
        delay: seconds that it was old when it arrived, by its header; 0.0 without one.
    """

    value: T
    stamp: float
    received: float
    delay: float

    def age(self, now: float) -> float:
        """Seconds that it is old at monotonic time ``now``: by receive time or by header, whichever is more."""
        return now - self.received + max(self.delay, 0.0)

    def robot_time(self, now: float) -> float:
        """The robot's clock at monotonic time ``now``, at most the link's latency behind it; 0.0 without headers."""
        return self.stamp + (now - self.received) if self.stamp else 0.0


class Stream[T]:
    """Keeps the newest message of one topic.

    Args:
        topic: its name, for reasons.
        max_age: seconds after which the newest message is stale.
        clock: how header times compare with this machine's; see `robot.Timing`.
        read: from a message to its value.
    """

    def __init__(self, topic: str, *, max_age: float, clock: Clock, read: Callable[[Message], T]) -> None:
        self.topic, self.max_age = topic, max_age
        self._clock, self._read = clock, read
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._newest: Sample[T] | None = None
        self._offset: float | None = None
        self._since = time.monotonic()
        self.received = 0
        self.dropped = 0
        self.last_drop = ""

    @property
    def newest(self) -> Sample[T] | None:
        """The newest message, or None before the first one."""
        return self._newest

    def restart(self) -> None:
        """Forget everything, so that a clock that was set anew is accepted; called when an operator arms."""
        with self._lock:
            self._newest, self._offset, self.last_drop = None, None, ""
            self._since = time.monotonic()

    def accept(self, message: Message) -> Sample[T] | None:
        """Take a message; returns what is kept, or None when it was dropped.  Called in the client's thread."""
        now, wall = time.monotonic(), time.time()
        try:
            stamp = read_stamp(message)
            value = self._read(message)
        except MalformedMessage as error:
            return self._drop(str(error))
        with self._lock:
            newest = self._newest
            delay = self._delay(stamp, now, wall)
        if newest is not None and stamp and stamp <= newest.stamp:
            return self._drop(f"stamped {newest.stamp - stamp:.3f} s before the one before it")
        if delay > self.max_age:
            return self._drop(f"{delay:.3f} s old on arrival")
        if delay < -self.max_age:
            return self._drop(f"stamped {-delay:.3f} s in the future")
        sample = Sample(value=value, stamp=stamp, received=now, delay=delay)
        with self._arrived:
            self._newest = sample
            self.received += 1
            self._arrived.notify_all()
        return sample

    def problem(self, now: float) -> str | None:
        """Why the stream is stale at monotonic time ``now``, or None when it is alive."""
        sample, since = self._newest, self._since
        age = now - since if sample is None else sample.age(now)
        if age <= self.max_age:
            return None
        dropped = f"; the last one dropped was {self.last_drop}" if self.last_drop else ""
        return f"nothing good on {self.topic} for {age * 1e3:.0f} ms (limit {self.max_age * 1e3:.0f} ms){dropped}"

    def require(self, timeout: float) -> Sample[T]:
        """The newest message, waiting for the first one at most ``timeout`` seconds.

        Raises:
            WorldError: none came.
        """
        with self._arrived:
            self._arrived.wait_for(lambda: self._newest is not None, timeout)
            if self._newest is None:
                why = f"; the last one dropped was {self.last_drop}" if self.last_drop else ""
                raise WorldError(f"nothing usable arrived on {self.topic} within {timeout:g} s{why}.")
            return self._newest

    def _delay(self, stamp: float, now: float, wall: float) -> float:
        if not stamp:
            return 0.0
        if self._clock == "synchronised":
            return wall - stamp
        behind = now - stamp
        self._offset = behind if self._offset is None else min(self._offset, behind)
        return behind - self._offset

    def _drop(self, why: str) -> None:
        with self._lock:
            self.dropped += 1
            self.last_drop = why


class JointStream(Stream[JointReading]):
    """Joint states, watched for jumps that no arm makes.

    Args:
        topic: its name.
        max_age: seconds.
        clock: see `Stream`.
        names: the joints to read, in order; fingers may follow the arm's joints.
        velocity: rad/s, ``float64[J]`` of the arm's joints.
        alarm: called with a reason when a reading cannot follow from the one before, or is not finite.
    """

    def __init__(
        self,
        topic: str,
        *,
        max_age: float,
        clock: Clock,
        names: Sequence[str],
        velocity: Array,
        alarm: Callable[[str], None],
    ) -> None:
        super().__init__(topic, max_age=max_age, clock=clock, read=lambda message: read_joint_state(message, names))
        self._velocity, self._alarm = velocity, alarm

    def accept(self, message: Message) -> Sample[JointReading] | None:
        """As `Stream.accept`; a reading that cannot be used, or jumps, is an alarm."""
        before, dropped = self.newest, self.dropped
        sample = super().accept(message)
        if sample is None:
            if self.dropped > dropped and self.last_drop.startswith("a joint"):
                self._alarm(f"{self.topic}: {self.last_drop}")
            return None
        if before is not None:
            count = len(self._velocity)
            elapsed = max(sample.received - before.received, sample.stamp - before.stamp)
            moved = np.abs(sample.value.position[:count] - before.value.position[:count])
            excess = moved - (_JUMP_FACTOR * self._velocity * elapsed + _JUMP_SLACK)
            if excess.max() > 0:
                joint = int(excess.argmax())
                self._alarm(
                    f"{self.topic}: joint {joint + 1} jumped {moved[joint]:.3f} rad in {elapsed * 1e3:.0f} ms; "
                    "does something else publish on it?"
                )
        return sample


def image_stream(topic: str, *, max_age: float, clock: Clock) -> Stream[Message]:
    """Compressed images, decoded by `decode` only when somebody looks."""
    return Stream(topic, max_age=max_age, clock=clock, read=_compressed)


def _compressed(message: Message) -> Message:
    data = message.get("data")
    if not data:
        raise MalformedMessage("a compressed image without data")
    # JPEG and PNG begin with these bytes; base64 turns them into these letters.
    if isinstance(data, str) and not data.startswith(("/9j/", "iVBORw0KGgo")):
        raise MalformedMessage(f"a compressed image that is neither JPEG nor PNG: {data[:12]!r}")
    return message


def decode(sample: Sample[Message]) -> Array:
    """The pixels of an image sample: ``uint8[H, W, 3]``.

    Raises:
        MalformedMessage: it cannot be decoded.
    """
    return read_image(sample.value)
