"""``report.html``: a run on one page that opens from the disk, with nothing to fetch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import RecordError, UsageError
from .files import write_atomically
from .records import EpisodeRecord, Run, open_run
from .report_details import EpisodeDetails, episode_details
from .report_media import choose_media
from .summary import Group, Summary
from .video import frame_rate

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT = "report.html"
_HERE = Path(__file__).parent
_SPOKEN = {"success": "solved", "failure": "not solved", "error": "error"}


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
    details = {record.key: episode_details(run, record) for record in run.episodes}
    column = _column(run, details)
    html = render_page(
        "report.html",
        column=column,
        episodes=[_row(record, details[record.key], column) for record in run.episodes],
        media=choose_media(run),
        details={key: json.dumps(detail.plain) for key, detail in details.items()},
        asked=_yaml({"config": run.config, "agent": run.agent}),
        manifest=_yaml({key: value for key, value in run.manifest.items() if key != "episodes"}),
        fps=frame_rate(run.manifest.get("conventions", {}).get("control_hz")),
    )
    return write_page(run_folder / REPORT, html)


def write_side_by_side(run_folders: Sequence[Path], out: Path) -> Path:
    """Write one page with the tables of several runs beside one another.

    Raises:
        UsageError: fewer than two runs.
        RecordError: a run cannot be read, or the page cannot be written.
    """
    if len(run_folders) < 2:
        raise UsageError("a page of several runs needs at least two of them.")
    columns = [_column(run, {}) for run in map(open_run, run_folders)]
    tasks = list(dict.fromkeys(group.task for column in columns for group in column.summary.tasks))
    instructions = {task: text for column in columns for task, text in column.instructions.items()}
    html = render_page(
        "report_runs.html",
        columns=columns,
        tasks=tasks,
        instructions=instructions,
        asked={column.name: _yaml({"config": column.run.config, "agent": column.run.agent}) for column in columns},
    )
    return write_page(out, html)


def _column(run: Run, details: Mapping[str, EpisodeDetails]) -> Column:
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
    spoken = _SPOKEN[record.status]
    searched = [record.key, record.episode.task, instruction, spoken, record.error or "", details.searched]
    return {
        "record": record,
        "instruction": instruction,
        "spoken": spoken,
        "search": " ".join(" ".join(searched).lower().split()),
    }


def render_page(template: str, **values: Any) -> str:
    """A page of this library's look, with its style and script inside.

    Args:
        template: its name in this folder.
        values: what the template reads besides ``style`` and ``script``.
    """
    own = {name: (_HERE / f"report.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    return _environment().get_template(template).render(style=own["css"], script=own["js"], **values)


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


def _yaml(data: Mapping[str, Any]) -> str:
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
