"""Intervals of rates and means.  scipy does the arithmetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..envs import derive_seed
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
