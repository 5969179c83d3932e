"""Two runs, paired by episode identity: who solves what the other does not, and is it more than chance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..envs import Array, EpisodeId, derive_seed
from ..errors import RecordError
from .records import EpisodeRecord, Run
from .statistics import Interval, mcnemar_exact, newcombe_paired, percentile_interval, resampled_sums
from .writing import differences

METHODS: Mapping[str, str] = {
    "p_value": "exact McNemar test, two-sided: the binomial test of the discordant pairs",
    "difference": "95% by Newcombe's method 10 for paired proportions (Statistics in Medicine 17, 1998)",
    "reduction": "1 - failures of B / failures of A; 95% percentile bootstrap over {clusters}, seeded",
    "metrics": "mean of B - A over pairs; 95% percentile bootstrap over {clusters}, seeded",
    "errors": "an episode that ended in an error in either run is left out of every figure and counted apart",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reduction:
    """The relative failure reduction: the share of A's failures that B does away with.

    Attributes:
        value: ``1 - failures_b / failures_a``; None when A fails nowhere.
        interval: 95%, or None when it cannot be computed.
        undefined: the share of resamples in which A failed nowhere; they are left out of the interval.
    """

    value: float | None
    interval: Interval | None
    undefined: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairedMean:
    """A metric in both runs, over the pairs that have it in both.

    Attributes:
        mean_a: in A.
        mean_b: in B.
        difference: ``mean_b - mean_a``.
        interval: 95% of the difference; None with fewer than two clusters.
        count: how many pairs.
    """

    mean_a: float
    mean_b: float
    difference: float
    interval: Interval | None
    count: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two runs say about each other.

    Attributes:
        run_a: the folder of A.
        run_b: the folder of B.
        pairs: episodes that both runs judged.
        unpaired_a: episodes that only A has a record of.
        unpaired_b: episodes that only B has a record of.
        errors: episodes that both have a record of, at least one of them an error; left out of `pairs`.
        both: solved by both.
        only_a: solved by A alone.
        only_b: solved by B alone.
        neither: solved by none.
        rate_a: A's rate over the pairs.
        rate_b: B's.
        difference: ``rate_b - rate_a``.
        interval: of the difference, 95%.
        p_value: that `only_a` and `only_b` are equally likely.
        reduction: the relative failure reduction from A to B.
        clusters: what the bootstraps resample: ``"tasks"``, or ``"episodes"`` when there is one task only.
        metrics: the world's metrics in both.
        agents: how the agents differ, by what they say of themselves (A, then B).
        accepted: differences of the worlds that the caller accepted.
        notes: other differences that a reader should know: versions of packages that the world does not name.
    """

    run_a: str
    run_b: str
    pairs: int
    unpaired_a: int
    unpaired_b: int
    errors: int
    both: int
    only_a: int
    only_b: int
    neither: int
    rate_a: float
    rate_b: float
    difference: float
    interval: Interval
    p_value: float
    reduction: Reduction
    clusters: str
    metrics: Mapping[str, PairedMean]
    agents: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def methods(self) -> dict[str, str]:
        """How each figure was computed, by its name."""
        return {name: text.format(clusters=self.clusters) for name, text in METHODS.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**dataclasses.asdict(self), "methods": self.methods()}


def compare(run_a: Run, run_b: Run, *, accept: Sequence[str] = (), seed: int = 0) -> Comparison:
    """Pair two runs by episode identity.

    Args:
        run_a: the run to start from, such as the reflex alone.
        run_b: the run that may be better.
        accept: differences of the worlds that are meant, by their paths in ``run.yaml``, such as ``world.rendering``.
        seed: of the bootstraps.

    Raises:
        RecordError: the runs cannot be compared: another world or protocol, or no episode that both judged.
    """
    accepted = _check_comparable(run_a, run_b, accept)
    records_a = {record.episode: record for record in run_a.episodes}
    records_b = {record.episode: record for record in run_b.episodes}
    shared = [episode for episode in records_a if episode in records_b]
    judged = [e for e in shared if "error" not in (records_a[e].status, records_b[e].status)]
    if not judged:
        raise RecordError(_nothing_shared(run_a, run_b, len(shared)))
    pairs = [(records_a[episode], records_b[episode]) for episode in judged]
    solved = np.array([(a.status == "success", b.status == "success") for a, b in pairs])
    clusters, members = _clusters(judged)
    both, only_a = int((solved[:, 0] & solved[:, 1]).sum()), int((solved[:, 0] & ~solved[:, 1]).sum())
    only_b, neither = int((~solved[:, 0] & solved[:, 1]).sum()), int((~solved[:, 0] & ~solved[:, 1]).sum())
    rates = solved.mean(axis=0)
    return Comparison(
        run_a=str(run_a.path),
        run_b=str(run_b.path),
        pairs=len(pairs),
        unpaired_a=len(records_a) - len(shared),
        unpaired_b=len(records_b) - len(shared),
        errors=len(shared) - len(judged),
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        rate_a=float(rates[0]),
        rate_b=float(rates[1]),
        difference=float(rates[1] - rates[0]),
        interval=newcombe_paired(both=both, only_first=only_b, only_second=only_a, neither=neither),
        p_value=mcnemar_exact(only_a, only_b),
        reduction=_reduction(~solved, members, seed),
        clusters=clusters,
        metrics=_metrics(pairs, members, seed),
        agents=tuple(differences({"agent": run_a.agent}, {"agent": run_b.agent})),
        accepted=accepted,
        notes=_notes(run_a, run_b),
    )


