"""Writing files so that a kill at any moment leaves either the old content or the new."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import IO

from ..errors import RecordError

TEMPORARY = ".partial-"
"""What the names of unfinished files begin with; a resumed run removes them."""


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it.

    Args:
        path: where it shall lie; its folder is made when missing.
        write: writes the content into the open file.

    Raises:
        RecordError: the file cannot be written.
    """
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder's own list of files, without which a power cut can lose a file whose content was flushed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_line(file: FileIO, line: str) -> None:
    """Append one line and flush it to the disk.

    Args:
        file: opened for appending without a buffer: a buffer that failed once would be written again on closing.
        line: without its newline.

    Raises:
        RecordError: the disk is full or the file cannot be written.  What was written before is safe.
    """
    try:
        left = memoryview(line.encode() + b"\n")
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise RecordError(
            f"{file.name} cannot be written: {error.strerror or error}. Every line before is safe; "
            "make room and continue the run with --resume."
        ) from error
