"""Masks and metrics against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinktwice.envs.rooms.masks import decode, encode
from thinktwice.envs.rooms.scoring import boundary_f, jaccard, mask_metrics, score_frame, soft_spl, spl
from thinktwice.errors import ContractError


def square(size: int, row: int, column: int, side: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    mask = np.zeros((size, size), np.bool_)
    mask[row : row + side, column : column + side] = True
    return mask


def test_masks_survive_encoding() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (7, 13), (64, 64)):
        mask = rng.random(shape) < 0.3
        assert (decode(encode(mask)) == mask).all()


def test_what_is_no_mask_is_an_error() -> None:
    with pytest.raises(ContractError, match="bool"):
        encode(np.zeros((2, 2, 2), np.bool_))
    with pytest.raises(ContractError, match="RLE"):
        decode({"size": [4, 4]})


def test_j_of_half_overlapping_squares() -> None:
    assert jaccard(square(64, 0, 0, 10), square(64, 0, 5, 10)) == pytest.approx(50 / 150)
    empty = np.zeros((64, 64), np.bool_)
    assert jaccard(empty, empty) == 1.0
    assert jaccard(empty, square(64, 0, 0, 3)) == 0.0


def test_f_forgives_one_pixel_and_not_ten() -> None:
    truth = square(64, 20, 20, 20)
    assert boundary_f(truth, truth) == 1.0
    assert boundary_f(square(64, 21, 20, 20), truth) > 0.95
    assert boundary_f(square(64, 40, 40, 20), truth) < 0.2
    assert boundary_f(np.zeros_like(truth), truth) == 0.0


def test_empty_frames_do_not_raise_the_mean() -> None:
    empty, truth = np.zeros((64, 64), np.bool_), square(64, 20, 20, 20)
    scores = [score_frame(empty, empty)] * 99 + [score_frame(empty, truth)]
    metrics = mask_metrics(scores, scores[-1])
    assert metrics["jf"] == 0.0
    assert metrics["null_accuracy"] == 1.0
    assert metrics["final_j"] == 0.0


def test_what_no_frame_defines_is_left_out() -> None:
    empty = np.zeros((64, 64), np.bool_)
    metrics = mask_metrics([score_frame(empty, empty)], None)
    assert "j" not in metrics
    assert "final_j" not in metrics


def test_path_measures() -> None:
    assert spl(True, 4.0, 8.0) == 0.5
    assert spl(False, 4.0, 4.0) == 0.0
    assert spl(True, 4.0, 3.0) == 1.0
    assert soft_spl(4.0, 2.0, 8.0) == pytest.approx(0.25)
    assert soft_spl(4.0, math.inf, 8.0) == 0.0
    assert soft_spl(4.0, 9.0, 8.0) == 0.0