def _check_comparable(run_a: Run, run_b: Run, accept: Sequence[str]) -> tuple[str, ...]:
    there, now = (
        {
            "world": run.world,
            "cameras": _cameras(run),
            "control_hz": run.manifest["conventions"]["control_hz"],
        }
        for run in (run_a, run_b)
    )
    found = differences(there, now)
    # A world's own description names the simulator's version, which counts too: a release of MuJoCo that darkened
    # floors once cost policies a fifth of their success.
    refused = [line for line in found if not any(_is_under(line.partition(":")[0], path) for path in accept)]
    if refused:
        listed = "\n  - ".join(refused)
        raise RecordError(
            f"{run_a.path} and {run_b.path} are not comparable; their worlds differ (A, then B):\n  - {listed}\n"
            "A difference that is what you want to compare can be accepted by name: "
            f"--accept {refused[0].partition(':')[0]}"
        )
    return tuple(found)


def _notes(run_a: Run, run_b: Run) -> tuple[str, ...]:
    there, now = (
        {"thinktwice": run.manifest["thinktwice"], "versions": run.manifest["versions"]} for run in (run_a, run_b)
    )
    return tuple(differences(there, now))


def _cameras(run: Run) -> dict[str, Any]:
    cameras = cast("list[dict[str, Any]]", run.manifest["conventions"]["cameras"])
    return {camera["name"]: {"rendering": camera["rendering"]} for camera in cameras}


def _is_under(path: str, accepted: str) -> bool:
    return path == accepted or path.startswith((f"{accepted}.", f"{accepted}["))


def _nothing_shared(run_a: Run, run_b: Run, shared: int) -> str:
    if shared:
        return (
            f"each of the {shared} episodes that {run_a.path} and {run_b.path} share ended in an error in one of them."
        )
    return (
        f"{run_a.path} and {run_b.path} have no episode in common, so nothing can be paired "
        f"(tasks {_span(run_a)}; tasks {_span(run_b)}). Run both with the same tasks, episodes and --seed."
    )


def _span(run: Run) -> str:
    tasks = cast("list[str]", run.config["tasks"])
    return ", ".join(tasks[:4]) + (", …" if len(tasks) > 4 else "") + f" with seed {run.config['seed']}"


def _clusters(episodes: Sequence[EpisodeId]) -> tuple[str, list[Array]]:
    """What is resampled, and for each of them the places of its episodes."""
    tasks = np.array([episode.task for episode in episodes])
    names = list(dict.fromkeys(episode.task for episode in episodes))
    if len(names) == 1:
        # One task has no variation between tasks to resample.
        return "episodes", [np.array([index]) for index in range(len(episodes))]
    return "tasks", [np.flatnonzero(tasks == name) for name in names]


def _reduction(failed: Array, members: Sequence[Array], seed: int) -> Reduction:
    """``failed``: ``bool[P, 2]``, A and B."""
    sums = np.array([failed[places].sum(axis=0) for places in members], float)
    total_a, total_b = sums.sum(axis=0)
    if not total_a:
        return Reduction(value=None, interval=None, undefined=1.0)
    value = float(1 - total_b / total_a)
    if len(sums) < 2:
        return Reduction(value=value, interval=None, undefined=0.0)
    failures_a, failures_b = resampled_sums(sums, seed=derive_seed(seed, "reduction"))
    defined = failures_a > 0
    ratios = 1 - failures_b[defined] / failures_a[defined]
    return Reduction(value=value, interval=percentile_interval(ratios), undefined=float(1 - defined.mean()))


def _metrics(
    pairs: Sequence[tuple[EpisodeRecord, EpisodeRecord]], members: Sequence[Array], seed: int
) -> dict[str, PairedMean]:
    names = sorted({name for pair in pairs for record in pair for name in record.metrics})
    found = {name: _paired_mean(name, pairs, members, seed) for name in names}
    return {name: mean for name, mean in found.items() if mean is not None}


def _paired_mean(
    name: str, pairs: Sequence[tuple[EpisodeRecord, EpisodeRecord]], members: Sequence[Array], seed: int
) -> PairedMean | None:
    values = np.array([[record.metrics.get(name, math.nan) for record in pair] for pair in pairs])
    there = np.asarray(~np.isnan(values).any(axis=1))
    if not there.any():
        return None
    change = np.where(there, values[:, 1] - values[:, 0], 0.0)
    sums = np.array([change[places].sum() for places in members])
    counts = np.array([np.count_nonzero(there[places]) for places in members], float)
    columns = np.stack([sums, counts], axis=1)[counts > 0]
    interval = None
    if len(columns) > 1:
        totals, numbers = resampled_sums(columns, seed=derive_seed(seed, "metric", name))
        interval = percentile_interval(totals / numbers)
    means = values[there].mean(axis=0)
    return PairedMean(
        mean_a=float(means[0]),
        mean_b=float(means[1]),
        difference=float(means[1] - means[0]),
        interval=interval,
        count=int(there.sum()),
    )
