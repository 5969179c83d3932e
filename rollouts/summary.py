"""The table of a run: per task and over all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..cost import Cost
from .files import write_atomically
from .records import SUMMARY, AttemptRecord, EpisodeRecord, Run
from .statistics import Estimate, Interval, mean_estimate, wilson


@dataclasses.dataclass(frozen=True, kw_only=True)
class Group:
    """The episodes of one task, or of all.

    Attributes:
        task: the world's name of the task, or ``"all"``.
        planned: episodes that the run shall have.
        played: episodes that have a record, errors among them.
        errors: episodes that broke.  They count neither as success nor as failure.
        judged: ``played - errors``: the denominator of `rate` and of the means.
        successes: solved at the end.
        successes_once: solved after at least one action.
        rate: ``successes / judged``, or None when nothing was judged.
        interval: the rate's 95% Wilson interval.
        steps: actions executed in all played episodes.
        decisions: looks in all played episodes.
        deliberated: decisions that deliberated.
        steps_of_a_success: the mean number of actions of the successes, or None.
        wall_seconds: of all attempts, also those that were tried again; workers run beside one another.
        cost: the ledger of all played episodes, its seconds from the attempts that were recorded.
        metrics: the means of the world's metrics over judged episodes.
    """

    task: str
    planned: int
    played: int
    errors: int
    judged: int
    successes: int
    successes_once: int
    rate: float | None
    interval: Interval | None
    steps: int
    decisions: int
    deliberated: int
    steps_of_a_success: float | None
    wall_seconds: float
    cost: Cost
    metrics: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Latency:
    """Seconds per decision of one stage: the median, the 95th percentile, and how many decisions had it."""

    p50: float
    p95: float
    count: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """The table of a run.

    Attributes:
        world: its name.
        agent: its name.
        finished: every planned episode has its record.
        overall: all episodes together.
        tasks: one group per task, in the planned order.
        latency: by stage; see `AttemptRecord.latency` for the stages.
    """

    world: str
    agent: str
    finished: bool
    overall: Group
    tasks: tuple[Group, ...]
    latency: Mapping[str, Latency]

    def to_json(self) -> dict[str, Any]:
        """Plain data: what ``summary.json`` holds."""
        return {
            **dataclasses.asdict(self),
            "notes": {
                "rate": "successes / judged, where judged leaves out errors; interval: 95% Wilson",
                "metrics": "mean over judged episodes; interval: 95% percentile bootstrap over episodes",
                "latency": "wall seconds per decision, over the attempts that were recorded",
            },
        }


def summarise(run: Run) -> Summary:
    """Compute the table of a run, finished or not."""
    recorded = _recorded_attempts(run)
    tasks = tuple(
        _group(task, run, [record for record in run.episodes if record.episode.task == task], recorded)
        for task in dict.fromkeys(episode.task for episode in run.planned)
    )
    return Summary(
        world=str(run.config["world"]),
        agent=str(run.config["agent"]),
        finished=run.finished,
        overall=_group(None, run, run.episodes, recorded),
        tasks=tasks,
        latency=_latency([recorded[record.key] for record in run.episodes if record.key in recorded]),
    )


def write_summary(folder: Path, summary: Summary) -> Path:
    """Write ``summary.json`` and return where it lies."""
    path = folder / SUMMARY
    text = json.dumps(summary.to_json(), indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))
    return path


def _recorded_attempts(run: Run) -> dict[str, AttemptRecord]:
    """The attempt that each record came from: the last one of its episode."""
    return {attempt.key: attempt for attempt in run.attempts}


def _group(
    task: str | None, run: Run, records: Sequence[EpisodeRecord], recorded: Mapping[str, AttemptRecord]
) -> Group:
    judged = [record for record in records if record.status != "error"]
    successes = [record for record in judged if record.status == "success"]
    keys = {episode.key for episode in run.planned if task in (None, episode.task)}
    seconds = [Cost(seconds=_ledger_seconds(recorded[record.key])) for record in records if record.key in recorded]
    names = sorted({name for record in judged for name in record.metrics})
    metrics = {
        name: mean_estimate([record.metrics[name] for record in judged if name in record.metrics]) for name in names
    }
    return Group(
        task=task or "all",
        planned=len(keys),
        played=len(records),
        errors=len(records) - len(judged),
        judged=len(judged),
        successes=len(successes),
        successes_once=sum(record.success_once for record in judged),
        rate=len(successes) / len(judged) if judged else None,
        interval=wilson(len(successes), len(judged)),
        steps=sum(record.steps for record in records),
        decisions=sum(record.decisions for record in records),
        deliberated=sum(record.deliberated for record in records),
        steps_of_a_success=float(np.mean([record.steps for record in successes])) if successes else None,
        wall_seconds=round(sum(a.seconds.get("total", 0.0) for a in run.attempts if a.key in keys), 3),
        cost=Cost.total([*(record.cost for record in records), *seconds]),
        metrics={name: estimate for name, estimate in metrics.items() if estimate is not None},
    )


def _ledger_seconds(attempt: AttemptRecord) -> dict[str, float]:
    stages = {name.removeprefix("act."): values for name, values in attempt.latency.items() if name.startswith("act.")}
    return {stage: float(sum(values)) for stage, values in stages.items()}


def _latency(attempts: Sequence[AttemptRecord]) -> dict[str, Latency]:
    stages = sorted({stage for attempt in attempts for stage in attempt.latency})
    pooled = {stage: [s for attempt in attempts for s in attempt.latency.get(stage, ())] for stage in stages}
    return {
        stage: Latency(p50=float(np.percentile(values, 50)), p95=float(np.percentile(values, 95)), count=len(values))
        for stage, values in pooled.items()
        if values
    }
