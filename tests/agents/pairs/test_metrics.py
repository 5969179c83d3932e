"""The measures are what they say, on preferences that were chosen by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from thinktwice.agents.pairs.training.metrics import calibration, cycle_rate, log_loss
from thinktwice.critics.losses import focal_loss


def test_cycles_are_counted_as_they_are() -> None:
    random = np.random.default_rng(0)
    table = random.random((20, 6, 6))
    table = (table + 1 - table.swapaxes(1, 2)) / 2
    counted = 0
    for one in table:
        for i, j, k in itertools.combinations(range(6), 3):
            wins = sorted([(one[i, j] > 0.5) + (one[i, k] > 0.5), (one[j, i] > 0.5) + (one[j, k] > 0.5)])
            third = (one[k, i] > 0.5) + (one[k, j] > 0.5)
            counted += wins == [1, 1] and third == 1
    assert cycle_rate([table]) == counted / (20 * 20)
    assert counted > 0


def test_an_order_has_no_cycles_and_a_circle_is_one() -> None:
    scores = np.arange(5.0)
    order = 1 / (1 + np.exp(scores[None, :, None] - scores[None, None, :]))
    assert cycle_rate([order]) == 0
    circle = np.array([[[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]]])
    assert cycle_rate([circle]) == 1
    assert cycle_rate([order, circle]) == pytest.approx(1 / 11)
    assert cycle_rate([np.full((4, 2, 2), 0.5)]) is None
    assert cycle_rate([np.full((1, 4, 4), 0.5)]) == 0


def test_calibration_of_a_sure_one_that_is_right_three_times_in_four() -> None:
    logits = np.array([np.log(9.0)] * 3 + [-np.log(9.0)], np.float32)
    error, bins = calibration(logits)
    assert error == pytest.approx(0.15, abs=1e-6)
    assert len(bins) == 1
    assert bins[0] == (pytest.approx(0.9), 0.75, 4)


def test_a_coin_is_calibrated_and_costs_log_two() -> None:
    assert log_loss(np.zeros(10)) == pytest.approx(np.log(2))
    assert calibration(np.full(4, 50.0))[0] == pytest.approx(0)


def test_focal_loss_without_focus_is_cross_entropy() -> None:
    logits, weights = torch.tensor([2.0, -1.0, 0.0]), torch.tensor([1.0, 2.0, 1.0])
    expected = (torch.nn.functional.softplus(-logits) * weights).sum() / 4
    torch.testing.assert_close(focal_loss(logits, weights, gamma=0.0), expected)
    sure = torch.tensor([3.0])
    one = torch.ones(1)
    ratio = focal_loss(sure, one, gamma=2.0) / focal_loss(sure, one, gamma=0.0)
    assert ratio.item() == pytest.approx((1 - torch.sigmoid(sure).item()) ** 2, rel=1e-4)


def test_focal_loss_has_a_finite_gradient_everywhere() -> None:
    for gamma in (0.0, 0.5, 2.0):
        logits = torch.tensor([-200.0, 0.0, 200.0], requires_grad=True)
        focal_loss(logits, torch.ones(3), gamma=gamma).backward()
        assert logits.grad is not None
        assert logits.grad.isfinite().all()
