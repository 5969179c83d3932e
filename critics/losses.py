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
