"""The table of a study: what each arm reached and cost, and what two arms say about each other episode by episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...cost import Cost
from ..comparison import compare
from ..records import EpisodeRecord, Run
from ..statistics import Interval, mcnemar_exact, mean_estimate, wilson
from .play import ArmRuns

METHODS: Mapping[str, str] = {
    "ci95 of a rate": "Wilson, over pooled episodes",
    "mcnemar_p": "exact McNemar test, two-sided",
    "failure_reduction": "1 - failures of b / failures of a; ci95: bootstrap over tasks (episodes if one task)",
    "rescues, spoils": "episodes that b alone, or a alone, solved",
    "nfe": "per decision: prefix passes + denoising steps of all candidates + comparisons",
    "seconds_per_decision": "wall seconds of the whole decision, over the attempts that were recorded",
    "errors": "episodes that broke; they are in no other figure",
}


def arm_figures(arm: ArmRuns) -> dict[str, Any]:
    """One arm's row: success with its interval, deliberation, cost per decision and latency by stage."""
    run = arm.pooled
    judged = [record for record in run.episodes if record.status != "error"]
    decisions = sum(record.decisions for record in judged)
    total = Cost.total(record.cost for record in judged)
    seconds = _seconds(run, judged)
    whole = seconds.pop("act", [])
    return {
        "agent": run.config["agent"],
        "options": run.config["agent_options"],
        **rate_of(judged),
        "errors": len(run.episodes) - len(judged),
        "planned": len(run.planned),
        "deliberation_rate": sum(record.deliberated for record in judged) / decisions if decisions else None,
        "nfe": _nfe(total) / decisions if decisions else None,
        "per_decision": {name: count / decisions for name, count in total.counts().items()} if decisions else {},
        "per_episode": _per_episode(judged, total),
        "seconds_per_decision": _latency(whole, len(whole)),
        "stages": {stage: _latency(spent, len(whole)) for stage, spent in seconds.items() if spent and whole},
        "per_task": {task: rate_of(records) for task, records in _by_task(judged).items()},
        "per_seed": {
            str(run.config["seed"]): rate_of([record for record in run.episodes if record.status != "error"])
            for run in arm.runs
        },
        "metrics": _metrics(judged),
    }


def pair_figures(first: ArmRuns, second: ArmRuns, *, accept: Sequence[str]) -> dict[str, Any]:
    """What ``second`` changes of ``first``, over the episodes that both judged.

    Raises:
        RecordError: they cannot be compared: another world, or no episode that both judged.
    """
    found = compare(first.pooled, second.pooled, accept=accept)
    return {
        "pairs": found.pairs,
        "rescues": found.only_b,
        "spoils": found.only_a,
        "mcnemar_p": found.p_value,
        "failure_reduction": found.reduction.value,
        "ci95": interval(found.reduction.interval),
        "difference": found.difference,
        "difference_ci95": interval(found.interval),
        "by_task": _pairs_by_task(first.pooled, second.pooled),
        "metrics": {
            name: {"difference": mean.difference, "ci95": interval(mean.interval), "count": mean.count}
            for name, mean in found.metrics.items()
        },
    }


def rate_of(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Successes of judged episodes, with the Wilson interval."""
    solved = sum(record.status == "success" for record in records)
    return {
        "episodes": len(records),
        "successes": solved,
        "rate": solved / len(records) if records else None,
        "ci95": interval(wilson(solved, len(records))),
    }


def interval(found: Interval | None) -> list[float] | None:
    """Plain data."""
    return None if found is None else [found.low, found.high]


def _nfe(cost: Cost) -> int:
    return cost.prefix_passes + cost.denoising_steps + cost.comparisons


def _per_episode(judged: Sequence[EpisodeRecord], total: Cost) -> dict[str, float]:
    count = max(1, len(judged))
    return {
        "steps": sum(record.steps for record in judged) / count,
        "decisions": sum(record.decisions for record in judged) / count,
        "llm_calls": total.llm_calls / count,
        "vlm_calls": total.vlm_calls / count,
        "tokens": (total.prompt_tokens + total.completion_tokens) / count,
    }


def _seconds(run: Run, judged: Sequence[EpisodeRecord]) -> dict[str, list[float]]:
    """Wall seconds of every decision: ``act`` for the whole, then the ledger's stages."""
    last = {attempt.key: attempt for attempt in run.attempts}
    recorded = [last[record.key] for record in judged if record.key in last]
    stages = ["act", *sorted({stage for a in recorded for stage in a.latency if stage.startswith("act.")})]
    return {
        stage.removeprefix("act."): [spent for a in recorded for spent in a.latency.get(stage, ())] for stage in stages
    }


def _latency(spent: Sequence[float], decisions: int) -> dict[str, float] | None:
    """The mean over all decisions, also those without the stage, and percentiles over those that had it."""
    if not spent:
        return None
    p50, p95 = np.percentile(spent, [50, 95])
    return {"mean": sum(spent) / decisions, "p50": float(p50), "p95": float(p95), "count": len(spent)}


def _metrics(judged: Sequence[EpisodeRecord]) -> dict[str, Any]:
    names = sorted({name for record in judged for name in record.metrics})
    estimates = {name: mean_estimate([r.metrics[name] for r in judged if name in r.metrics]) for name in names}
    return {
        name: {"mean": found.mean, "ci95": interval(found.interval), "count": found.count}
        for name, found in estimates.items()
        if found is not None
    }


def _by_task(records: Sequence[EpisodeRecord]) -> dict[str, list[EpisodeRecord]]:
    found: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        found.setdefault(record.episode.task, []).append(record)
    return found


def _pairs_by_task(first: Run, second: Run) -> dict[str, dict[str, Any]]:
    theirs = {record.episode: record.status for record in second.episodes}
    rows: dict[str, dict[str, Any]] = {}
    for task, records in _by_task(first.episodes).items():
        both = [(record.status, theirs[record.episode]) for record in records if record.episode in theirs]
        judged = [(a == "success", b == "success") for a, b in both if "error" not in (a, b)]
        rescues, spoils = sum(b and not a for a, b in judged), sum(a and not b for a, b in judged)
        p = mcnemar_exact(spoils, rescues)
        rows[task] = {"pairs": len(judged), "rescues": rescues, "spoils": spoils, "mcnemar_p": p}
    return rows
