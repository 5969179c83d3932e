"""The blocks that critics are made of."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from .spec import CriticSpec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shared:
    """What all comparisons of B observations share.

    Attributes:
        tail: ``float32[B, horizon * A + horizon]``: the committed tail, standardised, and where it is known.
        state: ``float32[B, S]``: standardised; None for a critic that reads none.
        context: ``float32[B, Q, width]``, or None.
    """

    tail: Tensor
    state: Tensor | None
    context: Tensor | None


class Stem(nn.Module):
    """A perceptron that makes one token of one input."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, values: Tensor) -> Tensor:
        """``[..., size]`` to ``[..., width]``."""
        return self.layers(values)


class TrunkBlock(nn.Module):
    """Self-attention among a pair's tokens, gated cross-attention to the context, and a perceptron.

    The gate is a tanh of one number that begins at zero (Alayrac et al. 2022, Flamingo): a new critic judges by the
    actions and learns to look.

    Args:
        spec: the critic's.
        gate: the number that it begins at.
    """

    def __init__(self, spec: CriticSpec, *, gate: float = 0.0) -> None:
        super().__init__()
        width = spec.width
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = nn.MultiheadAttention(width, spec.heads, dropout=spec.dropout, batch_first=True)
        self.context = nn.MultiheadAttention(width, spec.heads, dropout=spec.dropout, batch_first=True)
        self.gate = nn.Parameter(torch.tensor(gate))
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(spec.dropout), nn.Linear(2 * width, width)
        )

    def forward(self, tokens: Tensor, context: Tensor | None) -> Tensor:
        """``[B, G, n, width]`` and ``[B, Q, width]`` to ``[B, G, n, width]``."""
        shape = tokens.shape
        one_pair = self.norms[0](tokens).flatten(0, 1)
        attended, _ = self.own(one_pair, one_pair, one_pair, need_weights=False)
        tokens = tokens + attended.view(shape)
        if context is not None:
            # All pairs of an observation in one sequence: keys and values of the context are computed once for them.
            asked = self.norms[1](tokens).flatten(1, 2)
            attended, _ = self.context(asked, context, context, need_weights=False)
            tokens = tokens + self.gate.tanh() * attended.view(shape)
        return tokens + self.mlp(self.norms[2](tokens))
