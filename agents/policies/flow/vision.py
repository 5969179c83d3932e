"""One camera's encoder: a small convolutional network that is told what to look for and says where it is."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

STRIDE = 4
"""Pixels per cell of the first feature map; the second, where the network looks for things, halves it.

A LIBERO object of eight pixels (at 96 x 96) covers two cells of the first.  All blocks at that resolution took half as
long again to train and saw half as far around each cell.
"""

_COARSE = 3
"""The side of the coarse grid that the features are averaged over."""


class FilmBlock(nn.Module):
    """A residual block whose channels the instruction scales and shifts (FiLM, Perez et al. 2018).

    There is no normalisation layer: GroupNorm tripled the time of this network on a CPU.  The second convolution
    begins at zero instead, so that the block begins as the identity.
    """

    def __init__(self, channels: int, language_width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.film = nn.Linear(language_width, 2 * channels)
        for parameter in (*self.second.parameters(), *self.film.parameters()):
            nn.init.zeros_(parameter)

    def forward(self, features: Tensor, language: Tensor) -> Tensor:
        """``[B, C, H, W]`` and ``[B, L]`` to ``[B, C, H, W]``."""
        scale, shift = self.film(language)[:, :, None, None].chunk(2, dim=1)
        inner = functional.silu(torch.addcmul(shift, self.first(features), 1 + scale))
        return features + self.second(inner)


class CameraEncoder(nn.Module):
    """From an image and an instruction to keypoint tokens and one summary.

    Each of ``keypoints`` attention maps gives the expected place of what it looks at (spatial softmax, Levine et al.
    2016) and the features found there.

    Args:
        channels: of the second feature map; the first has half as many.
        blocks: residual blocks on the second map; the first has one.
        keypoints: attention maps.
        language_width: of the instruction's embedding.
        width: of the summary.
    """

    def __init__(self, *, channels: int, blocks: int, keypoints: int, language_width: int, width: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels // 2, 2 * STRIDE, stride=STRIDE, padding=STRIDE // 2)
        self.near = FilmBlock(channels // 2, language_width)
        self.halve = nn.Conv2d(channels // 2, channels, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList([FilmBlock(channels, language_width) for _ in range(blocks)])
        self.attention = nn.Conv2d(channels, keypoints, 1)
        self.values = nn.Conv2d(channels, channels // 2, 1)
        self.coarse = nn.Linear(channels * _COARSE * _COARSE, width // 2)
        self.token_width = channels // 2 + 2
        self.summary = nn.Linear(keypoints * self.token_width + width // 2, width)

    def forward(self, image: Tensor, language: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, 3, H, W]`` in [-1, 1] to tokens ``[B, keypoints, token_width]`` and a summary ``[B, width]``."""
        features = self.near(functional.silu(self.stem(image)), language)
        features = self.halve(functional.silu(features))
        for block in self.blocks:
            features = block(features, language)
        features = functional.silu(features)
        # Places are averages over hundreds of cells: too fine for bfloat16.
        maps = self.attention(features).float()
        height, width = maps.shape[-2:]
        weights = maps.flatten(2).softmax(-1)
        values = self.values(features).float().flatten(2)
        grid = _grid(height, width, weights)
        tokens = torch.cat([weights @ grid, weights @ values.transpose(1, 2)], dim=-1)
        pooled = functional.adaptive_avg_pool2d(features, _COARSE).flatten(1)
        coarse = functional.silu(self.coarse(pooled))
        return tokens, self.summary(torch.cat([tokens.flatten(1), coarse.float()], dim=-1))


def _grid(height: int, width: int, like: Tensor) -> Tensor:
    """The cells' places, ``[height * width, 2]``: x then y, each from -1 to 1."""
    rows = torch.linspace(-1, 1, height, device=like.device)
    columns = torch.linspace(-1, 1, width, device=like.device)
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=-1)
