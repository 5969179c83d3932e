"""``thinktwice segment``: what an expression means in recorded frames or a video, as masks and an overlay."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.progress import track

from ..agents.lesa.video import VideoAgent
from ..agents.prism.models import ModelOptions, chat_model
from ..envs import Array
from ..envs.rooms.masks import decode, encode
from ..errors import UsageError
from ..perception import Perception
from ..perception.reasoner import Reasoner
from ..perception.reasoner_mllm import PromptedLesaReasoner
from ..perception.reasoner_rules import RuleReasoner
from ..perception.rooms_plugins import build_plugin
from ..perception.video import frame_names, read_frames
from ..rollouts.files import write_atomically
from ..rollouts.video import encode as encode_video

_TINT = np.array([255, 40, 40], np.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SegmentOptions(ModelOptions):
    """Options of ``thinktwice segment``."""

    frames: Path
    """A folder of images in name order, or a video file."""
    expression: str
    """What to segment, such as "the red mug on the desk"."""
    out: Path = Path("segmented")
    """Folder for masks.json and overlay.mp4."""
    perception: str = "trained"
    """trained: the bundled closed vocabulary of the rooms; grounding-dino:DIR+sam2:DIR or owlv2:DIR+sam2:DIR: local
    checkpoints in transformers' format."""
    fps: int = 10
    """Pictures per second of the overlay."""


class Collector:
    """Keeps the last mask of every frame, run-length encoded."""

    def __init__(self) -> None:
        self.masks: dict[int, dict[str, Any]] = {}

    def __call__(self, mask: Array, *, frame: int | None = None) -> None:
        """Keep a mask; a revision replaces the earlier one."""
        if frame is not None:
            self.masks[frame] = encode(mask)


def main(arguments: Sequence[str]) -> int:
    """The command.

    Raises:
        UsageError: the expression means nothing known, the frames cannot be read, or nothing is written there.
        WeightsError: a model's weights are missing or damaged.
    """
    options = tyro.cli(SegmentOptions, args=list(arguments), prog="thinktwice segment", description=__doc__)
    if options.fps < 1:
        raise UsageError(f"fps must be at least 1, got {options.fps}.")
    names = frame_names(options.frames)
    collector = Collector()
    agent = VideoAgent(build_segmenter(options.perception), _reasoner(options), options.expression, port=collector)
    for frame in track(
        read_frames(options.frames), total=len(names), description="segment", disable=not sys.stderr.isatty()
    ):
        agent.watch({"images.front": frame, "task": options.expression})
    options.out.mkdir(parents=True, exist_ok=True)
    shown = sum(decode(rle).any() for rle in collector.masks.values())
    result = {
        "expression": options.expression,
        "perception": options.perception,
        "reasoner": options.llm,
        "frames": [{"index": i, "name": name, "mask": collector.masks[i]} for i, name in enumerate(names)],
        "calls": agent.calls,
        "cost": agent.cost.counts(),
        "revised": agent.track.revised,
    }
    (options.out / "masks.json").write_text(json.dumps(result) + "\n", encoding="utf-8")
    pictures = overlay(options.frames, collector)
    write_atomically(options.out / "overlay.mp4", lambda file: encode_video(pictures, file, fps=options.fps))
    sys.stdout.write(f"{shown} of {len(names)} frames show it; wrote {options.out}/masks.json and overlay.mp4\n")
    return 0 if shown else 1


def build_segmenter(name: str) -> Perception:
    """The perception that ``--perception`` names."""
    if name == "trained":
        from ..perception.rooms_trained import RoomsSegmenter

        return RoomsSegmenter.bundled()
    return build_plugin(name)


def _reasoner(options: SegmentOptions) -> Reasoner:
    if options.llm == "rules":
        return RuleReasoner()
    return PromptedLesaReasoner(chat_model(options.llm, options.base_url, options), tries=options.tries)


def overlay(frames: Path, masks: Collector) -> Iterator[Array]:
    """The frames with the masks tinted red; odd sizes lose one row or column, as the codec asks."""
    for index, frame in enumerate(read_frames(frames)):
        picture = frame.astype(np.float32)
        mask = decode(masks.masks[index])
        picture[mask] = 0.45 * picture[mask] + 0.55 * _TINT
        height, width = (n - n % 2 for n in frame.shape[:2])
        yield np.ascontiguousarray(picture.astype(np.uint8)[:height, :width])
