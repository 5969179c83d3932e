"""The course of every training here: steps, checks at every so many of them, and the file of metrics.

Every random draw of a step comes from the run's seed and the step's number.  So a run that is stopped after any
checkpoint and resumed gives bit for bit the weights and the curve of one that was not (on the same machine, with the
same number of threads).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Collection, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import RecordError
from .base_config import BaseTrainConfig
from .learner import Learner
from .state import claim, cut_lines

METRICS = "metrics.jsonl"

_OPERATIONAL = ("data", "out", "init", "resume", "device", "threads", "log_every")
"""Settings that do not decide the course of training; the data does, but not where it lies."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MetricsLine:
    """One line of ``metrics.jsonl``.

    Attributes:
        step: how many steps are done.
        loss: the mean training loss since the last line.
        lr: the learning rate.
        validation: the averaged weights' loss on held-out episodes, or None where it was not measured.
        seconds: wall seconds since the last line.
    """

    step: int
    loss: float
    lr: float
    validation: float | None = None
    seconds: float


@contextlib.contextmanager
def claimed(config: BaseTrainConfig) -> Generator[None]:
    """While this is open, the run owns its folder and its number of threads, and leaves the global generators alone.

    Raises:
        RecordError: the folder holds another run, or cannot be made.
    """
    import torch

    claim(config.out, resume=config.resume)
    if config.threads:
        torch.set_num_threads(config.threads)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield


def decisive(config: BaseTrainConfig, *, operational: Collection[str] = ()) -> dict[str, Any]:
    """The settings that decide the course of training, which must be the same when it is resumed.

    Args:
        config: all settings.
        operational: more that do not, besides those of every training.
    """
    without = {*_OPERATIONAL, *operational}
    return {name: value for name, value in dataclasses.asdict(config).items() if name not in without}


def steps_done(learner: Learner, config: BaseTrainConfig, *, compared: dict[str, Any]) -> int:
    """Bring learner and metrics to where the folder stands: at its last checkpoint when resumed, else at 0.

    Raises:
        RecordError: the folder cannot be resumed, or with other settings alone.
    """
    done = learner.load(config.out, config=compared) if config.resume else 0
    cut_lines(config.out / METRICS, done)
    return done


def play_course[M: MetricsLine](
    learner: Learner,
    config: BaseTrainConfig,
    line: type[M],
    *,
    first: int,
    step: Callable[[int], float],
    check: Callable[[], tuple[float, float]],
    measures: tuple[str, str],
) -> Iterator[M]:
    """Train from a step to the last one, and write a line of metrics now and then.

    Args:
        learner: whose learning rate is noted.
        config: how many steps, and how often a line and a check are due.
        line: the class of the lines.
        first: steps that are done already.
        step: takes the step of a number, counted from 0, and returns its loss.
        check: measures on held-out episodes.
        measures: the fields of a line that the results of ``check`` belong to.

    Yields:
        Each line once it is written.  Training goes on when the next one is asked for: a checkpoint is saved before.
    """
    losses: list[float] = []
    began = time.perf_counter()
    for number in range(first, config.steps):
        losses.append(step(number))
        done = number + 1
        checked = done % config.check_every == 0 or done == config.steps
        if not checked and done % config.log_every:
            continue
        measured = dict(zip(measures, check(), strict=True)) if checked else {}
        now = time.perf_counter()
        metrics = line(
            step=done,
            loss=float(np.mean(losses)),
            lr=learner.lr(number),
            seconds=round(now - began, 3),
            **measured,
        )
        began, losses = now, []
        with (config.out / METRICS).open("a") as file:
            file.write(json.dumps(dataclasses.asdict(metrics)) + "\n")
        yield metrics


def read_lines[M: MetricsLine](path: Path, line: type[M]) -> list[M]:
    """Every line of a file of metrics.

    Raises:
        RecordError: they are missing or damaged.
    """
    try:
        return [line(**json.loads(text)) for text in path.read_text().splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise RecordError(f"{path} cannot be read: {error}.") from error
