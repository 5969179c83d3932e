"""What a person sees while a run goes on: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from .config import Plan
from .processes import render_threads
from .schedule import Ended
from .writing import RunWriter

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """Shows nothing: what `thinktwice.rollouts.run` uses when it is given no other."""

    def begin(self, plan: Plan, writer: RunWriter) -> None:
        """The plan is made and the folder is locked; nothing was played yet."""

    def playing(self) -> None:
        """The first worker has built its world and its agent."""

    def ended(self, event: Ended) -> None:
        """An attempt ended and was recorded."""

    def end(self) -> None:
        """Every episode was played."""

    def say(self, line: str) -> None:
        """Anything else worth a line."""


class ShownProgress(Progress):
    """Shows the run on standard error.

    Args:
        terminal: draw a bar instead of printing lines; None asks standard error whether it is a terminal.
    """

    def __init__(self, *, terminal: bool | None = None) -> None:
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._counts = {"success": 0, "failure": 0, "error": 0}
        self._total, self._began, self._first = 0, 0.0, 0

    def begin(self, plan: Plan, writer: RunWriter) -> None:
        """Say what will be played, and with how many processes and threads."""
        config = plan.config
        for record in writer.done:
            self._counts[record.status] += 1
        self._total, self._first, self._began = len(plan.episodes), len(writer.done), time.monotonic()
        for notice in writer.notices:
            self.say(f"note: {notice}")
        tasks = len({episode.task for episode in plan.episodes})
        already = f", {self._first} already recorded" if self._first else ""
        self.say(f"{config.world}: {self._total} episodes of {tasks} tasks{already}, agent {config.agent}")
        threads = f"{config.threads} numeric"
        if config.engine == "local":
            threads += f" and {render_threads(config.workers)} rendering"
        where = " of a Ray cluster" if config.engine == "ray" else ""
        self.say(f"{config.workers} workers{where} with {threads} threads each; records in {config.out}")
        if plan.shared is not None:
            self.say(plan.shared.line())
        self.say("starting; building worlds and agents can take a minute or more")
        if self._terminal:
            self._start_bar()

    def playing(self) -> None:
        """Measure from now on: building says nothing about how long an episode takes."""
        self._began = time.monotonic()

    def ended(self, event: Ended) -> None:
        """Count the episode, or say why an attempt failed."""
        record, attempt = event.record, event.attempt
        if attempt.ending in ("died", "timeout"):
            reason = (attempt.error or "").partition(";")[0]
            self.say(f"{attempt.key}, try {attempt.attempt}: {reason}")
        if record is None:
            return
        self._counts[record.status] += 1
        if record.status == "error":
            self.say(f"{record.key}: ERROR {record.error}")
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, **self._fields())
        else:
            done = sum(self._counts.values())
            which = record.episode.init_state
            # A key is long, and its end is what differs where no stored state was begun from.
            where = f"state {which}" if which is not None else record.key[-8:]
            line = f"{done}/{self._total} {record.status:<7} {record.episode.task} {where}"
            self.say(", ".join(part for part in (line, self._fields()["solved"], self._left(done)) if part))

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[solved]}"),
            TextColumn("{task.fields[broken]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=self._total, completed=self._first, **self._fields())
        self._bar.start()

    def _fields(self) -> dict[str, Any]:
        judged = self._counts["success"] + self._counts["failure"]
        errors = self._counts["error"]
        return {
            "solved": f"{self._counts['success']}/{judged} solved",
            "broken": f"[red]{errors} errors[/red]" if errors else "",
        }

    def _left(self, done: int) -> str:
        fresh = done - self._first
        if not fresh or done == self._total:
            return ""
        seconds = (time.monotonic() - self._began) / fresh * (self._total - done)
        return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
