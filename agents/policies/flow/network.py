"""The network: an observation is encoded once, and an action head turns any number of noises into chunks.

Time follows LeRobot's flow policies (`lerobot.policies.common.flow_matching`): 1 is noise and 0 is the action chunk,
``x_t = t * noise + (1 - t) * actions``, and the velocity is ``noise - actions``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch
from lerobot.utils.constants import OBS_LANGUAGE_TOKENS, OBS_STATE
from torch import Tensor, nn
from torch.nn import functional

from .vision import CameraEncoder
from .vocabulary import PADDING

_FREQUENCIES = 32
"""Of the sinusoidal embedding of time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a network is built from, without anything of LeRobot's; see `FlowConfig` for what is not said here.

    Attributes:
        cameras: LeRobot's keys of the images, in the order of the encoders.
        state: numbers of proprioception.
        action: numbers of an action.
        chunk_size: actions of a chunk.
        words: of the vocabulary.
    """

    cameras: tuple[str, ...]
    state: int
    action: int
    chunk_size: int
    words: int
    max_words: int
    channels: int
    blocks: int
    keypoints: int
    language_width: int
    prefix_width: int
    head_width: int
    head_blocks: int
    bfloat16: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prefix:
    """An encoded batch of observations.

    Attributes:
        summary: ``float32[B, prefix_width]``: what the action head reads.
        tokens: ``float32[B, cameras * keypoints, channels / 2 + 2]``: each keypoint's place (x, y in [-1, 1]) and the
            features there, camera after camera; for critics.
        language: ``float32[B, language_width]``: the instruction's embedding.
    """

    summary: Tensor
    tokens: Tensor
    language: Tensor


class LanguageEncoder(nn.Module):
    """Learned word and place embeddings, one layer of self-attention, and their mean.

    Order matters: two of LIBERO's instructions have the same words (which bowl is stacked on which).
    """

    def __init__(self, *, words: int, length: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words + 1, width, padding_idx=PADDING)
        self.places = nn.Parameter(torch.randn(length, width))
        self.layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """``int64[B, L]`` to ``[B, width]``."""
        padding = tokens == PADDING
        # The additive mask keeps one code path in training and inference; torch's fast path for boolean masks warns.
        mask = torch.zeros(padding.shape, device=tokens.device).masked_fill(padding, -torch.inf)
        encoded = self.layer(self.words(tokens) + self.places, src_key_padding_mask=mask)
        kept = (~padding).float()[:, :, None]
        return (encoded * kept).sum(1) / kept.sum(1)


class HeadBlock(nn.Module):
    """A residual perceptron block, modulated by observation and time (adaLN-zero, Peebles and Xie 2023)."""

    def __init__(self, width: int, condition: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.modulation = nn.Linear(condition, 3 * width)
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        for parameter in self.modulation.parameters():
            nn.init.zeros_(parameter)

    def forward(self, hidden: Tensor, modulation: Tensor) -> Tensor:
        """``[N, width]`` and ``[N or 1, 3 * width]`` to ``[N, width]``."""
        scale, shift, gate = modulation.chunk(3, dim=-1)
        inner = functional.gelu(self.first(self.norm(hidden) * (1 + scale) + shift))
        return hidden + (1 + gate) * self.second(inner)


class FlowNetwork(nn.Module):
    """The whole network, in normalised units.

    Args:
        sizes: of its parts.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.cameras = sizes.cameras
        self.chunk_shape = (sizes.chunk_size, sizes.action)
        self.mixed_precision = sizes.bfloat16
        width, chunk = sizes.prefix_width, sizes.chunk_size * sizes.action
        self.language = LanguageEncoder(words=sizes.words, length=sizes.max_words, width=sizes.language_width)
        self.encoders = nn.ModuleList(
            CameraEncoder(
                channels=sizes.channels,
                blocks=sizes.blocks,
                keypoints=sizes.keypoints,
                language_width=sizes.language_width,
                width=256,
            )
            for _ in self.cameras
        )
        self.state = nn.Linear(sizes.state, 64)
        self.join = nn.Sequential(
            nn.Linear(256 * len(self.cameras) + 64 + sizes.language_width, 512), nn.SiLU(), nn.Linear(512, width)
        )
        self.keyframe = nn.Linear(width, 3)
        self.time = nn.Sequential(nn.Linear(2 * _FREQUENCIES, width), nn.SiLU(), nn.Linear(width, width))
        self.into = nn.Linear(chunk, sizes.head_width)
        self.blocks = nn.ModuleList(HeadBlock(sizes.head_width, width) for _ in range(sizes.head_blocks))
        self.out = nn.Sequential(nn.LayerNorm(sizes.head_width), nn.Linear(sizes.head_width, chunk))
        for parameter in self.out[1].parameters():
            nn.init.zeros_(parameter)

    def encode_batch(self, batch: Mapping[str, Any]) -> Prefix:
        """Encode a batch under LeRobot's keys, as the pre-processor made it."""
        return self.encode([batch[key] for key in self.cameras], batch[OBS_STATE], batch[OBS_LANGUAGE_TOKENS])

    def encode(self, images: list[Tensor], state: Tensor, tokens: Tensor) -> Prefix:
        """Encode observations.

        Args:
            images: one ``float32[B, 3, H, W]`` in [0, 1] per camera, in the order of `cameras`.
            state: ``float32[B, S]``, normalised.
            tokens: ``int64[B, L]``, the instruction's words.
        """
        language = self.language(tokens)
        summaries: list[Tensor] = []
        places: list[Tensor] = []
        with torch.autocast(state.device.type, dtype=torch.bfloat16, enabled=self.mixed_precision):
            for encoder, image in zip(self.encoders, images, strict=True):
                pixels = (image * 2 - 1).contiguous(memory_format=torch.channels_last)
                seen, summary = encoder(pixels, language)
                places.append(seen.float())
                summaries.append(summary.float())
        joined = torch.cat([*summaries, functional.silu(self.state(state)), language], dim=-1)
        return Prefix(summary=self.join(joined), tokens=torch.cat(places, dim=1), language=language)

    def velocity(self, chunks: Tensor, time: Tensor, summary: Tensor) -> Tensor:
        """The velocity field at any points: the direction from actions to noise.

        Args:
            chunks: ``float32[N, T, A]``, partly noise.
            time: ``float32[N]``: 1 is noise, 0 is actions.
            summary: ``float32[N, prefix_width]``: `Prefix.summary`, one row for each chunk.

        Returns:
            ``float32[N, T, A]``.
        """
        condition = functional.silu(summary + self.time(_time_features(time)))
        return self._head(chunks, [block.modulation(condition) for block in self._head_blocks()])

    def sample(self, summary: Tensor, noise: Tensor, *, steps: int) -> Tensor:
        """Integrate the velocity field from noise to actions with Euler's method.

        The modulations of all steps are computed once for each observation: they depend on it and on time alone.

        Args:
            summary: ``float32[K, prefix_width]``, one row per observation.
            noise: ``float32[K * N, T, A]``: N candidates of the first observation, then those of the second, ….
            steps: Euler steps.

        Returns:
            ``float32[K * N, T, A]``, normalised actions.
        """
        each = len(noise) // len(summary)
        times = torch.arange(steps, 0, -1, device=noise.device) / steps
        condition = functional.silu(summary[:, None] + self.time(_time_features(times)))
        modulations = [block.modulation(condition) for block in self._head_blocks()]
        chunks = noise
        for step in range(steps):
            rows = [modulation[:, step].repeat_interleave(each, dim=0) for modulation in modulations]
            chunks = chunks - self._head(chunks, rows) / steps
        return chunks

    def _head(self, chunks: Tensor, modulations: list[Tensor]) -> Tensor:
        hidden = self.into(chunks.flatten(1))
        for block, modulation in zip(self.blocks, modulations, strict=True):
            hidden = block(hidden, modulation)
        return self.out(hidden).view(-1, *self.chunk_shape)

    def _head_blocks(self) -> list[HeadBlock]:
        return [block for block in self.blocks if isinstance(block, HeadBlock)]


def _time_features(time: Tensor) -> Tensor:
    """``float32[N]`` in [0, 1] to ``float32[N, 2 * _FREQUENCIES]``: sines and cosines of 1 to 1000 radians."""
    exponents = torch.arange(_FREQUENCIES, device=time.device) / (_FREQUENCIES - 1)
    angles = time[:, None] * torch.exp(math.log(1000.0) * exponents)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
