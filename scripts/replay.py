"""``thinktwice replay LOG``: show a deployment's log, or convert it to a LeRobotDataset."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from ..rollouts.deploy_replay import read_log, summarise, to_dataset


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplayArgs:
    """Show a deployment's log; --out converts it. Foxglove and other MCAP viewers open the log itself."""

    log: tyro.conf.Positional[Path]
    """The MCAP file."""
    out: Path | None = None
    """Write the commands that were sent as a LeRobotDataset into this folder."""


def main(arguments: Sequence[str]) -> int:
    """Print the log, and convert it when asked."""
    args = tyro.cli(ReplayArgs, prog="thinktwice replay", args=list(arguments))
    log = read_log(args.log)
    sys.stdout.write(summarise(log) + "\n")
    if args.out is not None:
        count = to_dataset(log, args.out)
        sys.stdout.write(f"data set  {args.out} ({count} episodes)\n")
    return 0
