"""What the training commands share: their options with a ``--config`` file, and a bar of the steps."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .config import read_config, sections


def parse_training[T](config: type[T], arguments: Sequence[str], *, program: str, description: str) -> T:
    """The configuration of a command line and its ``--config`` file.

    Raises:
        ConfigError: the file is wrong, or a value makes no sense.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--config", type=Path)
    given, rest = early.parse_known_args(arguments)
    values = read_config(given.config) if given.config is not None else {}
    default: Any = sections(values, {"training": config}, str(given.config))["training"]
    return tyro.cli(
        config,
        prog=program,
        description=description,
        args=rest,
        default=default,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


class StepsBar:
    """A bar on a terminal, a line per validation elsewhere.

    Args:
        steps: of the whole training.
        left: what stands before the remaining time.
    """

    def __init__(self, steps: int, *, left: str = "left") -> None:
        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        times = (TimeElapsedColumn(), TextColumn(left), TimeRemainingColumn())
        self._bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=steps)

    def __enter__(self) -> StepsBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, step: int, loss: float, held_out: str | None) -> None:
        """Show the loss after a step, and what was measured on held-out episodes in a line of its own."""
        text = f"loss {loss:.4f}"
        self._bar.update(self._task, completed=step, description=text)
        if held_out is not None:
            self._bar.console.print(f"step {step}: {text}, held out {held_out}")
