"""The arithmetic, against published and hand-computed values."""

from __future__ import annotations

import math

import pytest

from thinktwice.errors import UsageError
from thinktwice.rollouts.statistics import Interval, mcnemar_exact, mean_estimate, newcombe_paired, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert found is not None
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


def test_wilson_by_hand() -> None:
    z, n, p = 1.959963984540054, 10, 0.9
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = wilson(9, 10)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-12)


def test_a_rate_without_trials_has_no_interval() -> None:
    assert wilson(0, 0) is None
    for successes, trials in ((2, 1), (-1, 3)):
        with pytest.raises(UsageError, match="is not a rate"):
            wilson(successes, trials)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (0, 0, 1.0),
        (3, 3, 1.0),
        (0, 5, 2 * 0.5**5),
        (1, 7, 2 * (1 + 8) * 0.5**8),
        (7, 1, 2 * (1 + 8) * 0.5**8),
        (2, 10, 2 * (1 + 12 + 66) * 0.5**12),
    ],
)
def test_mcnemar_is_the_binomial_tail_doubled(first: int, second: int, p: float) -> None:
    assert mcnemar_exact(first, second) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        # Altman, Machin, Bryant, Gardner, Statistics with Confidence (2000), table 6.2.
        ((14, 5, 0, 22), 0.011, 0.226),
        # Bentur et al. (2009) in Fagerland, Lydersen, Laake (2014).
        ((1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_newcombe(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    both, first, second, neither = cells
    found = newcombe_paired(both=both, only_first=first, only_second=second, neither=neither)
    assert found.low == pytest.approx(low, abs=6e-4)
    assert found.high == pytest.approx(high, abs=6e-4)


def test_exchanging_the_two_turns_the_interval_round() -> None:
    one = newcombe_paired(both=5, only_first=3, only_second=1, neither=2)
    other = newcombe_paired(both=5, only_first=1, only_second=3, neither=2)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


@pytest.mark.parametrize("cells", [(10, 0, 0, 0), (0, 0, 0, 10), (0, 10, 0, 0), (0, 0, 10, 0), (1, 0, 0, 0)])
def test_the_extremes_stay_inside_and_are_never_of_width_zero(cells: tuple[int, int, int, int]) -> None:
    both, first, second, neither = cells
    found = newcombe_paired(both=both, only_first=first, only_second=second, neither=neither)
    difference = (first - second) / sum(cells)
    assert -1.0 <= found.low <= difference <= found.high <= 1.0
    assert found.high > found.low


def test_no_pairs_have_no_interval() -> None:
    with pytest.raises(UsageError, match="no interval"):
        newcombe_paired(both=0, only_first=0, only_second=0, neither=0)


def test_a_mean_has_a_seeded_bootstrap_interval() -> None:
    values = [0.0, 0.25, 0.5, 1.0, 1.0, 0.75, 0.3]
    found = mean_estimate(values)
    assert found is not None
    assert found.mean == pytest.approx(sum(values) / 7)
    assert found.interval is not None
    assert found.interval.low < found.mean < found.interval.high
    assert found == mean_estimate(values)
    assert found != mean_estimate(values, seed=1)
    # The percentile bootstrap of a mean tends to the mean ± 1.96 population deviations / √n.
    deviation = math.sqrt(sum((value - found.mean) ** 2 for value in values) / 7 / 7)
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.96 * deviation, rel=0.1)


def test_few_values() -> None:
    assert mean_estimate([]) is None
    alone = mean_estimate([0.5])
    assert alone is not None
    assert (alone.mean, alone.interval, alone.count) == (0.5, None, 1)
    alike = mean_estimate([0.5, 0.5, 0.5])
    assert alike is not None
    assert alike.interval == Interval(low=0.5, high=0.5)
