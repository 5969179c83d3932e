"""``thinktwice demos WORLD --out DIR``: make demonstrations with a scripted expert."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..agents.demonstrator import DemonstratorOptions
from ..rollouts.demos import DemoOptions, collect
from ..rollouts.lerobot_export import export
from ..rollouts.progress import ShownProgress

_PROGRAM = "thinktwice demos"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemosArgs(DemoOptions, DemonstratorOptions):
    """Make demonstrations: the expert's actions, also from where it was disturbed; only successes are kept.

    Placements are fresh ones alone, so that stored initial states stay for evaluation.  A collection that was stopped
    continues with --resume.
    """

    world: tyro.conf.Positional[str]
    """The world, such as libero_object."""


def main(arguments: Sequence[str]) -> int:
    """Collect, and say what was kept.

    Returns:
        0 when every attempt was judged, 1 when some broke, 130 when it was interrupted.
    """
    args = tyro.cli(DemosArgs, prog=_PROGRAM, args=list(arguments))
    options, demonstrator = _part(args, DemoOptions), _part(args, DemonstratorOptions)
    bar = Progress(
        TextColumn("replaying with cameras"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    shown = bar.add_task("", total=None)

    def show(done: int, total: int) -> None:
        # Begun at the first replay: a terminal shows one bar at a time, and the attempts have their own.
        bar.start()
        bar.update(shown, completed=done, total=total)

    try:
        collected = collect(args.world, options, demonstrator, progress=ShownProgress(), rendered=show)
        if options.lerobot:
            collected = dataclasses.replace(collected, dataset=export(options.out))
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was finished is kept; give the same command with --resume to continue.\n")
        return 130
    finally:
        bar.stop()
    sys.stdout.write(
        f"kept      {collected.kept} demonstrations, {collected.frames} frames: {options.out / 'frames'}\n"
        f"counted   {collected.failures} failures and {collected.errors} errors, not kept\n"
    )
    if collected.dataset is not None:
        sys.stdout.write(f"data set  {collected.dataset}\n")
    return 1 if collected.errors else 0


def _part[T](args: DemosArgs, options: type[T]) -> T:
    names = [field.name for field in dataclasses.fields(options)]  # pyright: ignore[reportArgumentType]  a dataclass
    return options(**{name: getattr(args, name) for name in names})
