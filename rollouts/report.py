"""``report.html``: a run on one page that opens from the disk, with nothing to fetch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import RecordError
from .files import write_atomically
from .records import EpisodeRecord, Run, open_run
from .report_details import EpisodeDetails, as_json, episode_details
from .report_media import choose_media
from .report_pictures import Budget
from .summary import Group, Summary

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT = "report.html"
_HERE = Path(__file__).parent
SCRIPTS = ("report", "report_timeline", "report_candidates", "report_map", "report_transcript", "report_episode")
"""Of a page that shows episodes, in the order in which they are read."""
SPOKEN = {"success": "solved", "failure": "not solved", "error": "error"}
"""What the pages call each outcome."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """One run in a report: what the template reads.

    Attributes:
        name: the folder's name.
        run: the records.
        summary: the table.
        instructions: task name to the task in words.
    """

    name: str
    run: Run
    summary: Summary
    instructions: Mapping[str, str]

    def group(self, task: str) -> Group | None:
        """The run's figures of a task, or None where it did not play it."""
        return next((group for group in self.summary.tasks if group.task == task), None)


def write_report(run_folder: Path) -> Path:
    """Write ``report.html`` into a run folder, finished or not, and return where it lies.

    Raises:
        RecordError: the run cannot be read, or the folder cannot be written.
    """
    run = open_run(run_folder)
    budget = Budget()
    # Failures first: they are what a person looks at, and the room for pictures is limited.
    ordered = sorted(run.episodes, key=lambda record: record.status == "success")
    details = {record.key: episode_details(run, record, budget) for record in ordered}
    column = column_of(run, details)
    html = render_page(
        "report.html",
        scripts=SCRIPTS,
        column=column,
        episodes=[_row(record, details[record.key], column) for record in run.episodes],
        media=choose_media(run),
        pictures={key: detail.pictures for key, detail in details.items()},
        details={record.key: as_json(details[record.key].plain) for record in run.episodes},
        asked=as_yaml({"config": run.config, "agent": run.agent}),
        manifest=as_yaml({key: value for key, value in run.manifest.items() if key != "episodes"}),
    )
    return write_page(run_folder / REPORT, html)


def column_of(run: Run, details: Mapping[str, EpisodeDetails]) -> Column:
    """A run with its table.

    Args:
        run: the records.
        details: of its episodes, as far as they are known already.
    """
    instructions: dict[str, str] = {}
    for record in run.episodes:
        known = instructions.get(record.episode.task)
        if not known:
            detail = details.get(record.key) or episode_details(run, record)
            instructions[record.episode.task] = detail.instruction
    return Column(name=run.path.resolve().name, run=run, summary=run.summary(), instructions=instructions)


def _row(record: EpisodeRecord, details: EpisodeDetails, column: Column) -> dict[str, Any]:
    """One line of the episode list."""
    instruction = details.instruction or column.instructions.get(record.episode.task) or record.episode.task
    spoken = SPOKEN[record.status]
    searched = [record.key, record.episode.task, instruction, spoken, record.error or "", details.searched]
    return {
        "record": record,
        "instruction": instruction,
        "spoken": spoken,
        "search": " ".join(" ".join(searched).lower().split()),
    }


def render_page(template: str, *, scripts: Sequence[str] = ("report",), **values: Any) -> str:
    """A page of this library's look, with its style and scripts inside.

    Args:
        template: its name in this folder.
        scripts: names of scripts in this folder, in the order in which they are read.
        values: what the template reads besides ``style`` and ``script``.
    """
    style = (_HERE / "report.css").read_text(encoding="utf-8")
    script = "\n".join((_HERE / f"{name}.js").read_text(encoding="utf-8") for name in scripts)
    return _environment().get_template(template).render(style=style, script=script, **values)


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Task strings, model answers and paths are other people's text: everything is escaped, and in the JSON for the
    # script so is "<", which alone can close the element that holds it.
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = _percent
    environment.filters["duration"] = _duration
    return environment


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _duration(seconds: float) -> str:
    """Wall time for a person: ``850 ms``, ``12.3 s``, ``4 min``, ``2 h 05 min``."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def as_yaml(data: Mapping[str, Any]) -> str:
    """Plain data for a person to read."""
    return yaml.safe_dump(json.loads(json.dumps(data, default=str)), sort_keys=False, allow_unicode=True)


def write_page(path: Path, html: str) -> Path:
    """Write a page, complete or not at all, and return where it lies.

    Raises:
        RecordError: it cannot be written.
    """
    try:
        write_atomically(path, lambda file: file.write(html.encode()))
    except UnicodeEncodeError as error:
        raise RecordError(f"{path} cannot be written: the records hold text that is no Unicode ({error}).") from error
    return path
