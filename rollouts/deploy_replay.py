"""Reads a deployment's MCAP log, also one that was cut off, and converts it to a LeRobotDataset."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import json
import shutil
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..envs import Array
from ..envs.ros import parse_robot
from ..envs.ros.observing import arm_conventions
from ..errors import MissingDependency, RecordError, install_line
from .deploy_log import PREFIX


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One message of a log.

    Attributes:
        at: wall seconds.
        topic: without the log's prefix, such as ``"joint_states"``.
        message: the decoded ROS message.
    """

    at: float
    topic: str
    message: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loaded:
    """A log.

    Attributes:
        about: what the deployment was: robot, agent, task.
        entries: its messages in order.
        whole: False when the file was cut off; everything before the cut is in ``entries``.
    """

    about: Mapping[str, Any]
    entries: list[Entry]
    whole: bool

    def of(self, topic: str) -> list[Entry]:
        """The messages of one topic."""
        return [entry for entry in self.entries if entry.topic == topic]

    def events(self) -> list[tuple[float, dict[str, Any]]]:
        """Decisions, holds and messages: wall seconds and what was said."""
        return [(entry.at, json.loads(entry.message.data)) for entry in self.of("events")]


def read_log(path: Path) -> Loaded:
    """Read a log.

    Raises:
        MissingDependency: mcap is not installed.
        RecordError: the file does not exist, or is no log of a deployment.
    """
    if importlib.util.find_spec("mcap_ros2") is None:
        raise MissingDependency("mcap-ros2-support", purpose="a log", install=install_line("ros"))
    from mcap.exceptions import McapError
    from zstandard import ZstdError

    about: dict[str, Any] = {}
    entries: list[Entry] = []
    whole = False
    try:
        with path.open("rb") as file:
            for kind, content in _records(file):
                if kind == "metadata":
                    about = {key: json.loads(value) for key, value in content.items()}
                elif kind == "message":
                    entries.append(content)
                else:
                    whole = True
    except OSError as error:
        raise RecordError(f"the log {path} cannot be read: {error}.") from error
    except (McapError, ZstdError, struct.error, ValueError, KeyError) as error:
        # A process that was killed leaves a last chunk that is cut off; what came before it is good.
        if not about:
            raise RecordError(f"{path} is no log of a deployment ({type(error).__name__}: {error}).") from error
    if not about:
        raise RecordError(f"{path} is no log of a deployment: it lacks the metadata 'thinktwice'.")
    return Loaded(about=about, entries=sorted(entries, key=lambda entry: entry.at), whole=whole)


def _records(file: io.BufferedReader) -> Iterator[tuple[str, Any]]:
    from mcap.records import Channel, Footer, Message, Metadata, Schema
    from mcap.stream_reader import StreamReader
    from mcap_ros2.decoder import DecoderFactory

    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    factory = DecoderFactory()
    for record in StreamReader(file).records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Metadata) and record.name == "thinktwice":
            yield "metadata", record.metadata
        elif isinstance(record, Message):
            channel = channels[record.channel_id]
            decode = factory.decoder_for(channel.message_encoding, schemas[channel.schema_id])
            if decode is not None:
                topic = channel.topic.removeprefix(f"{PREFIX}/")
                yield "message", Entry(at=record.log_time * 1e-9, topic=topic, message=decode(record.data))
        elif isinstance(record, Footer):
            yield "footer", None


def summarise(log: Loaded) -> str:
    """What a log holds, for a person."""
    about = log.about
    lines = [f"robot {about['robot']['name']}, agent {about['agent']}, task {about['task'] or '-'}"]
    if not log.whole:
        lines.append("the file was cut off; this is everything before the cut")
    began = log.entries[0].at if log.entries else 0.0
    counts: dict[str, int] = {}
    for entry in log.entries:
        counts[entry.topic] = counts.get(entry.topic, 0) + 1
    lines += [f"  {count:>6}  {topic}" for topic, count in sorted(counts.items())]
    for at, event in log.events():
        said = {key: value for key, value in event.items() if key != "kind" and value is not None}
        text = ", ".join(f"{key} {value}" for key, value in said.items())
        lines.append(f"{at - began:9.3f} s  {event['kind']:<9} {text}")
    return "\n".join(lines)


def to_dataset(log: Loaded, out: Path, *, repo_id: str | None = None) -> int:
    """Write the commands that were really sent, with what was seen, as a LeRobotDataset.

    A frame is one sent command: the state and images that it was decided on are the newest before it.  A hold ends an
    episode.

    Args:
        log: read by `read_log`.
        out: the data set's folder; it must not exist.
        repo_id: LeRobot's name of it; thinktwice/FOLDER when not given.

    Returns:
        How many episodes were written.

    Raises:
        RecordError: the folder exists, or the log holds no sent command.
    """
    from lerobot.datasets import LeRobotDataset

    if out.exists():
        raise RecordError(f"{out} exists; a data set is never written over.")
    episodes = [frames for frames in _episodes(log) if frames]
    if not episodes:
        raise RecordError("the log holds no command that was sent together with a state; there is nothing to convert.")
    robot = parse_robot(log.about["robot"])
    conventions = arm_conventions(robot)
    first = episodes[0][0]
    building = out.with_name(f".{out.name}.partial")
    shutil.rmtree(building, ignore_errors=True)
    names = {
        "action": [f"{dim.name}.{index}" for dim in conventions.action for index in range(dim.size)],
        "observation.state": [f"{dim.name}.{index}" for dim in conventions.state for index in range(dim.size)],
    }
    features: dict[str, dict[str, Any]] = {
        key: {"dtype": "float32", "shape": first[key].shape, "names": names[key]} for key in names
    }
    for key, value in first.items():
        if key not in features:
            features[key] = {"dtype": "image", "shape": value.shape, "names": ["height", "width", "channels"]}
    dataset: Any = LeRobotDataset.create(
        repo_id=repo_id or f"thinktwice/{out.name}",
        fps=round(robot.timing.rate_hz),
        features=features,
        root=building,
        robot_type=robot.name,
        use_videos=False,
        video_backend="pyav",  # there is no video; saying so keeps LeRobot from probing for torchcodec's FFmpeg
    )
    for frames in episodes:
        for frame in frames:
            dataset.add_frame({**frame, "task": log.about["task"] or robot.name})
        dataset.save_episode()
    dataset.finalize()
    building.rename(out)
    return len(episodes)


def _episodes(log: Loaded) -> Iterator[list[dict[str, Array]]]:
    """Frames of each stretch without a hold: the newest state and images before each command."""
    cameras = list(log.about["robot"]["cameras"])
    seen: dict[str, Array] = {}
    action: Array | None = None
    frames: list[dict[str, Array]] = []
    for entry in log.entries:
        if entry.topic == "events" and json.loads(entry.message.data)["kind"] in ("hold", "end"):
            yield frames
            frames, action = [], None
            seen.clear()
        elif entry.topic == "state":
            seen["observation.state"] = np.array(entry.message.data, np.float32)
        elif entry.topic == "action/applied":
            action = np.array(entry.message.data, np.float32)
        elif entry.topic.startswith("camera/"):
            seen[f"observation.images.{entry.topic.split('/')[1]}"] = _pixels(entry.message.data)
        elif entry.topic == "sent" and action is not None and len(seen) == 1 + len(cameras):
            frames.append({"action": action, **seen})
            action = None
    yield frames


def _pixels(data: bytes) -> Array:
    from PIL import Image

    with Image.open(io.BytesIO(bytes(data))) as image:
        return np.asarray(image.convert("RGB"))
