"""``thinktwice rerun RUN EPISODE --out FILE.rrd``: an episode for the Rerun viewer."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from ..rollouts.rerun_export import export_episode


@dataclasses.dataclass(frozen=True, kw_only=True)
class RerunArgs:
    """Replay an episode of a run and write it for the Rerun viewer: pictures, doubt, candidates, actions, state."""

    run: tyro.conf.Positional[Path]
    """The run's folder."""
    episode: tyro.conf.Positional[str]
    """The episode's key, as episodes.jsonl and the report show it, or its beginning."""
    out: Path = Path("episode.rrd")
    """The file."""


def main(arguments: Sequence[str]) -> int:
    """Write the file and say how to open it."""
    args = tyro.cli(RerunArgs, prog="thinktwice rerun", args=list(arguments))
    out = export_episode(args.run, args.episode, args.out)
    sys.stdout.write(f"recording {out}\nopen      rerun {out}\n")
    return 0
