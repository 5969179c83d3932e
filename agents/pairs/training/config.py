"""What a training run of a critic is asked to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from ....critics.spec import Kind
from ....errors import ConfigError
from ...training.base_config import BaseTrainConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticTrainConfig(BaseTrainConfig):
    """Options of training a critic.

    Raises:
        ConfigError: a number is out of its range.
    """

    data: tuple[Path, ...]
    """Pair sets, as `thinktwice pairs` makes them, all of one policy checkpoint."""
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
    check_every: int = 200
    """Steps between validations, each followed by a checkpoint."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the forward pass in training; auto is bfloat16 on a GPU and float32 on a CPU."""
    single_task: bool = False
    """Accept pairs of one task alone: such a critic says nothing about any other."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_not_negative(("horizon", "patience", "gamma", "reference_weight", "feature_noise"))
        if not self.data:
            raise ConfigError("say which pairs to train on: --data FOLDER …")
        if self.validation == 0:
            raise ConfigError(f"validation must be more than 0 and less than 1, got {self.validation}.")
