"""Ordered frames from a folder of images or from a video file, with clear errors for what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..envs import Array
from ..errors import UsageError, choices

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
VIDEOS = (".mp4", ".mov", ".mkv", ".webm", ".avi", ".gif")


def frame_names(source: Path) -> list[str]:
    """The names of a folder's images in the order of their names, or of a video's frames by number.

    Raises:
        UsageError: there is no such folder or file, or nothing in it can be read.
    """
    if source.is_dir():
        names = sorted(path.name for path in source.iterdir() if path.suffix.lower() in IMAGES)
        if not names:
            raise UsageError(f"there are no images in {source}; it must hold {', '.join(IMAGES)} files, in name order.")
        return names
    if not source.exists():
        raise UsageError(f"there is no folder or video at {source}.")
    if source.suffix.lower() not in VIDEOS:
        raise UsageError(f"{source} is no video that can be read. {choices(source.suffix, VIDEOS)}")
    return [f"{index:06d}" for index, _ in enumerate(_video(source))]


def read_frames(source: Path) -> Iterator[Array]:
    """The frames in order, ``uint8[H, W, 3]``, all of one size.

    Raises:
        UsageError: as `frame_names`; or a frame is damaged, or of another size than the first.
    """
    first: tuple[int, ...] | None = None
    for name, frame in _folder(source) if source.is_dir() else _video(source):
        if first is None:
            first = frame.shape
        if frame.shape != first:
            raise UsageError(
                f"frames must have one size: the first is {first[1]}x{first[0]}, {name} is "
                f"{frame.shape[1]}x{frame.shape[0]}. Resize them, or segment the parts one by one."
            )
        yield frame
    if first is None:
        raise UsageError(f"{source} holds no frames; the file may be empty or damaged.")


def _folder(source: Path) -> Iterator[tuple[str, Array]]:
    from PIL import Image, UnidentifiedImageError

    for name in frame_names(source):
        try:
            with Image.open(source / name) as picture:
                yield name, np.asarray(picture.convert("RGB"))
        except (UnidentifiedImageError, OSError, SyntaxError) as error:
            raise UsageError(f"{source / name} cannot be read as an image: {error}.") from error


def _video(source: Path) -> Iterator[tuple[str, Array]]:
    import av
    from av.error import FFmpegError

    try:
        with av.open(str(source)) as container:
            for index, frame in enumerate(container.decode(video=0)):
                yield f"frame {index}", np.asarray(frame.to_ndarray(format="rgb24"))
    except (FFmpegError, IndexError) as error:
        raise UsageError(f"{source} cannot be read as a video: {error}. It may be empty or damaged.") from error
