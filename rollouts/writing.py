"""Writing a run folder: one writer at a time, every line on the disk before the next episode."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Generator, Mapping
from io import FileIO
from pathlib import Path
from typing import IO, Any, cast

import yaml

from ..errors import RecordError
from .files import TEMPORARY, append_line, sync_folder, write_atomically
from .pool import LOGS
from .records import ATTEMPTS, EPISODES, MANIFEST, AttemptRecord, EpisodeRecord, open_run

_LOCK = ".lock"
_COMPARED = ("thinktwice", "versions", "config", "world", "agent", "conventions", "episodes")
"""The parts of ``run.yaml`` that must be equal for a run to be resumed."""


class RunWriter:
    """The only writer of a run folder.  Made by `claim`.

    Attributes:
        path: the folder.
        done: the episodes that have a record already.
        notices: what was repaired while the folder was opened.
        manifest: ``run.yaml``, or None while there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: tuple[EpisodeRecord, ...] = ()
        self.notices: tuple[str, ...] = ()
        self.manifest: Mapping[str, Any] | None = None
        self._episodes: FileIO | None = None
        self._attempts: FileIO | None = None

    def load(self) -> None:
        """Read what is there, cut torn last lines off, and remove unfinished files."""
        run = open_run(self.path)
        self.done, self.notices, self.manifest = run.episodes, run.notices, run.manifest
        for name in (EPISODES, ATTEMPTS):
            _cut_torn_line(self.path / name)
        for unfinished in (*self.path.glob(f"{TEMPORARY}*"), *self.path.glob(f"*/{TEMPORARY}*")):
            unfinished.unlink()

    def forget_errors(self) -> None:
        """Take the errors out of ``episodes.jsonl``, so that they are played again; ``attempts.jsonl`` keeps them."""
        kept = [record for record in self.done if record.status != "error"]
        text = "".join(record.to_line() + "\n" for record in kept)
        write_atomically(self.path / EPISODES, lambda file: file.write(text.encode()))
        self.done = tuple(kept)

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Write ``run.yaml``, or check that the one that is there says the same; then open the records.

        Raises:
            RecordError: the run that is there was made with something else; the message lists the differences.
        """
        if self.manifest is None:
            dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
            text = yaml.dump(dict(manifest), Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)
            write_atomically(self.path / MANIFEST, lambda file: file.write(text.encode()))
            self.manifest = manifest
        else:
            self.check(manifest)
        try:
            self._episodes = (self.path / EPISODES).open("ab", buffering=0)
            self._attempts = (self.path / ATTEMPTS).open("ab", buffering=0)
            sync_folder(self.path)
        except OSError as error:
            raise RecordError(f"{error.filename} cannot be written: {error.strerror}.") from error

    def check(self, manifest: Mapping[str, Any]) -> None:
        """Compare the parts that ``manifest`` has with the run that is there.

        Raises:
            RecordError: they differ; the message lists the differences.
        """
        there = self.manifest or {}
        parts = [part for part in _COMPARED if part in manifest]
        found = differences({part: there.get(part) for part in parts}, {part: manifest[part] for part in parts})
        if found:
            listed = "\n  - ".join(found[:20]) + (f"\n  … and {len(found) - 20} more" if len(found) > 20 else "")
            raise RecordError(
                f"the run in {self.path} was made with something else and cannot be continued "
                f"(there, then now):\n  - {listed}\nUse the same settings and versions, or another --out."
            )

    def add(self, attempt: AttemptRecord, record: EpisodeRecord | None) -> None:
        """Write an attempt, and the episode's record when there is one.

        The attempt comes first: a kill between the two lines plays the episode again, and its record never lacks its
        attempt.
        """
        append_line(cast("FileIO", self._attempts), attempt.to_line())
        if record is not None:
            append_line(cast("FileIO", self._episodes), record.to_line())

    def close(self) -> None:
        """Close the records."""
        for file in (self._episodes, self._attempts):
            if file is not None:
                file.close()


@contextlib.contextmanager
def claim(path: Path, *, resume: bool) -> Generator[RunWriter]:
    """Lock a folder for a run: a new one, or with ``resume`` the one that is there.

    Raises:
        RecordError: the folder cannot be written, holds another run or something else, another process writes it, or
            there is nothing to resume.
    """
    if resume and not path.is_dir():
        raise RecordError(f"there is no run to resume in {path}.")
    _refuse_foreign(path)
    lock = _lock(path)
    try:
        has_run = (path / MANIFEST).exists()
        if has_run and not resume:
            raise RecordError(f"{path} holds a run already. Continue it with --resume, or give another --out.")
        writer = RunWriter(path)
        if has_run:
            writer.load()
        else:
            _clear(path)
        try:
            yield writer
        finally:
            writer.close()
    finally:
        lock.close()


def differences(there: Any, now: Any, where: str = "") -> list[str]:
    """Every leaf that differs between two pieces of plain data, as ``"path: there, now"``."""
    if isinstance(there, Mapping) and isinstance(now, Mapping):
        one, other = cast("Mapping[str, Any]", there), cast("Mapping[str, Any]", now)
        return [
            line
            for key in dict.fromkeys([*one, *other])
            for line in differences(one.get(key), other.get(key), f"{where}.{key}" if where else str(key))
        ]
    if there == now:
        return []
    if isinstance(there, list) and isinstance(now, list) and len(repr(there)) + len(repr(now)) > 200:
        one, other = cast("list[Any]", there), cast("list[Any]", now)
        if len(one) != len(other):
            return [f"{where}: {len(one)} entries, {len(other)} entries"]
        return [
            line for i, pair in enumerate(zip(one, other, strict=True)) for line in differences(*pair, f"{where}[{i}]")
        ]
    return [f"{where}: {there!r}, {now!r}"]


def _lock(path: Path) -> IO[bytes]:
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / _LOCK).open("ab")
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror or error}. Give another --out.") from error
    try:
        # The kernel drops this lock when the process ends, however it ends.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise RecordError(f"another process is writing the run in {path}. Wait for it, or stop it.") from error
    return lock


def _refuse_foreign(path: Path) -> None:
    """Leave a folder alone that holds something, but no run and no beginning of one."""
    if not path.is_dir() or (path / MANIFEST).exists():
        return
    names = sorted(entry.name for entry in path.iterdir())
    foreign = [name for name in names if name not in (_LOCK, LOGS) and not name.startswith(TEMPORARY)]
    if foreign:
        raise RecordError(f"{path} is not empty and holds no run: {', '.join(foreign[:5])}. Give another --out.")


def _clear(path: Path) -> None:
    """Remove what a driver left that was killed before it wrote ``run.yaml``."""
    for unfinished in path.glob(f"{TEMPORARY}*"):
        unfinished.unlink()
    shutil.rmtree(path / LOGS, ignore_errors=True)


def _cut_torn_line(file: Path) -> None:
    if not file.exists():
        return
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        os.truncate(file, whole)
