"""From demonstrations to training batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...envs import Array, derive_seed
from .demonstrations import Demonstration
from .keyframes import keyframes

type Batch = dict[str, Any]
"""LeRobot's names: images ``float32[B, 3, H, W]``, state, ``action`` ``float32[B, T, A]``, ``action_is_pad``, task; and
``keyframe`` ``float32[B, 3]``, see `keyframes`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Random changes of a batch, none by default.

    Attributes:
        shift: images move by up to so many pixels in each direction, their border repeated.
        jitter: standard deviation of the brightness factor and of each colour's offset, of the whole range.
    """

    shift: int = 0
    jitter: float = 0.0


class Frames:
    """Every frame of some demonstrations, to draw batches from.

    Args:
        demonstrations: at least one.
        chunk: actions per chunk.
    """

    def __init__(self, demonstrations: Sequence[Demonstration], *, chunk: int) -> None:
        self.demonstrations = demonstrations
        self._chunk = chunk
        self._starts = np.cumsum([0, *(len(demonstration) for demonstration in demonstrations)])
        self._usable = [usable_labels(demonstration, chunk) for demonstration in demonstrations]
        self._keyframes = [keyframes(demonstration) for demonstration in demonstrations]

    def __len__(self) -> int:
        return int(self._starts[-1])

    def batch(self, indices: Array, *, seed: int, augmentation: Augmentation) -> Batch:
        """The frames with these indices.

        Args:
            indices: ``int[B]``, from 0 to ``len(self) - 1``.
            seed: draws the augmentation.
            augmentation: how images change.
        """
        import torch

        random = np.random.default_rng(derive_seed(seed, "augmentation"))
        which = np.searchsorted(self._starts, indices, side="right") - 1
        places = [(self.demonstrations[w], int(i - self._starts[w])) for w, i in zip(which, indices, strict=True)]
        batch: Batch = {"task": [demonstration.instruction for demonstration, _ in places]}
        for camera in self.demonstrations[0].images:
            pixels = np.stack([demonstration.images[camera][t] for demonstration, t in places])
            batch[f"observation.images.{camera}"] = _augment(pixels, random, augmentation)
        batch["observation.state"] = torch.from_numpy(np.stack([demonstration.state[t] for demonstration, t in places]))
        chunks = [_chunk(demonstration.label, t, self._chunk) for demonstration, t in places]
        batch["action"] = torch.from_numpy(np.stack(chunks))
        usable = np.array([self._usable[w][t] for w, (_, t) in zip(which, places, strict=True)])
        batch["action_is_pad"] = torch.from_numpy(np.arange(self._chunk) >= usable[:, None])
        aims = [(self._keyframes[w], t) for w, (_, t) in zip(which, places, strict=True)]
        if all(aim is not None for aim, _ in aims):
            batch["keyframe"] = torch.from_numpy(np.stack([aim[t] for aim, t in aims if aim is not None]))
        return batch


def usable_labels(demonstration: Demonstration, chunk: int) -> Array:
    """How many labels of the chunk at each frame could be foreseen there: ``int[T]``, from 1 to ``chunk``.

    A label answers to the state that was reached.  After a disturbance it answers to that too, so a chunk is usable
    up to and including the first action that was executed otherwise than labelled.
    """
    length = len(demonstration)
    disturbed = np.flatnonzero((demonstration.executed != demonstration.label).any(axis=1))
    after = np.append(disturbed, length - 1)[np.searchsorted(disturbed, np.arange(length))]
    return np.minimum(after - np.arange(length) + 1, chunk)


def _chunk(labels: Array, start: int, size: int) -> Array:
    """``float32[size, A]``: the labels from a frame on, the last one repeated beyond the episode's end."""
    return labels[np.minimum(np.arange(start, start + size), len(labels) - 1)]


def _augment(pixels: Array, random: np.random.Generator, augmentation: Augmentation) -> Any:
    """``uint8[B, H, W, 3]`` to a tensor ``float32[B, 3, H, W]`` in [0, 1]."""
    import torch

    shift = augmentation.shift
    if shift:
        height, width = pixels.shape[1:3]
        padded = np.pad(pixels, ((0, 0), (shift, shift), (shift, shift), (0, 0)), mode="edge")
        offsets = random.integers(0, 2 * shift, (len(pixels), 2), endpoint=True)
        pixels = np.stack([image[y : y + height, x : x + width] for image, (y, x) in zip(padded, offsets, strict=True)])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    if augmentation.jitter:
        factor = 1 + augmentation.jitter * random.standard_normal((len(pixels), 1, 1, 1), np.float32)
        offset = augmentation.jitter / 2 * random.standard_normal((len(pixels), 3, 1, 1), np.float32)
        images = images * torch.from_numpy(factor) + torch.from_numpy(offset)
    return images
