"""``thinktwice report RUN …``: write the report of a run, or of runs side by side."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from ..rollouts.config import Videos
from ..rollouts.report import write_report
from ..rollouts.report_runs import write_side_by_side
from ..rollouts.video import make_videos


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportArgs:
    """Write report.html into each run's folder; with several runs, also a page that pairs each with the first."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """The runs' folders."""
    out: Path = Path("runs.html")
    """The page of several runs."""
    video: Videos = "none"
    """Film episodes that have no video yet, by replaying them: none, failures or all."""
    workers: int = 1
    """Processes that film at once."""


def main(arguments: Sequence[str]) -> int:
    """Write the pages and say where they are."""
    args = tyro.cli(ReportArgs, prog="thinktwice report", args=list(arguments))
    for run in args.runs:
        for problem in make_videos(run, args.video, workers=args.workers, progress=_filmed):
            sys.stderr.write(f"{problem}\n")
        sys.stdout.write(f"{write_report(run)}\n")
    if len(args.runs) > 1:
        sys.stdout.write(f"{write_side_by_side(args.runs, args.out)}\n")
    return 0


def _filmed(key: str) -> None:
    sys.stderr.write(f"filmed {key}\n")
