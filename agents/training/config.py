"""What a training run is asked to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ...errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Options of training the flow-matching policy.

    Raises:
        ConfigError: a number is out of its range.
    """

    data: tuple[Path, ...]
    """Folders of demonstrations, as `thinktwice demos` makes them."""
    out: Path
    """The folder of the training run: a new one, or with --resume the one to continue."""
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
    log_every: int = 50
    """Steps per line of metrics."""
    check_every: int = 500
    """Steps between validations, each followed by a checkpoint."""
    seed: int = 0
    """Draws weights, batches and noises; each step's draws depend on it and the step alone."""
    device: str = "auto"
    """cpu, cuda, or auto for the best that is there."""
    threads: int = 0
    """Threads of torch; 0 leaves torch's own choice."""
    resume: bool = False
    """Continue the run in --out."""
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
        counts = ("steps", "batch", "noise_samples", "log_every", "check_every", "chunk_size", "channels", "head_width")
        for name in counts:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in (
            "warmup",
            "shift",
            "jitter",
            "state_noise",
            "keyframe_weight",
            "weight_decay",
            "threads",
            "blocks",
            "head_blocks",
        ):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not self.data:
            raise ConfigError("say which demonstrations to train on: --data FOLDER …")
        if not self.lr > 0:
            raise ConfigError(f"lr must be more than 0, got {self.lr}.")
        for name in ("ema", "validation"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must be at least 0 and less than 1, got {getattr(self, name)}.")
