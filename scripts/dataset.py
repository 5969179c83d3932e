"""``thinktwice dataset RUN --out DIR``: convert a run to a LeRobotDataset."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from ..rollouts.dataset import DatasetOptions, convert
from ..rollouts.records import EpisodeRecord


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetArgs(DatasetOptions):
    """Convert a run to a LeRobotDataset (format 3).

    Every episode is replayed in its world and compared with its record, so that frames and actions belong together.
    A conversion that was stopped continues where it was when the same command is given again.
    """

    run: tyro.conf.Positional[Path]
    """The run's folder."""


def main(arguments: Sequence[str]) -> int:
    """Convert, and say how to load the result."""
    args = tyro.cli(DatasetArgs, prog="thinktwice dataset", args=list(arguments))
    options = DatasetOptions(**{field.name: getattr(args, field.name) for field in dataclasses.fields(DatasetOptions)})
    _hush()
    try:
        out = convert(args.run, options, progress=_say)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Give the same command again to continue.\n")
        return 130
    repo_id = options.repo_id or f"thinktwice/{out.name}"
    sys.stdout.write(
        f"\ndata set  {out}\nload      LeRobotDataset({repo_id!r}, root={str(out)!r})\n"
        f"train     lerobot-train --dataset.repo_id={shlex.quote(repo_id)} --dataset.root={shlex.quote(str(out))} …\n"
    )
    return 0


def _say(done: int, total: int, record: EpisodeRecord) -> None:
    sys.stdout.write(f"{done:>5} of {total}  {record.key}  {record.status}, {record.steps} frames\n")
    sys.stdout.flush()


def _hush() -> None:
    """Keep the AV1 encoder and LeRobot's progress bars from writing a page per episode; read when they load."""
    os.environ.setdefault("SVT_LOG", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")
