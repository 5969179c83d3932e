"""``thinktwice train policy --data DIR/frames --out DIR``: train the flow-matching policy."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..agents.training.config import TrainConfig
from ..agents.training.demonstrations import read_folder
from ..agents.training.loop import Metrics, read_metrics, train
from ..agents.training.report import CURVE, plot_curve, write_card
from .config import read_config, sections

_PROGRAM = "thinktwice train policy"


def main(arguments: Sequence[str]) -> int:
    """Train, showing the losses, and write curve and model card.

    Returns:
        0 when it is done, 130 when it was interrupted.
    """
    config = parse(arguments)
    try:
        with _Shown(config.steps) as shown:
            policy = train(config, report=shown.report)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Continue from the last checkpoint with the same command and --resume.\n")
        return 130
    metrics = read_metrics(config.out)
    plot_curve(metrics, config.out / CURVE)
    card = write_card(config, read_folder(config.data), metrics, command=shlex.join([*_PROGRAM.split(), *arguments]))
    sys.stdout.write(f"policy    {policy}\ncurve     {config.out / CURVE}\ncard      {card}\n")
    sys.stdout.write(f"try       thinktwice rollout WORLD --policy bundled:{shlex.quote(str(policy))} …\n")
    return 0


def parse(arguments: Sequence[str]) -> TrainConfig:
    """The configuration of a command line and its ``--config`` file.

    Raises:
        ConfigError: the file is wrong, or a value makes no sense.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--config", type=Path)
    given, rest = early.parse_known_args(arguments)
    values = read_config(given.config) if given.config is not None else {}
    default = sections(values, {"training": TrainConfig}, str(given.config))["training"]
    return tyro.cli(
        TrainConfig,
        prog=_PROGRAM,
        description="Train the flow-matching policy. --config names a YAML file with these options.",
        args=rest,
        default=default,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


class _Shown:
    """A bar on a terminal, a line per validation elsewhere."""

    def __init__(self, steps: int) -> None:
        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> _Shown:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, metrics: Metrics) -> None:
        """Show one line of metrics."""
        text = f"loss {metrics.loss:.4f}"
        self._bar.update(self._task, completed=metrics.step, description=text)
        if metrics.validation is not None:
            held = f"held out {metrics.validation:.4f}, action error {metrics.error:.4f}"
            line = f"step {metrics.step}: {text}, {held}"
            self._bar.console.print(line)
