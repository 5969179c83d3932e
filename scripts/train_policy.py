"""``thinktwice train policy --data DIR/frames --out DIR``: train the flow-matching policy."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Sequence

from ..agents.training.config import TrainConfig
from ..agents.training.demonstrations import read_folder
from ..agents.training.loop import Metrics, read_metrics, train
from ..agents.training.report import CURVE, plot_curve, write_card
from .training import StepsBar, parse_training

_PROGRAM = "thinktwice train policy"


def main(arguments: Sequence[str]) -> int:
    """Train, showing the losses, and write curve and model card.

    Returns:
        0 when it is done, 130 when it was interrupted.
    """
    config = parse(arguments)
    try:
        with StepsBar(config.steps) as bar:
            policy = train(config, report=functools.partial(_show, bar))
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
    """The configuration of a command line and its ``--config`` file; see `parse_training`."""
    return parse_training(
        TrainConfig,
        arguments,
        program=_PROGRAM,
        description="Train the flow-matching policy. --config names a YAML file with these options.",
    )


def _show(bar: StepsBar, metrics: Metrics) -> None:
    held = None
    if metrics.validation is not None:
        held = f"{metrics.validation:.4f}, action error {metrics.error:.4f}"
    bar.show(metrics.step, metrics.loss, held)
