"""The learning rate's course and the averaged weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn

_LAST_LR = 0.03


def learning_rate(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to 3% of the peak."""
    if step < warmup:
        return peak * (step + 1) / warmup
    along = (step - warmup) / max(1, steps - warmup)
    return peak * (_LAST_LR + (1 - _LAST_LR) * 0.5 * (1 + math.cos(math.pi * along)))


def update_average(averaged: dict[str, Tensor], network: nn.Module, *, decay: float, step: int) -> None:
    """Move the averaged weights towards the present ones, faster in the first steps."""
    import torch

    decay = min(decay, (1 + step) / (10 + step))
    present = network.state_dict()
    with torch.no_grad():
        for name, value in averaged.items():
            value.lerp_(present[name], 1 - decay)
