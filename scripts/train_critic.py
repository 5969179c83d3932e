"""``thinktwice train critic --data DIR … --out DIR``: train a critic on preference pairs."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..agents.pairs.pairset import read_pairs
from ..agents.pairs.training.config import CriticTrainConfig
from ..agents.pairs.training.loop import CRITIC, CriticMetrics, read_metrics, train_critic
from ..agents.pairs.training.report import CALIBRATION, CURVE, measures, plot_calibration, plot_curve, write_card
from .config import read_config, sections

_PROGRAM = "thinktwice train critic"


def main(arguments: Sequence[str]) -> int:
    """Train, showing the losses, and write plots and model card.

    Returns:
        0 when it is done, 130 when it was interrupted.
    """
    config = parse(arguments)
    try:
        with _Shown(config.steps) as shown:
            evaluation = train_critic(config, report=shown.report)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. Continue from the last checkpoint with the same command and --resume.\n")
        return 130
    metrics = read_metrics(config.out)
    plot_curve(metrics, config.out / CURVE)
    plot_calibration(evaluation, config.out / CALIBRATION)
    command = shlex.join([*_PROGRAM.split(), *arguments])
    card = write_card(config, read_pairs(config.data), metrics, evaluation, command=command)
    width = max(len(name) for name, _ in measures(evaluation))
    for name, value in measures(evaluation):
        sys.stdout.write(f"{name:<{width}}  {value}\n")
    sys.stdout.write(f"critic    {config.out / CRITIC}\ncard      {card}\n")
    sys.stdout.write(f"plots     {config.out / CURVE}, {config.out / CALIBRATION}\n")
    return 0


def parse(arguments: Sequence[str]) -> CriticTrainConfig:
    """The configuration of a command line and its ``--config`` file.

    Raises:
        ConfigError: the file is wrong, or a value makes no sense.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--config", type=Path)
    given, rest = early.parse_known_args(arguments)
    values = read_config(given.config) if given.config is not None else {}
    default = sections(values, {"training": CriticTrainConfig}, str(given.config))["training"]
    return tyro.cli(
        CriticTrainConfig,
        prog=_PROGRAM,
        description="Train a critic on preference pairs. --config names a YAML file with these options.",
        args=rest,
        default=default,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


class _Shown:
    """A bar on a terminal, a line per validation elsewhere."""

    def __init__(self, steps: int) -> None:
        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        times = (TimeElapsedColumn(), TextColumn("at most"), TimeRemainingColumn())
        self._bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> _Shown:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, metrics: CriticMetrics) -> None:
        """Show one line of metrics."""
        text = f"loss {metrics.loss:.4f}"
        self._bar.update(self._task, completed=metrics.step, description=text)
        if metrics.validation is not None:
            held = f"held out {metrics.validation:.4f}, accuracy {metrics.accuracy:.3f}"
            self._bar.console.print(f"step {metrics.step}: {text}, {held}")
