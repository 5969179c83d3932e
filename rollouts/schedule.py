"""Which episode is played next, and what becomes of one whose worker was lost: one account for every engine."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from ..envs import EpisodeId
from ..errors import WorldError
from .messages import Assignment
from .records import AttemptRecord, Ending, EpisodeRecord


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ended:
    """An attempt ended.

    Attributes:
        attempt: how.
        record: the episode's record, or None when the episode will be tried again.
    """

    attempt: AttemptRecord
    record: EpisodeRecord | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Playing:
    """An episode that a worker has.

    Attributes:
        assignment: which, and which try it is.
        worker: the worker's process id.
        since: seconds of the monotonic clock.
        started: the time of day.
    """

    assignment: Assignment
    worker: int
    since: float = dataclasses.field(default_factory=time.monotonic)
    started: str = dataclasses.field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


class Schedule:
    """The episodes that wait, and how often each of them and the building of workers may fail.

    Args:
        episodes: to play, in this order.
        max_tries: how often an episode, or a build, is tried when the process dies or hangs.
    """

    def __init__(self, episodes: Sequence[EpisodeId], *, max_tries: int) -> None:
        self._waiting = deque(Assignment(episode=episode, attempt=1) for episode in episodes)
        self._max_tries = max_tries
        self._failed_builds = 0

    @property
    def waiting(self) -> int:
        """How many episodes nobody plays yet."""
        return len(self._waiting)

    def next(self, worker: int) -> Playing:
        """The next episode, for this worker.  Some must be waiting."""
        return Playing(assignment=self._waiting.popleft(), worker=worker)

    def lost(self, playing: Playing, ending: Ending, *, cause: str, log: str) -> Ended:
        """The worker died or hung: its episode is tried again, or was tried often enough and is an error.

        Args:
            playing: what it had.
            ending: how it ended.
            cause: what became of it.
            log: the end of what it printed.
        """
        assignment = playing.assignment
        attempt = AttemptRecord(
            key=assignment.episode.key,
            attempt=assignment.attempt,
            ending=ending,
            worker=playing.worker,
            started=playing.started,
            seconds={"total": round(time.monotonic() - playing.since, 6)},
            error=f"{cause}; the end of its log:\n{log}",
        )
        if assignment.attempt >= self._max_tries:
            error = f"{cause}, in each of {assignment.attempt} tries"
            return Ended(attempt=attempt, record=EpisodeRecord(episode=assignment.episode, status="error", error=error))
        self._waiting.append(dataclasses.replace(assignment, attempt=assignment.attempt + 1))
        return Ended(attempt=attempt, record=None)

    def built(self) -> None:
        """A worker is ready: whatever failed before was an accident."""
        self._failed_builds = 0

    def build_failed(self, report: str, *, log: str) -> None:
        """A worker could not be built.

        Raises:
            WorldError: that happened ``max_tries`` times in a row.
        """
        self._failed_builds += 1
        if self._failed_builds >= self._max_tries:
            raise WorldError(
                f"the world or the agent could not be built in {self._failed_builds} tries in a row; nothing was "
                f"recorded of the episodes that are left. The last try: {report}\n{log}"
            )
