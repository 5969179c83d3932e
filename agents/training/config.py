"""What a training run is asked to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ...errors import ConfigError
from .base_config import BaseTrainConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig(BaseTrainConfig):
    """Options of training the flow-matching policy.

    Raises:
        ConfigError: a number is out of its range.
    """

    data: tuple[Path, ...]
    """Folders of demonstrations, as `thinktwice demos` makes them."""
    steps: int = 6000
    """Optimiser steps; the learning rate falls to 3% of its peak along them."""
    batch: int = 96
    """Frames per step."""
    noise_samples: int = 8
    """Noises per frame: the action head is far cheaper than the image encoders."""
    lr: float = 1e-3
    """Peak learning rate of AdamW."""
    weight_decay: float = 1e-3
    """Of AdamW."""
    warmup: int = 200
    """Steps until the peak learning rate."""
    ema: float = 0.995
    """Decay of the averaged weights, which are the ones that are kept."""
    shift: int = 4
    """Images are moved by up to so many pixels."""
    jitter: float = 0.1
    """Standard deviation of brightness and colour changes, of the whole range."""
    keyframe_weight: float = 0.5
    """Weight of foreseeing where the gripper next opens or closes, beside the chunk's own loss; 0 to leave it out."""
    state_noise: float = 0.05
    """Noise on the normalised proprioception."""
    validation: float = 0.05
    """Share of episodes that are held out, at least one."""
    check_every: int = 500
    """Steps between validations, each followed by a checkpoint."""
    init: Path | None = None
    """A checkpoint of the same sizes to begin from, its statistics and words kept; None for random weights."""
    channels: int = 64
    """Width of the image encoders."""
    blocks: int = 3
    """Residual blocks of each image encoder."""
    keypoints: int = 32
    """Places that each image encoder looks at."""
    head_width: int = 384
    """Width of the action head."""
    head_blocks: int = 5
    """Residual blocks of the action head."""
    chunk_size: int = 16
    """Actions predicted at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_positive(("noise_samples", "chunk_size", "channels", "head_width"))
        self._check_not_negative(("shift", "jitter", "keyframe_weight", "blocks", "head_blocks"))
        if not self.data:
            raise ConfigError("say which demonstrations to train on: --data FOLDER …")
