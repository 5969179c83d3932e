"""What a training run of a critic is asked to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from ....critics.spec import Kind
from ....errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticTrainConfig:
    """Options of training a critic.

    Raises:
        ConfigError: a number is out of its range.
    """

    data: tuple[Path, ...]
    """Pair sets, as `thinktwice pairs` makes them, all of one policy checkpoint."""
    out: Path
    """The folder of the training run: a new one, or with --resume the one to continue."""
    kind: Kind = "relative"
    """relative: the Relative Action Critic; scalar and action-only: its controls on the same trunk; regression:
    predicts the expert's chunk and prefers the candidate nearer to it."""
    init: Path | None = None
    """The folder of a trained critic of the same sizes to start from, such as that of an earlier checkpoint of the
    policy."""
    horizon: int = 0
    """Actions of a chunk that the critic reads; 0 for all."""
    steps: int = 4000
    """Optimiser steps at most; the learning rate falls to 3% of its peak along them."""
    patience: int = 8
    """Stop after so many validations without a better one; 0 never stops early."""
    batch: int = 256
    """Pairs per step."""
    lr: float = 5e-4
    """Peak learning rate of AdamW."""
    weight_decay: float = 0.05
    """Of AdamW."""
    warmup: int = 100
    """Steps until the peak learning rate."""
    ema: float = 0.99
    """Decay of the averaged weights, which are the ones that are validated and kept."""
    gamma: float = 2.0
    """Of the focal loss; 0 is cross-entropy."""
    reference_weight: float = 1.0
    """Of the second loss: predicting the chunk of the expert that labelled, which candidates are then compared with;
    0 for none.  Without effect for action-only critics and for labels of other sources."""
    margin_weight: bool = True
    """Pairs with a larger difference count more, up to twice the average."""
    feature_noise: float = 0.1
    """Noise on the features, in their standard deviations."""
    state_noise: float = 0.05
    """Noise on the proprioception, in its standard deviations."""
    width: int = 128
    """Of every token."""
    layers: int = 3
    """Blocks of the trunk."""
    heads: int = 4
    """Of every attention."""
    queries: int = 8
    """Learnable query tokens that gather the policy's features."""
    dropout: float = 0.1
    """In the trunk."""
    validation: float = 0.15
    """Share of episodes that are held out, at least one."""
    log_every: int = 50
    """Steps per line of metrics."""
    check_every: int = 200
    """Steps between validations, each followed by a checkpoint."""
    seed: int = 0
    """Draws weights, batches and noises; each step's draws depend on it and the step alone."""
    device: str = "auto"
    """cpu, cuda, or auto for the best that is there."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the forward pass in training; auto is bfloat16 on a GPU and float32 on a CPU."""
    threads: int = 0
    """Threads of torch; 0 leaves torch's own choice."""
    single_task: bool = False
    """Accept pairs of one task alone: such a critic says nothing about any other."""
    resume: bool = False
    """Continue the run in --out."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "log_every", "check_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        numbers = (
            "horizon",
            "patience",
            "weight_decay",
            "warmup",
            "gamma",
            "reference_weight",
            "feature_noise",
            "state_noise",
            "threads",
        )
        for name in numbers:
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not self.data:
            raise ConfigError("say which pairs to train on: --data FOLDER …")
        if not self.lr > 0:
            raise ConfigError(f"lr must be more than 0, got {self.lr}.")
        if not 0.0 <= self.ema < 1.0:
            raise ConfigError(f"ema must be at least 0 and less than 1, got {self.ema}.")
        if not 0.0 < self.validation < 1.0:
            raise ConfigError(f"validation must be more than 0 and less than 1, got {self.validation}.")
