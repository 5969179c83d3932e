"""``thinktwice study FILE``: play several arms on the same episodes, and sum them up."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..errors import ConfigError
from ..rollouts.config import check_values
from ..rollouts.progress import Progress, ShownProgress
from ..rollouts.study import StudyConfig, play_study, write_study
from ..rollouts.study.summary import PAGE
from .config import read_config


@dataclasses.dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Play several arms on the same episodes and write summary.json, figures and study.html.

    A study that was stopped goes on where it was when the same command is given again.
    """

    file: Annotated[Path, tyro.conf.arg(metavar="FILE"), tyro.conf.Positional]
    """The study in YAML; docs/study.md describes it."""
    out: Path | None = None
    """Its folder, instead of the file's."""
    workers: int | None = None
    """Processes that play at once, instead of the file's."""
    arms: tuple[str, ...] = ()
    """Only these arms."""
    no_play: bool = False
    """Sum up what was played, finished or not, and play nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        0 when every episode was judged, 1 when some ended in an error or are missing, 130 when it was interrupted.
    """
    options = tyro.cli(StudyOptions, prog="thinktwice study", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    config = read_study(options)
    if not options.no_play:
        try:
            play_study(config, progress=_announce)
        except KeyboardInterrupt:
            sys.stderr.write("\nStopped. Everything that was finished is recorded; give the same command to go on.\n")
            return 130
    summary = write_study(config)
    sys.stdout.write(_table(summary))
    sys.stdout.write(f"\ntable   {config.out / 'summary.json'}\npage    {config.out / PAGE}\n")
    return 1 if summary["unfinished"] or any(arm["errors"] for arm in summary["arms"].values()) else 0


def read_study(options: StudyOptions) -> StudyConfig:
    """The study that a file and the command line ask for.

    Raises:
        ConfigError: the file is missing or wrong, or nobody says where the study lies.
        UsageError: the command line names an arm that the study does not have.
    """
    values = read_config(options.file)
    tasks = values.get("tasks")
    if isinstance(tasks, int | list):
        values["tasks"] = ",".join(str(task) for task in tasks) if isinstance(tasks, list) else str(tasks)
    if options.out is not None:
        values["out"] = str(options.out)
    if options.workers is not None:
        values["workers"] = options.workers
    missing = [name for name in ("out", "world", "arms") if name not in values]
    if missing:
        raise ConfigError(f"the study {options.file} does not say {missing[0]!r}. See docs/study.md for an example.")
    config = StudyConfig(**check_values(values, StudyConfig, f"the study {options.file}"))
    return config.select(options.arms) if options.arms else config


def _announce(title: str) -> Progress:
    progress = ShownProgress()
    progress.say(title)
    return progress


def _table(summary: dict[str, Any]) -> str:
    """The arms and pairs in a few lines."""
    width = max(len(name) for name in (*summary["arms"], *summary["paired"], "arm"))
    lines = [f"{'arm':<{width}}  solved      rate   deliberated      NFE  ms per decision"]
    for name, arm in summary["arms"].items():
        spent = arm["seconds_per_decision"]
        lines.append(
            f"{name:<{width}}  {arm['successes']:>4}/{arm['episodes']:<4}  {_percent(arm['rate']):>6}  "
            f"{_percent(arm['deliberation_rate']):>11}  {_number(arm['nfe']):>8}  "
            f"{_number(1000 * spent['mean'] if spent else None):>8}"
        )
    for name, pair in summary["paired"].items():
        lines.append(
            f"{name:<{width}}  {pair['rescues']} rescues, {pair['spoils']} spoils of {pair['pairs']} pairs, "
            f"p = {pair['mcnemar_p']:.3g}"
        )
    return "\n".join(lines) + "\n"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
