"""The records of a run, and how to read them.

A run is a folder:

| file | content |
| --- | --- |
| ``run.yaml`` | everything needed to repeat the run: format, versions, configuration, world, agent, planned episodes |
| ``episodes.jsonl`` | one line per finished episode, the same line whenever the episode is repeated; no wall-clock |
| ``attempts.jsonl`` | one line per attempt at an episode: worker, seconds, latencies, how it ended |
| ``traces/`` | every decision and action of every episode (`thinktwice.rollouts.traces`) |
| ``summary.json`` | the table, computed from the files above |
| ``logs/`` | what the worker processes printed |
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from ..cost import Cost
from ..envs import EpisodeId
from ..errors import IdentityError, RecordError, ThinkTwiceError
from .traces import Trace, read_trace

if TYPE_CHECKING:
    from .summary import Summary

FORMAT = 1
"""The version of the run folder's format; a folder of another version is refused."""

MANIFEST = "run.yaml"
EPISODES = "episodes.jsonl"
ATTEMPTS = "attempts.jsonl"
TRACES = "traces"
SUMMARY = "summary.json"

type Status = Literal["success", "failure", "error"]
type Ending = Literal["finished", "exception", "died", "timeout"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """How an episode ended: one line of ``episodes.jsonl``.

    Attributes:
        episode: its identity.
        status: ``"success"`` when the task was solved at the end, ``"failure"`` when it was not, and ``"error"`` when
            the world, the agent or the machine broke: an error is neither.
        success_at_end: solved after the last action.
        success_once: solved after at least one action.
        steps: actions executed.
        decisions: looks at the world.
        deliberated: decisions whose mode was ``"deliberate"``.
        episode_return: the sum of rewards.
        terminated: the world ended the episode.
        truncated: the step cap ended it.
        cost: the ledger's counts (no seconds).
        metrics: the world's own measures at the last step (``info["metrics"]``), such as SPL.
        trajectory: the sha256 of actions, rewards and states; empty when nothing was executed.
        error: what went wrong in one line, or None.  The counts of an error cover what was done before it.
    """

    episode: EpisodeId
    status: Status
    success_at_end: bool = False
    success_once: bool = False
    steps: int = 0
    decisions: int = 0
    deliberated: int = 0
    episode_return: float = 0.0
    terminated: bool = False
    truncated: bool = False
    cost: Cost = dataclasses.field(default_factory=Cost)
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])
    trajectory: str = ""
    error: str | None = None

    @property
    def key(self) -> str:
        """The episode's name in file names."""
        return self.episode.key

    def to_line(self) -> str:
        """One line of JSON without the newline; equal records give equal lines."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data |= {"episode": self.episode.to_json(), "cost": self.cost.counts(), "metrics": dict(self.metrics)}
        return json.dumps({"key": self.key, **data}, allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> EpisodeRecord:
        """The inverse of `to_line`.

        Raises:
            ValueError: the line is not a record.
        """
        data = _object(line)
        key = data.pop("key", None)
        record = _EPISODE_READER.validate_json(json.dumps(data), strict=True, extra="forbid")
        if key != record.key:
            raise ValueError(f"the key {key!r} does not belong to the episode, whose key is {record.key!r}")
        return record


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttemptRecord:
    """One attempt at an episode: one line of ``attempts.jsonl``.  Differs whenever the run is repeated.

    Attributes:
        key: the episode's key.
        attempt: 1 for the first try since the driver was started.
        ending: how it ended; ``"died"`` is a worker process that ended by itself.
        worker: the worker's process id.
        started: when, in ISO 8601 with the time zone.
        seconds: wall seconds by stage: ``reset``, ``act``, ``world``, ``record`` and ``total``.
        latency: seconds of each decision by stage: ``act`` (the whole decision), ``world`` (executing its chunk), and
            the ledger's own stages as ``act.<stage>``, where a decision without the stage is left out.
        error: the traceback, or what became of the process; None when the episode finished.
    """

    key: str
    attempt: int
    ending: Ending
    worker: int
    started: str
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])
    latency: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict[str, Sequence[float]])
    error: str | None = None

    def to_line(self) -> str:
        """One line of JSON without the newline."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_line(cls, line: str) -> AttemptRecord:
        """The inverse of `to_line`.

        Raises:
            ValueError: the line is not a record.
        """
        return _ATTEMPT_READER.validate_json(line, strict=True, extra="forbid")


