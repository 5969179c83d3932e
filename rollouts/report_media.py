"""Which videos go into the report: as many as fit, then filmstrips, then only links to the files beside it."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import RecordError
from .records import Run
from .video import VIDEOS, video_path

if TYPE_CHECKING:
    from PIL.Image import Image

VIDEO_BUDGET = 16_000_000
"""Bytes of all embedded videos, as base64: with the rest, a report of 100 episodes stays below 30 MB."""
VIDEO_LIMIT = 1_500_000
"""Bytes of one embedded video, as base64."""
STRIP_BUDGET = 5_000_000
"""Bytes of all filmstrips, as base64."""
STRIP_FRAMES = 6
_STRIP_HEIGHT = 150
_STRIP_QUALITY = 70


@dataclasses.dataclass(frozen=True, kw_only=True)
class Media:
    """What shows an episode.

    Attributes:
        kind: ``"video"`` (one MP4), ``"strip"`` (some JPEGs), or ``"link"`` (only the file beside the report).
        data: base64.
        link: the file's address relative to the report.
    """

    kind: Literal["video", "strip", "link"]
    data: tuple[str, ...] = ()
    link: str


def choose_media(run: Run) -> dict[str, Media]:
    """The media of every episode that has a video, failures first: they are what a person looks at."""
    ordered = sorted(run.episodes, key=lambda record: record.status == "success")
    spent, chosen = {"video": 0, "strip": 0}, dict[str, Media]()
    for record in ordered:
        path = video_path(run, record.key)
        if not path.exists():
            continue
        media = _medium(path, spent)
        spent[media.kind] = spent.get(media.kind, 0) + sum(map(len, media.data))
        chosen[record.key] = media
    return chosen


def filmstrip(path: Path) -> list[bytes]:
    """`STRIP_FRAMES` pictures of a video, evenly spaced from the first to the last, as JPEGs.

    Raises:
        RecordError: the video cannot be read.
    """
    from av.error import FFmpegError

    try:
        pictures = _pictures(path)
    except (FFmpegError, OSError) as error:
        raise RecordError(f"the video {path} cannot be read: {error}.") from error
    strip: list[bytes] = []
    for index in np.linspace(0, len(pictures) - 1, min(STRIP_FRAMES, len(pictures))).round().astype(int):
        picture = pictures[index]
        picture.thumbnail((10 * _STRIP_HEIGHT, _STRIP_HEIGHT))
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=_STRIP_QUALITY)
        strip.append(file.getvalue())
    return strip


def _pictures(path: Path) -> list[Image]:
    import av

    with contextlib.closing(av.open(path)) as container:
        return [frame.to_image() for frame in container.decode(video=0)]


def _medium(path: Path, spent: dict[str, int]) -> Media:
    link, size = f"{VIDEOS}/{path.name}", 4 * path.stat().st_size // 3 + 4
    if size <= VIDEO_LIMIT and spent["video"] + size <= VIDEO_BUDGET:
        return Media(kind="video", data=_encoded([path.read_bytes()]), link=link)
    if spent["strip"] < STRIP_BUDGET:
        # A damaged video is no reason to have no report.
        with contextlib.suppress(RecordError):
            return Media(kind="strip", data=_encoded(filmstrip(path)), link=link)
    return Media(kind="link", link=link)


def _encoded(files: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(base64.b64encode(content).decode("ascii") for content in files)
