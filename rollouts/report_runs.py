"""One page of several runs: their tables side by side, and each run paired with the first."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import UsageError
from .records import EpisodeRecord, open_run
from .report import REPORT, SCRIPTS, SPOKEN, Column, as_yaml, column_of, render_page, write_page
from .report_details import as_json, episode_details
from .report_media import Media, Spent, choose_media
from .report_pairs import KINDS, Pair, pair_runs
from .report_pictures import Budget

DETAIL_BUDGET = 8_000_000
"""Characters of the episodes that can be opened on the page; the others are linked."""
_OPENED = ("rescue", "spoil", "error")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two runs of a pairing.

    Attributes:
        letter: ``"A"`` or ``"B"``.
        number: the run's place among all runs of the page.
        column: the run with its table.
    """

    letter: str
    number: int
    column: Column

    def name(self, record: EpisodeRecord) -> str:
        """What an episode of this run is called on the page."""
        return f"{self.number}/{record.key}"


@dataclasses.dataclass
class _Contents:
    """The episodes that can be opened on the page, by their names on it."""

    folder: Path
    media: dict[str, Media] = dataclasses.field(default_factory=dict[str, Media])
    pictures: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict[str, "tuple[str, ...]"])
    details: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    left: int = DETAIL_BUDGET
    budget: Budget = dataclasses.field(default_factory=Budget)
    spent: Spent = dataclasses.field(default_factory=Spent)

    def add(self, side: Side, records: Sequence[EpisodeRecord]) -> None:
        """Take in a run's episodes, while there is room."""
        run, added = side.column.run, list[EpisodeRecord]()
        for record in records:
            name = side.name(record)
            if name in self.details:
                continue
            details = episode_details(run, record, self.budget)
            text = as_json(details.plain)
            if len(text) > self.left:
                break
            self.left -= len(text)
            self.details[name], self.pictures[name] = text, details.pictures
            added.append(record)
        media = choose_media(run, added, page=self.folder, spent=self.spent)
        self.media |= {f"{side.number}/{key}": medium for key, medium in media.items()}


def write_side_by_side(run_folders: Sequence[Path], out: Path) -> Path:
    """Write one page with the tables of several runs beside one another, and every later run paired with the first.

    Raises:
        UsageError: fewer than two runs.
        RecordError: a run cannot be read, or the page cannot be written.
    """
    if len(run_folders) < 2:
        raise UsageError("a page of several runs needs at least two of them.")
    columns = [column_of(run, {}) for run in map(open_run, run_folders)]
    tasks = list(dict.fromkeys(group.task for column in columns for group in column.summary.tasks))
    instructions = {task: text for column in columns for task, text in column.instructions.items()}
    contents = _Contents(folder=out.parent)
    first = Side(letter="A", number=0, column=columns[0])
    seconds = [Side(letter="B", number=number, column=column) for number, column in enumerate(columns[1:], 1)]
    pairings = [_pairing(first, second, contents) for second in seconds]
    html = render_page(
        "report_runs.html",
        scripts=SCRIPTS,
        columns=columns,
        tasks=tasks,
        instructions=instructions,
        pairings=pairings,
        kinds=KINDS,
        media=contents.media,
        pictures=contents.pictures,
        details=contents.details,
        asked={column.name: as_yaml({"config": column.run.config, "agent": column.run.agent}) for column in columns},
    )
    return write_page(out, html)


def _pairing(first: Side, second: Side, contents: _Contents) -> dict[str, Any]:
    """What the page says about two runs."""
    pairing = pair_runs(first.column.run, second.column.run)
    shown = [pair for pair in pairing.pairs if pair.kind in _OPENED]
    contents.add(first, [pair.a for pair in shown])
    contents.add(second, [pair.b for pair in shown])
    return {"b": second.column, "pairing": pairing, "rows": [_row(p, first, second, contents) for p in pairing.pairs]}


def _row(pair: Pair, first: Side, second: Side, contents: _Contents) -> dict[str, Any]:
    """One line of the list of pairs."""
    sides = [_shown(side, record, contents.folder) for side, record in ((first, pair.a), (second, pair.b))]
    return {
        "pair": pair,
        "instruction": first.column.instructions.get(pair.a.episode.task) or pair.a.episode.task,
        "sides": sides,
        "opens": all(side["name"] in contents.details for side in sides),
    }


def _shown(side: Side, record: EpisodeRecord, folder: Path) -> dict[str, Any]:
    report = Path(os.path.relpath(side.column.run.path / REPORT, folder)).as_posix()
    return {
        "letter": side.letter,
        "name": side.name(record),
        "column": side.column,
        "record": record,
        "spoken": SPOKEN[record.status],
        "link": f"{quote(report)}#{quote(record.key)}",
    }
