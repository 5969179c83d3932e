"""Which videos go into the report: as many as fit, then filmstrips, then only links to the files beside it."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import numpy as np

from ..errors import RecordError
from .records import EpisodeRecord, Run
from .video import video_path

if TYPE_CHECKING:
    from PIL.Image import Image

VIDEO_BUDGET = 11_000_000
"""Bytes of all embedded videos, as base64.  With filmstrips (3 MB), the traces' pictures (5 MB) and 100 episodes'
details (8 MB) a report stays below 30 MB."""
VIDEO_LIMIT = 1_500_000
"""Bytes of one embedded video, as base64."""
STRIP_BUDGET = 3_000_000
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
        link: the file's address relative to the page.
    """

    kind: Literal["video", "strip", "link"]
    data: tuple[str, ...] = ()
    link: str


@dataclasses.dataclass
class Spent:
    """Bytes of base64 that a page holds already."""

    video: int = 0
    strip: int = 0


def choose_media(
    run: Run, records: Sequence[EpisodeRecord] | None = None, *, page: Path | None = None, spent: Spent | None = None
) -> dict[str, Media]:
    """The media of the episodes that have a video.

    Args:
        run: the records.
        records: which episodes, the most interesting first; all of the run, failures first, when None.
        page: the folder of the page, from which links lead; the run's when None.
        spent: what other episodes of the page took; it grows.
    """
    ordered = sorted(run.episodes, key=lambda record: record.status == "success") if records is None else records
    taken, chosen = spent or Spent(), dict[str, Media]()
    for record in ordered:
        path = video_path(run, record.key)
        if path.exists():
            chosen[record.key] = _medium(path, _link(path, page or run.path), taken)
    return chosen


def _link(path: Path, page: Path) -> str:
    """The address of a file relative to a page."""
    return quote(Path(os.path.relpath(path, page)).as_posix())


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


def _medium(path: Path, link: str, spent: Spent) -> Media:
    size = 4 * path.stat().st_size // 3 + 4
    if size <= VIDEO_LIMIT and spent.video + size <= VIDEO_BUDGET:
        spent.video += size
        return Media(kind="video", data=_encoded([path.read_bytes()]), link=link)
    if spent.strip < STRIP_BUDGET:
        # A damaged video is no reason to have no report.
        with contextlib.suppress(RecordError):
            data = _encoded(filmstrip(path))
            spent.strip += sum(map(len, data))
            return Media(kind="strip", data=data, link=link)
    return Media(kind="link", link=link)


def _encoded(files: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(base64.b64encode(content).decode("ascii") for content in files)
