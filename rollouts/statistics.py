"""Intervals of rates and means.  scipy does the arithmetic."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from ..envs import Array, derive_seed
from ..errors import UsageError

CONFIDENCE = 0.95
RESAMPLES = 9_999
"""Bootstrap resamples: scipy's default."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Interval:
    """A 95% interval."""

    low: float
    high: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        mean: of the values.
        interval: 95%, percentile bootstrap; None with fewer than two values.
        count: how many values.
    """

    mean: float
    interval: Interval | None
    count: int


def wilson(successes: int, trials: int) -> Interval | None:
    """The Wilson score interval of a rate (E. B. Wilson, JASA 22, 1927); None without trials.

    Raises:
        UsageError: there are more successes than trials, or a count is negative.
    """
    from scipy.stats import binomtest

    if not 0 <= successes <= trials:
        raise UsageError(f"{successes} successes of {trials} trials is not a rate.")
    if trials == 0:
        return None
    found = binomtest(successes, trials).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(low=float(found.low), high=float(found.high))


def mean_estimate(values: Sequence[float], *, seed: int = 0) -> Estimate | None:
    """The mean with a percentile bootstrap interval, seeded; None without values."""
    from scipy.stats import bootstrap

    if not values:
        return None
    interval = None
    if len(values) > 1:
        found = bootstrap(
            (np.asarray(values, float),),
            np.mean,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(derive_seed(seed, "bootstrap")),
        ).confidence_interval
        interval = Interval(low=float(found.low), high=float(found.high))
    return Estimate(mean=float(np.mean(values)), interval=interval, count=len(values))


def resampled_sums(clusters: Array, *, seed: int) -> Array:
    """Sums over clusters drawn with replacement, for ratios whose parts belong together.

    Args:
        clusters: ``float[K, C]``: C sums of each of K clusters.
        seed: of the bootstrap.

    Returns:
        ``float[C, R]``: the C sums over K drawn clusters, R times.
    """
    from scipy.stats import bootstrap

    def sums(*columns: Array, axis: int = -1) -> Array:
        return np.stack([column.sum(axis=axis) for column in columns])

    found = bootstrap(
        tuple(clusters.T),
        sums,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return np.asarray(found.bootstrap_distribution)


def percentile_interval(values: Array) -> Interval:
    """The middle 95% of resampled values."""
    low, high = np.percentile(values, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)])
    return Interval(low=float(low), high=float(high))


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p-value of the exact McNemar test; 1 when no pair is discordant.

    Args:
        only_first: pairs that only the first of two solved.
        only_second: pairs that only the second solved.
    """
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


def newcombe_paired(*, both: int, only_first: int, only_second: int, neither: int) -> Interval:
    """The 95% interval of the difference of two paired proportions, first minus second.

    Method 10 of R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data", Statistics in Medicine 17 (1998) 2635-2650: Wilson's limits of both rates, joined through their
    correlation, which is corrected for continuity.

    Args:
        both: pairs solved by both.
        only_first: by the first alone.
        only_second: by the second alone.
        neither: by none.

    Raises:
        UsageError: there are no pairs, or a count is negative.
    """
    pairs = both + only_first + only_second + neither
    first, second = wilson(both + only_first, pairs), wilson(both + only_second, pairs)
    if first is None or second is None or min(both, only_first, only_second, neither) < 0:
        raise UsageError(f"no interval of the pairs {both}, {only_first}, {only_second}, {neither}.")
    rate_first, rate_second = (both + only_first) / pairs, (both + only_second) / pairs
    phi = _correlation(both, only_first, only_second, neither)
    below_first, above_first = rate_first - first.low, first.high - rate_first
    below_second, above_second = rate_second - second.low, second.high - rate_second
    difference = rate_first - rate_second
    down = math.sqrt(max(0.0, below_first**2 - 2 * phi * below_first * above_second + above_second**2))
    up = math.sqrt(max(0.0, above_first**2 - 2 * phi * above_first * below_second + below_second**2))
    return Interval(low=difference - down, high=difference + up)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    pairs = both + only_first + only_second + neither
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    agreement = both * neither - only_first * only_second
    corrected = max(0.0, agreement - pairs / 2) if agreement > 0 else float(agreement)
    return corrected / math.sqrt(margins)
