"""From a policy's features, or from images, to a few context tokens."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional

from .spec import CriticSpec, Feature

_CHANNELS = 32
_CELL = 16
"""Pixels per side of an image token: the encoder's stride."""


class ImageStem(nn.Module):
    """The critic's own small encoder, for policies that expose no features: four strided convolutions.

    Args:
        width: of a token.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = [3, _CHANNELS, _CHANNELS, 2 * _CHANNELS, width]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in itertools.pairwise(sizes)
        )

    def forward(self, images: Tensor) -> Tensor:
        """``uint8[B, H, W, 3]`` to ``float32[B, cells, width]``."""
        hidden = images.permute(0, 3, 1, 2).float() / 127.5 - 1
        for layer in self.layers:
            hidden = functional.silu(layer(hidden))
        return hidden.flatten(2).transpose(1, 2)


class VectorStem(nn.Module):
    """A linear map of standardised vectors.

    Args:
        size: entries of a vector.
        width: of a token.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("std", torch.ones(size))
        self.linear = nn.Linear(size, width)

    def forward(self, values: Tensor) -> Tensor:
        """``float32[B, W]`` or ``float32[B, K, W]`` to ``float32[B, 1 or K, width]``."""
        values = values[:, None] if values.ndim == 2 else values
        return self.linear((values.float() - self.mean) / self.std)


class ContextEncoder(nn.Module):
    """Learnable query tokens gather what the features say; this is done once per observation, whatever the pairs.

    The queries read copies of the policy's features, so that nothing of what its action head reads changes.

    Args:
        spec: the critic's.
    """

    def __init__(self, spec: CriticSpec) -> None:
        super().__init__()
        self.features = spec.attends
        self.stems = nn.ModuleList(
            ImageStem(spec.width) if feature.kind == "image" else VectorStem(feature.shape[-1], spec.width)
            for feature in self.features
        )
        self.slots = nn.ParameterList(
            nn.Parameter(0.02 * torch.randn(token_count(feature), spec.width)) for feature in self.features
        )
        self.queries = nn.Parameter(0.02 * torch.randn(spec.queries, spec.width))
        self.before = nn.LayerNorm(spec.width)
        self.attention = nn.MultiheadAttention(spec.width, spec.heads, dropout=spec.dropout, batch_first=True)
        self.after = nn.LayerNorm(spec.width)
        self.mlp = nn.Sequential(
            nn.Linear(spec.width, 2 * spec.width), nn.GELU(), nn.Linear(2 * spec.width, spec.width)
        )

    def forward(self, values: list[Tensor], masks: list[Tensor | None]) -> Tensor:
        """Context tokens.

        Args:
            values: one batch per feature, in the order of `features`.
            masks: for each, ``bool[B, K]``: which tokens count; None for all.

        Returns:
            ``float32[B, queries, width]``.
        """
        tokens = [stem(value) + slot for stem, slot, value in zip(self.stems, self.slots, values, strict=True)]
        memory = self.before(torch.cat(tokens, dim=1))
        counted = [
            torch.ones(token.shape[:2], dtype=torch.bool, device=token.device) if mask is None else mask.bool()
            for token, mask in zip(tokens, masks, strict=True)
        ]
        ignored = None if all(mask is None for mask in masks) else ~torch.cat(counted, dim=1)
        queries = self.queries.expand(len(memory), -1, -1)
        gathered, _ = self.attention(queries, memory, memory, key_padding_mask=ignored, need_weights=False)
        hidden = queries + gathered
        return hidden + self.mlp(self.after(hidden))


def token_count(feature: Feature) -> int:
    """How many tokens a feature becomes."""
    if feature.kind == "image":
        height, width, _ = feature.shape
        return -(-height // _CELL) * -(-width // _CELL)
    return feature.shape[0] if feature.kind == "tokens" else 1
