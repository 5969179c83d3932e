"""Files that are made once per user and shared by every process."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..cache import cache_folder


@functools.cache
def working_folder() -> Path:
    """A folder that this process can write: the user's cache folder, or one in the temporary folder.

    The second is for a read-only home; it is private to the user and shared by the user's processes.
    """
    try:
        return _writable(cache_folder())
    except OSError:
        fallback = Path(tempfile.gettempdir()) / f"thinktwice-{os.getuid()}"
        return _writable(fallback, private=True)


def write_once(path: Path, write: Callable[[Path], None]) -> Path:
    """Make a file unless it is there, so that no process ever sees half of it.

    Args:
        path: the file; its folder is made.
        write: fills the file that it is given, which then takes the place of ``path`` in one step.

    Returns:
        ``path``, which now exists.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _writable(folder: Path, *, private: bool = False) -> Path:
    folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    if private and folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to another user")
    with tempfile.TemporaryFile(dir=folder):
        return folder
