"""The small segmentation network behind the default perception of the rooms.

A U-Net (Ronneberger et al., 2015) of depthwise separable convolutions with two heads per pixel: the kind of thing
and its colour.  Its input has five channels: RGB, inverse depth, and height above the floor, which says more about
furniture than any texture.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from ..envs import Array
from ..envs.rooms.kinds import COLOURS
from ..envs.rooms.scene import CAMERA_HEIGHT, VERTICAL_FOV
from .rooms_vocabulary import KINDS

SIZE = 192
"""Pixels a side of the network's input; other images are resized."""
CHANNELS = 5
CLASSES = 1 + len(KINDS)
"""The building, then every kind."""
COLOUR_CLASSES = len(COLOURS)


def _block(inside: int, outside: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False),
        nn.Conv2d(inside, outside, 1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
        nn.Conv2d(outside, outside, 3, 1, 1, groups=outside, bias=False),
        nn.Conv2d(outside, outside, 1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    )


class RoomsNetwork(nn.Module):
    """``float32[B, 5, S, S]`` to logits of kinds ``float32[B, 61, S/2, S/2]`` and colours ``float32[B, 11, S/2, S/2]``.

    ``S`` must be a multiple of 16.  Half resolution is what one CPU core affords.

    Args:
        width: channels of the first level.
    """

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        sizes = (width, 2 * width, 3 * width, 4 * width)
        self.stem = nn.Sequential(
            nn.Conv2d(CHANNELS, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), _block(width, width)
        )
        self.down = nn.ModuleList(
            [
                _block(width, sizes[1], 2),
                _block(sizes[1], sizes[2], 2),
                _block(sizes[2], sizes[3], 2),
            ]
        )
        self.up = nn.ModuleList(
            [
                _block(sizes[3] + sizes[2], sizes[2]),
                _block(sizes[2] + sizes[1], sizes[1]),
                _block(sizes[1] + width, sizes[1]),
            ]
        )
        self.kind = nn.Conv2d(sizes[1], CLASSES, 1)
        self.colour = nn.Conv2d(sizes[1], COLOUR_CLASSES, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Kind and colour logits of every pixel."""
        x = self.stem(image)
        levels = [x]
        for down in self.down:
            x = down(x)
            levels.append(x)
        for up, skip in zip(self.up, reversed(levels[:-1]), strict=True):
            x = up(torch.cat([_double(x), skip], dim=1))
        return self.kind(x), self.colour(x)


def _double(x: Tensor) -> Tensor:
    return nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


def network_input(image: Array, depth: Array | None, pitch: float) -> Array:
    """What the network reads.

    Args:
        image: ``uint8[S, S, 3]``.
        depth: ``float32[S, S]``, metres; None where there is none, and then both its channels are zero.
        pitch: of the camera, radians, positive upwards.

    Returns:
        ``float32[5, S, S]``.
    """
    size = image.shape[0]
    colours = image.astype(np.float32).transpose(2, 0, 1) / 127.5 - 1.0
    if depth is None:
        return np.concatenate([colours, np.zeros((2, size, size), np.float32)])
    up = -(np.arange(size, dtype=np.float32) + 0.5 - size / 2) / (size / 2 / math.tan(math.radians(VERTICAL_FOV) / 2))
    height = CAMERA_HEIGHT + depth * (math.sin(pitch) + up[:, None] * math.cos(pitch))
    inverse = 1.0 / np.maximum(depth, 0.2)
    return np.concatenate([colours, inverse[None], height[None]]).astype(np.float32)