_EPISODE_READER = TypeAdapter(EpisodeRecord)
_ATTEMPT_READER = TypeAdapter(AttemptRecord)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder, read once.  Reading takes no lock, so a run in progress can be looked at.

    Attributes:
        path: the folder.
        manifest: the whole ``run.yaml``.
        planned: every episode that the run shall have, in order.
        episodes: the finished ones, in the planned order whatever order they ended in.
        attempts: every attempt, in the order they ended.
        notices: what the reader should tell a person, such as a torn last line that was left out.
    """

    path: Path
    manifest: Mapping[str, Any]
    planned: tuple[EpisodeId, ...]
    episodes: tuple[EpisodeRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    notices: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, Any]:
        """What was asked for: world, tasks, episodes, seed, agent and the options of both."""
        return self.manifest["config"]

    @property
    def world(self) -> Mapping[str, Any]:
        """What the world said of itself (`World.describe`)."""
        return self.manifest["world"]

    @property
    def agent(self) -> Mapping[str, Any]:
        """What the agent said of itself (`Agent.describe`)."""
        return self.manifest["agent"]

    @property
    def finished(self) -> bool:
        """Whether every planned episode has its record."""
        return len(self.episodes) == len(self.planned)

    def trace(self, key: str) -> Trace:
        """The trace of an episode.

        Raises:
            RecordError: there is none, or it is damaged.
        """
        return read_trace(self.path / TRACES, key)

    def summary(self) -> Summary:
        """The table, computed from the records."""
        from .summary import summarise

        return summarise(self)


def open_run(path: Path | str) -> Run:
    """Read a run folder.

    Raises:
        RecordError: the folder is not a run, is of another format version, or is damaged.
    """
    path = Path(path)
    manifest = read_manifest(path)
    planned = _planned(path / MANIFEST, manifest)
    episodes, torn = read_lines(path / EPISODES, EpisodeRecord.from_line)
    attempts, torn_too = read_lines(path / ATTEMPTS, AttemptRecord.from_line)
    _check_episodes(path / EPISODES, episodes, planned)
    place = {episode: index for index, episode in enumerate(planned)}
    return Run(
        path=path,
        manifest=manifest,
        planned=planned,
        episodes=tuple(sorted(episodes, key=lambda record: place[record.episode])),
        attempts=tuple(attempts),
        notices=tuple(notice for notice in (torn, torn_too) if notice),
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """The content of ``run.yaml``.

    Raises:
        RecordError: it is missing, damaged, or of another format version.
    """
    file = path / MANIFEST
    try:
        manifest = yaml.load(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    except FileNotFoundError as error:
        raise RecordError(f"{path} is not a run folder: it has no {MANIFEST}.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RecordError(f"{file} cannot be read: {error}") from error
    found = cast("dict[str, Any]", manifest).get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise RecordError(
            f"{path} has run format {found!r}; this thinktwice reads format {FORMAT}. "
            "Read it with the thinktwice version that its run.yaml names."
        )
    missing = {"thinktwice", "versions", "config", "world", "agent", "conventions", "episodes"} - set(
        cast("dict[str, Any]", manifest)
    )
    if missing:
        raise RecordError(f"{file} is damaged: it lacks {', '.join(sorted(missing))}.")
    return cast("dict[str, Any]", manifest)


def read_lines[T](file: Path, parse: Callable[[str], T]) -> tuple[list[T], str | None]:
    """The records of a file with one JSON object per line.

    A last line without its newline was being written when the writer was killed: it is left out.  Anything else that
    cannot be read is an error.

    Returns:
        The records, and a notice when a torn last line was left out.

    Raises:
        RecordError: a line is damaged; the message names it.
    """
    try:
        content = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise RecordError(f"{file} cannot be read: {error.strerror or error}.") from error
    *lines, tail = content.split(b"\n")
    records: list[T] = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(parse(line.decode()))
        except (ValueError, KeyError, TypeError, AttributeError, ThinkTwiceError) as error:
            raise RecordError(
                f"{file}, line {number} is damaged ({_reason(error)}): {line[:80]!r}. "
                "Only a last line without its newline can come from a killed run. Restore the file from a copy, or "
                "delete that line to have its episode played again with --resume."
            ) from error
    notice = f"{file}: the torn last line ({len(tail)} bytes) of a killed run was left out" if tail else None
    return records, notice


def _planned(file: Path, manifest: Mapping[str, Any]) -> tuple[EpisodeId, ...]:
    try:
        return tuple(EpisodeId.from_json(entry) for entry in manifest["episodes"])
    except (TypeError, IdentityError) as error:
        raise RecordError(f"{file} is damaged: its episodes cannot be read: {error}") from error


def _check_episodes(file: Path, episodes: Sequence[EpisodeRecord], planned: Sequence[EpisodeId]) -> None:
    known, seen = set(planned), set[EpisodeId]()
    for number, record in enumerate(episodes, start=1):
        if record.episode not in known:
            raise RecordError(f"{file}, line {number}: episode {record.key} is not among those that {MANIFEST} plans.")
        if record.episode in seen:
            raise RecordError(f"{file}, line {number}: episode {record.key} is recorded twice.")
        seen.add(record.episode)


def _object(line: str) -> dict[str, Any]:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError(f"expected a JSON object, got {type(data).__name__}")
    return cast("dict[str, Any]", data)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return f"no {error}" if isinstance(error, KeyError) else str(error)
