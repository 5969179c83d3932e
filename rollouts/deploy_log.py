"""The log of a deployment: one MCAP file with ROS 2 schemas, readable by Foxglove and by `deploy_replay`.

What is written is on its way to the disk within a tenth of a second, and from there on survives ``kill -9``: chunks
are small, and each is handed to the operating system when it is full or old.  Writing has a thread of its own, so that
a slow disk delays no command; a full one is a `problem`, on which the deployment holds the arm.
"""

from __future__ import annotations

import importlib.util
import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..envs import Array
from ..envs.ros import CommandReport
from ..envs.ros.messages import image_bytes
from ..errors import MissingDependency, RecordError, install_line
from .deploy_schemas import SCHEMAS

PREFIX = "/thinktwice"
_CHUNK_BYTES = 64 * 1024
_FLUSH_SECONDS = 0.1
_WAITING = 5000
"""Messages that may wait for the disk: minutes of joint data, many seconds of images."""


class DeployLog:
    """Writes what happens to an MCAP file.

    Args:
        path: the file; it must not exist.
        joints: the names of the joints in readings and targets.
        about: plain data about the deployment, kept in the file's metadata.

    Raises:
        MissingDependency: mcap is not installed.
        RecordError: the file exists or cannot be made.
    """

    def __init__(self, path: Path, *, joints: tuple[str, ...], about: Mapping[str, Any]) -> None:
        if importlib.util.find_spec("mcap_ros2") is None:
            raise MissingDependency("mcap-ros2-support", purpose="the log of a deployment", install=install_line("ros"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A device such as /dev/full cannot be made anew; a file that exists must not be written over.
            self._file: IO[bytes] = path.open("wb" if path.is_char_device() else "xb")
        except OSError as error:
            raise RecordError(f"the log {path} cannot be made: {error}.") from error
        self.path = path
        self._joints = joints
        self._problem: str | None = None
        self._queue: queue.Queue[Callable[[Any], None] | None] = queue.Queue(_WAITING)
        self._last_image: dict[str, float] = {}
        self._thread = threading.Thread(target=self._write, args=(dict(about),), name="deploy log", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """Why the log is incomplete, or None while it is whole."""
        return self._problem

    def command(self, report: CommandReport) -> None:
        """Record one command, and the observation that it was checked against."""
        reading, at = report.reading, report.at
        seen = {
            "header": _header(reading.stamp or at),
            "name": list(self._joints),
            "position": reading.value.position.tolist(),
            "velocity": reading.value.velocity.tolist(),
            "effort": [],
        }
        self._put("joint_states", "sensor_msgs/msg/JointState", seen, at)
        self._put("state", "std_msgs/msg/Float64MultiArray", _array(report.state), at)
        for name, sample in report.images.items():
            if self._last_image.get(name) != sample.received:
                self._last_image[name] = sample.received
                self._put(f"camera/{name}/compressed", "sensor_msgs/msg/CompressedImage", sample, at)
        self._put("action/asked", "std_msgs/msg/Float64MultiArray", _array(report.action), at)
        if report.applied is not None and report.target is not None:
            self._put("action/applied", "std_msgs/msg/Float64MultiArray", _array(report.applied), at)
            target = {**seen, "header": _header(at), "position": report.target.tolist(), "velocity": []}
            target["name"] = list(self._joints[: len(report.target)])
            self._put("sent" if report.sent else "shadow", "sensor_msgs/msg/JointState", target, at)
        if report.rejection:
            self.event("rejected", {"reason": report.rejection}, at=at)

    def event(self, kind: str, data: Mapping[str, Any], *, at: float | None = None) -> None:
        """Record a decision, a hold, or anything else in words, as JSON."""
        text = json.dumps({"kind": kind, **data}, default=str)
        self._put("events", "std_msgs/msg/String", {"data": text}, at or time.time())

    def discard(self) -> None:
        """Close the log of a deployment that never began, and take its file away."""
        self.close()
        if not self.path.is_char_device():
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what waits and finish the file; safe to repeat."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(timeout=10)

    def _put(self, topic: str, schema: str, message: Any, at: float) -> None:
        if self._problem is not None:
            return
        try:
            self._queue.put_nowait(lambda writer: writer.write(f"{PREFIX}/{topic}", schema, message, at))
        except queue.Full:
            self._problem = f"the disk under {self.path} is too slow: {_WAITING} messages wait"

    def _next(self) -> Callable[[Any], None] | None:
        try:
            return self._queue.get(timeout=_FLUSH_SECONDS)
        except queue.Empty:
            return lambda _: None

    def _write(self, about: dict[str, Any]) -> None:
        writer = _Writer(self._file, about)
        flushed = time.monotonic()
        try:
            writer.start()
            while True:
                job = self._next()
                if job is None:
                    writer.finish()
                    return
                job(writer)
                if time.monotonic() - flushed > _FLUSH_SECONDS:
                    writer.flush()
                    flushed = time.monotonic()
        except OSError as error:
            self._problem = f"the log {self.path} cannot be written: {error}"
        finally:
            try:
                self._file.close()
            except OSError as error:
                self._problem = self._problem or f"the log {self.path} cannot be closed: {error}"


class _Writer:
    """Encodes messages with their schemas; used in the log's thread alone."""

    def __init__(self, file: IO[bytes], about: dict[str, Any]) -> None:
        self._file, self._about = file, about
        self._writer: Any = None
        self._schemas: dict[str, Any] = {}

    def start(self) -> None:
        from mcap_ros2.writer import Writer

        class Flushing(Writer):
            """mcap-ros2-support's writer with the flush of the writer below it."""

            def flush(self) -> None:
                """End the chunk and hand it to the operating system."""
                self._writer.flush()

        self._writer = Flushing(self._file, chunk_size=_CHUNK_BYTES)
        self._writer.add_metadata("thinktwice", {key: json.dumps(value) for key, value in self._about.items()})

    def write(self, topic: str, schema: str, message: Any, at: float) -> None:
        if schema not in self._schemas:
            self._schemas[schema] = self._writer.register_msgdef(schema, SCHEMAS[schema])
        content = message if isinstance(message, dict) else _image(message)
        self._writer.write_message(topic, self._schemas[schema], content, log_time=int(at * 1e9))

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.finish()


def _header(seconds: float) -> dict[str, Any]:
    whole = int(seconds)
    return {"stamp": {"sec": whole, "nanosec": int((seconds - whole) * 1e9)}, "frame_id": ""}


def _array(values: Array) -> dict[str, Any]:
    numbers = np.asarray(values, np.float64).ravel().tolist()
    return {"layout": {"dim": [], "data_offset": 0}, "data": numbers}


def _image(sample: Any) -> dict[str, Any]:
    return {
        "header": _header(sample.stamp),
        "format": str(sample.value.get("format", "jpeg")),
        "data": image_bytes(sample.value),
    }
