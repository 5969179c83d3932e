"""``thinktwice train critic --data DIR … --out DIR``: train a critic on preference pairs."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Sequence

from ..agents.pairs.pairset import read_pairs
from ..agents.pairs.training.config import CriticTrainConfig
from ..agents.pairs.training.loop import CRITIC, CriticMetrics, read_metrics, train_critic
from ..agents.pairs.training.report import CALIBRATION, CURVE, measures, plot_calibration, plot_curve, write_card
from .training import StepsBar, parse_training

_PROGRAM = "thinktwice train critic"


def main(arguments: Sequence[str]) -> int:
    """Train, showing the losses, and write plots and model card.

    Returns:
        0 when it is done, 130 when it was interrupted.
    """
    config = parse(arguments)
    try:
        with StepsBar(config.steps, left="at most") as bar:
            evaluation = train_critic(config, report=functools.partial(_show, bar))
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
    """The configuration of a command line and its ``--config`` file; see `parse_training`."""
    return parse_training(
        CriticTrainConfig,
        arguments,
        program=_PROGRAM,
        description="Train a critic on preference pairs. --config names a YAML file with these options.",
    )


def _show(bar: StepsBar, metrics: CriticMetrics) -> None:
    held = None
    if metrics.validation is not None:
        held = f"{metrics.validation:.4f}, accuracy {metrics.accuracy:.3f}"
    bar.show(metrics.step, metrics.loss, held)
