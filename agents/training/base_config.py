"""What every training run here is asked to do, whatever learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from ...errors import ConfigError


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaseTrainConfig:
    """Options of every training; those without a default get theirs from the subclass.

    Raises:
        ConfigError: a number is out of its range.
    """

    data: tuple[Path, ...]
    out: Path
    """The folder of the training run: a new one, or with --resume the one to continue."""
    init: Path | None = None
    steps: int
    batch: int
    lr: float
    weight_decay: float
    warmup: int
    ema: float
    state_noise: float
    validation: float
    log_every: int = 50
    """Steps per line of metrics."""
    check_every: int
    seed: int = 0
    """Draws weights, batches and noises; each step's draws depend on it and the step alone."""
    device: str = "auto"
    """cpu, cuda, or auto for the best that is there."""
    threads: int = 0
    """Threads of torch; 0 leaves torch's own choice."""
    resume: bool = False
    """Continue the run in --out."""

    def __post_init__(self) -> None:
        self._check_positive(("steps", "batch", "log_every", "check_every"))
        self._check_not_negative(("weight_decay", "warmup", "state_noise", "threads"))
        if not self.lr > 0:
            raise ConfigError(f"lr must be more than 0, got {self.lr}.")
        for name in ("ema", "validation"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must be at least 0 and less than 1, got {getattr(self, name)}.")

    def _check_positive(self, names: Iterable[str]) -> None:
        for name in names:
            if not getattr(self, name) >= 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")

    def _check_not_negative(self, names: Iterable[str]) -> None:
        for name in names:
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must not be negative, got {getattr(self, name)}.")
