"""The critics' network: a small transformer over a pair, in the world's units (it standardises by its own buffers)."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from .features import ContextEncoder
from .inputs import TRAITS
from .spec import CriticSpec


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticInputs:
    """B observations with C chunks and G comparisons each.

    Attributes:
        chunks: ``float32[B, C, T, A]``.
        traits: ``float32[B, C, len(TRAITS)]``.
        tail: ``float32[B, horizon, A]``: the committed tail, zeros where unknown.
        known: ``float32[B, horizon]``: 1 where the tail is known.
        state: ``float32[B, S]``: proprioception.
        features: one batch per feature of the specification.
        masks: for each feature, ``bool[B, K]`` or None.
        pairs: ``int64[B, G, 2]``: which chunks are compared.
    """

    chunks: Tensor
    traits: Tensor
    tail: Tensor
    known: Tensor
    state: Tensor
    features: list[Tensor]
    masks: list[Tensor | None]
    pairs: Tensor


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
    """

    def __init__(self, spec: CriticSpec) -> None:
        super().__init__()
        width = spec.width
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = nn.MultiheadAttention(width, spec.heads, dropout=spec.dropout, batch_first=True)
        self.context = nn.MultiheadAttention(width, spec.heads, dropout=spec.dropout, batch_first=True)
        self.gate = nn.Parameter(torch.zeros(()))
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


class CriticNetwork(nn.Module):
    """Logits of "the first is better"; antisymmetric by construction.

    Args:
        spec: sizes and kind.
    """

    action_mean: Tensor
    action_std: Tensor
    state_mean: Tensor
    state_std: Tensor

    def __init__(self, spec: CriticSpec) -> None:
        super().__init__()
        self.spec = spec
        for name, size in (("action", spec.action), ("state", spec.state)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_std", torch.ones(size))
        flat = spec.horizon * spec.action
        looks = spec.kind != "action-only"
        self.context = ContextEncoder(spec) if looks and spec.features else None
        self.first = Stem(flat + len(TRAITS), spec.width)
        self.second = Stem(flat + len(TRAITS), spec.width) if spec.kind != "scalar" else None
        self.difference = Stem(flat + len(TRAITS), spec.width) if spec.kind != "scalar" else None
        self.proprioception = Stem(spec.state, spec.width) if looks and spec.state else None
        self.commitment = Stem(flat + spec.horizon, spec.width)
        self.blocks = nn.ModuleList(TrunkBlock(spec) for _ in range(spec.layers))
        self.norm = nn.LayerNorm(spec.width)
        self.head = nn.Linear(spec.width, 1)

    def forward(self, inputs: CriticInputs) -> Tensor:
        """``float32[B, G]``: the logit that ``pairs[..., 0]`` is better than ``pairs[..., 1]``."""
        context = self.context(inputs.features, inputs.masks) if self.context is not None else None
        actions = (inputs.chunks[:, :, : self.spec.horizon] - self.action_mean) / self.action_std
        candidates = torch.cat([actions.flatten(2), inputs.traits], dim=-1)
        shared = self._shared(inputs)
        first, second = inputs.pairs[..., 0], inputs.pairs[..., 1]
        if self.second is None or self.difference is None:
            scores = self._read([self.first(candidates)], shared, context)
            return scores.gather(1, first) - scores.gather(1, second)
        # Both orders in one pass, so that their difference is antisymmetric: f(i, j) and f(j, i).
        ones, others = torch.cat([first, second], dim=1), torch.cat([second, first], dim=1)
        apart = self.difference(_rows(candidates, ones) - _rows(candidates, others))
        tokens = [_rows(self.first(candidates), ones), _rows(self.second(candidates), others), apart]
        forward, backward = self._read(tokens, shared, context).chunk(2, dim=1)
        return (forward - backward) / 2

    def _shared(self, inputs: CriticInputs) -> list[Tensor]:
        """The tokens that all pairs of an observation share, ``[B, width]`` each."""
        tail = (inputs.tail - self.action_mean) / self.action_std * inputs.known[..., None]
        tokens = [self.commitment(torch.cat([tail.flatten(1), inputs.known], dim=-1))]
        if self.proprioception is not None:
            tokens.append(self.proprioception((inputs.state - self.state_mean) / self.state_std))
        return tokens

    def _read(self, tokens: list[Tensor], shared: list[Tensor], context: Tensor | None) -> Tensor:
        """Tokens ``[B, G, width]`` each, of one comparison or candidate, to one number each: ``float32[B, G]``."""
        count = tokens[0].shape[1]
        repeated = [token[:, None].expand(-1, count, -1) for token in shared]
        hidden = torch.stack([*tokens, *repeated], dim=2)
        for block in self.blocks:
            hidden = block(hidden, context)
        return self.head(self.norm(hidden.mean(dim=2))).squeeze(-1).float()


def _rows(values: Tensor, index: Tensor) -> Tensor:
    """``values[b, index[b, g]]``: ``[B, C, W]`` and ``int64[B, G]`` to ``[B, G, W]``."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))
