"""``thinktwice compare RUN_A RUN_B``: pair two runs by episode and test the difference."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from ..rollouts import open_run
from ..rollouts.comparison import compare
from ..rollouts.tables import print_comparison


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Pair two runs by episode identity and test the difference.

    The difference is B minus A.
    """

    run_a: Annotated[Path, tyro.conf.arg(metavar="RUN_A"), tyro.conf.Positional]
    """The run to start from."""
    run_b: Annotated[Path, tyro.conf.arg(metavar="RUN_B"), tyro.conf.Positional]
    """The run that may be better."""
    accept: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """A difference between the worlds that is meant, by its path in run.yaml, such as world.rendering. Repeatable."""
    seed: int = 0
    """Of the bootstraps."""
    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the status is 0 whichever run is better."""
    options = tyro.cli(
        CompareOptions, prog="thinktwice compare", args=arguments, config=(tyro.conf.FlagCreatePairsOff,)
    )
    run_a, run_b = open_run(options.run_a), open_run(options.run_b)
    for notice in (*run_a.notices, *run_b.notices):
        sys.stderr.write(f"note: {notice}\n")
    for run in (run_a, run_b):
        if not run.finished:
            sys.stderr.write(f"note: {run.path} is unfinished ({len(run.episodes)} of {len(run.planned)} episodes)\n")
    comparison = compare(run_a, run_b, accept=options.accept, seed=options.seed)
    if options.json:
        sys.stdout.write(json.dumps(comparison.to_json(), indent=2, allow_nan=False) + "\n")
    else:
        print_comparison(comparison)
    return 0
