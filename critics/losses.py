"""How wrong a preference is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def focal_loss(logits: Tensor, weights: Tensor, *, gamma: float) -> Tensor:
    """The weighted mean focal loss of logits that should be positive.

    ``-(1 - p)^gamma log p`` (Lin et al. 2017): comparisons that are right already count less; ``gamma`` 0 is
    cross-entropy.  An antisymmetric logit makes the mirrored pair's loss the same, so pairs are not mirrored.

    Args:
        logits: ``float32[P]``: of the better one first.
        weights: ``float32[P]``, not all zero.
        gamma: 0 or more.
    """
    from torch.nn import functional

    # The least value keeps the derivative finite where 1 - p underflows.
    wrong = (-logits).sigmoid().clamp(min=1e-8)
    losses = -(wrong**gamma) * functional.logsigmoid(logits)
    return (losses * weights).sum() / weights.sum()


def reference_loss(predicted: Tensor, wanted: Tensor, labelled: Tensor) -> Tensor:
    """The mean Huber loss (1964) of a predicted chunk, quadratic up to one standard deviation.

    Args:
        predicted: ``float32[B, T, A]``, standardised.
        wanted: ``float32[B, T, A]``: the expert's.
        labelled: ``float32[B]``: 1 where there is one; the others count nothing.
    """
    from torch.nn import functional

    losses = functional.huber_loss(predicted.float(), wanted, reduction="none").mean(dim=(1, 2))
    return (losses * labelled).sum() / labelled.sum().clamp(min=1)
