"""What doubt knew: whether it foresees failure and what deliberation rescues, and when in an episode it comes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...envs import Array
from .play import ArmRuns

BINS = 10
"""Parts of an episode in which deliberation is counted."""

_Z = 1.959963984540054
"""The normal distribution's 97.5% point."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpisodeDeliberation:
    """An episode's doubts and modes.

    Attributes:
        key: the episode's.
        solved: whether it was solved.
        doubts: ``float64[D]``; NaN where no gate looked.
        deliberated: ``bool[D]``.
        seconds: ``float64[D]``: wall seconds of each decision.
    """

    key: str
    solved: bool
    doubts: Array
    deliberated: Array
    seconds: Array


def read_deliberation(arm: ArmRuns) -> list[EpisodeDeliberation]:
    """Every judged episode of an arm, from its traces.

    Raises:
        RecordError: a trace is missing or damaged.
    """
    found: list[EpisodeDeliberation] = []
    for run in arm.runs:
        for record in run.episodes:
            if record.status == "error":
                continue
            decisions = run.trace(record.key).decisions
            doubts = [math.nan if decision.doubt is None else decision.doubt for decision in decisions]
            found.append(
                EpisodeDeliberation(
                    key=record.key,
                    solved=record.status == "success",
                    doubts=np.array(doubts, float),
                    deliberated=np.array([decision.mode == "deliberate" for decision in decisions]),
                    seconds=np.array([decision.seconds["act"] for decision in decisions], float),
                )
            )
    return found


def along_the_episode(episodes: Sequence[EpisodeDeliberation]) -> list[float | None]:
    """The share of decisions that deliberated in each tenth of an episode's decisions; None where there were none."""
    places = np.concatenate([(np.arange(len(e.deliberated)) + 0.5) / len(e.deliberated) for e in episodes])
    chosen = np.concatenate([e.deliberated for e in episodes])
    bins = np.minimum((places * BINS).astype(int), BINS - 1)
    return [float(chosen[bins == place].mean()) if (bins == place).any() else None for place in range(BINS)]


def seconds_by_mode(episodes: Sequence[EpisodeDeliberation]) -> dict[str, dict[str, float]]:
    """What decisions took that stayed a reflex, the gate's look included, and those that deliberated."""
    spent = np.concatenate([episode.seconds for episode in episodes])
    chosen = np.concatenate([episode.deliberated for episode in episodes])
    return {
        mode: {
            "mean": float(spent[those].mean()),
            "p50": float(np.percentile(spent[those], 50)),
            "p95": float(np.percentile(spent[those], 95)),
            "count": int(those.sum()),
        }
        for mode, those in (("reflex", ~chosen), ("deliberate", chosen))
        if those.any()
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scores:
    """One number per episode, by two ways to sum doubt up.

    A failed episode lasts until its step cap, so whatever grows with length foresees failure for no good reason.  That
    rules out the largest doubt; the mean remains, over the whole episode, and over the decisions that all episodes
    have.

    Attributes:
        keys: the episodes.
        whole: ``float64[E]``: mean doubt over the episode.
        early: ``float64[E]``: mean doubt over the first `window` decisions.
        window: as many decisions as the shortest episode has.
    """

    keys: tuple[str, ...]
    whole: Array
    early: Array
    window: int


def score(episodes: Sequence[EpisodeDeliberation]) -> Scores | None:
    """Doubt per episode, or None where no gate looked, or its doubt never varied."""
    measured = [episode for episode in episodes if np.isfinite(episode.doubts).all() and len(episode.doubts)]
    if not measured or np.ptp(np.concatenate([episode.doubts for episode in measured])) == 0:
        return None
    window = min(len(episode.doubts) for episode in measured)
    return Scores(
        keys=tuple(episode.key for episode in measured),
        whole=np.array([episode.doubts.mean() for episode in measured]),
        early=np.array([episode.doubts[:window].mean() for episode in measured]),
        window=window,
    )


def foresight(scores: Scores, outcome: Mapping[str, bool]) -> dict[str, Any] | None:
    """How well doubt tells episodes with an outcome from those without: AUROC, 0.5 for not at all.

    Args:
        scores: doubt per episode.
        outcome: by episode key; others are left out.

    Returns:
        Both AUROCs with 95% intervals and the curve of the whole episode; None where all outcomes are the same.
    """
    kept = [place for place, key in enumerate(scores.keys) if key in outcome]
    labels = np.array([outcome[scores.keys[place]] for place in kept], bool)
    if labels.size == 0 or labels.all() or not labels.any():
        return None
    area, spread = auroc(scores.whole[kept], labels)
    early, early_spread = auroc(scores.early[kept], labels)
    return {
        "auroc": area,
        "ci95": spread,
        "early": {"auroc": early, "ci95": early_spread, "decisions": scores.window},
        "episodes": len(labels),
        "positives": int(labels.sum()),
        "curve": roc_curve(scores.whole[kept], labels),
    }


def auroc(scores: Array, labels: Array) -> tuple[float, list[float]]:
    """The area under the ROC curve, from the Mann-Whitney statistic, and its 95% interval.

    The interval is Hanley and McNeil's (Radiology 143, 1982), cut at 0 and 1.

    Args:
        scores: ``float[E]``.
        labels: ``bool[E]``, both kinds present.
    """
    from scipy.stats import rankdata

    positives, negatives = int(labels.sum()), int((~labels).sum())
    ranks = float(rankdata(scores)[labels].sum())
    area = (ranks - positives * (positives + 1) / 2) / (positives * negatives)
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (positives - 1) * (one - area**2) + (negatives - 1) * (two - area**2)
    margin = _Z * math.sqrt(max(0.0, variance) / (positives * negatives))
    return area, [max(0.0, area - margin), min(1.0, area + margin)]


def roc_curve(scores: Array, labels: Array) -> list[list[float]]:
    """Points ``[false positive rate, true positive rate]`` from (0, 0) to (1, 1), one per distinct score."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    true = np.cumsum(labels[order])[ends] / labels.sum()
    false = np.cumsum(~labels[order])[ends] / (~labels).sum()
    return [[0.0, 0.0], *([float(x), float(y)] for x, y in zip(false, true, strict=True))]
