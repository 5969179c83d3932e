"""The training of the policy: resumable to the same weights, on a CPU or a GPU (see `course`)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...envs import derive_seed
from ...envs.split import check_split
from ...errors import ConfigError, UsageError
from ..policies.flow.loading import load_flow
from .batches import Augmentation, Batch, Frames
from .config import TrainConfig
from .course import METRICS, MetricsLine, claimed, decisive, play_course, read_lines, steps_done
from .demonstrations import Demonstration, read_folder
from .learner import Learner

if TYPE_CHECKING:
    from torch import Tensor

POLICY = "policy"
"""The checkpoint's folder inside that of the training run: what ``--policy bundled:FOLDER`` takes."""

_VALIDATION_FRAMES = 192
_EXECUTED = 8
"""Actions of a chunk whose error is reported: those that are executed before the next look."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metrics(MetricsLine):
    """One line of ``metrics.jsonl``.

    Attributes:
        error: where the validation was measured, the mean absolute error of the executed part of one sampled chunk,
            in the action's units.
    """

    error: float | None = None


def train(config: TrainConfig, *, report: Callable[[Metrics], None] | None = None) -> Path:
    """Train a policy.

    Args:
        config: what to do.
        report: told each line of metrics.

    Returns:
        The checkpoint's folder.

    Raises:
        UsageError: there are no demonstrations, or one of them began in a stored initial state.
        RecordError: the folder holds another run, or cannot be written or resumed.
        ConfigError: the device is not there.
        WeightsError: ``init`` cannot be loaded.
    """
    demonstrations = read_folder(config.data)
    check_split((d.episode for d in demonstrations), "training", purpose="training a policy")
    if config.init is not None and not config.init.is_dir():
        raise ConfigError(f"init must be a checkpoint's folder; there is none at {config.init}.")
    with claimed(config):
        return _Training(config, demonstrations).run(report or (lambda _: None))


def held_out(demonstrations: Sequence[Demonstration], share: float) -> tuple[list[Demonstration], list[Demonstration]]:
    """Split off the episodes for validation, by a hash of their identity: the same ones however many there are.

    Raises:
        UsageError: there are fewer than two episodes.
    """
    if len(demonstrations) < 2:
        raise UsageError("training needs at least two demonstrations, of which one is held out for validation.")
    ordered = sorted(demonstrations, key=lambda demonstration: derive_seed("held out", demonstration.episode.key))
    count = max(1, round(share * len(ordered)))
    return ordered[count:], ordered[:count]


class _Training:
    def __init__(self, config: TrainConfig, demonstrations: Sequence[Demonstration]) -> None:
        import torch

        from .building import build_policy, learn_words, pipelines

        kept, held = held_out(demonstrations, config.validation)
        self.config = config
        self.frames = Frames(kept, chunk=config.chunk_size)
        self.validation = Frames(held, chunk=config.chunk_size)
        self.demonstrations = demonstrations
        torch.manual_seed(derive_seed(config.seed, "weights"))
        if config.init is None:
            self.policy = build_policy(config, demonstrations)
            self.preprocessor, self.postprocessor = pipelines(self.policy.config, kept)
        else:
            start = load_flow(config.init, device=None if config.device == "auto" else config.device)
            learn_words(start, demonstrations)
            self.policy, self.preprocessor, self.postprocessor = start.policy, start.preprocessor, start.postprocessor
        self.device = str(self.policy.config.device)
        self.policy.to(self.device)
        self.learner = Learner(self.policy, config, betas=(0.9, 0.95))

    def run(self, report: Callable[[Metrics], None]) -> Path:
        """Train from where the folder stands to the last step."""
        lines = play_course(
            self.learner,
            self.config,
            Metrics,
            first=steps_done(self.learner, self.config, compared=self._compared()),
            step=self._step,
            check=self._validate,
            measures=("validation", "error"),
        )
        for line in lines:
            report(line)
            if line.validation is not None:
                self._save(line.step)
        return self.config.out / POLICY

    def _step(self, step: int) -> float:
        import torch

        config = self.config
        random = np.random.default_rng(derive_seed(config.seed, "batch", step))
        indices = random.integers(0, len(self.frames), config.batch)
        augmentation = Augmentation(shift=config.shift, jitter=config.jitter)
        batch = self._prepared(
            self.frames.batch(indices, seed=derive_seed(config.seed, step), augmentation=augmentation)
        )
        torch.manual_seed(derive_seed(config.seed, "noise", step))
        state = batch["observation.state"]
        batch["observation.state"] = state + config.state_noise * torch.randn_like(state)
        self.policy.train()
        loss, _ = self.policy.forward(batch)
        self.learner.descend(loss, step)
        return float(loss.item())

    def _validate(self) -> tuple[float, float]:
        """Loss and action error of the averaged weights, on the same frames and noises each time."""
        import torch

        frames = self.validation
        indices = np.linspace(0, len(frames) - 1, min(_VALIDATION_FRAMES, len(frames))).round().astype(int)
        raw = frames.batch(indices, seed=0, augmentation=Augmentation())
        batch = self._prepared(dict(raw))
        torch.manual_seed(0)
        with self.learner.averaged(), torch.no_grad():
            loss, _ = self.policy.forward(batch)
            actions = self.postprocessor(self.policy.predict_action_chunk(batch))
        wanted: Tensor = raw["action"]
        counted = (~raw["action_is_pad"])[:, :_EXECUTED, None].float()
        wrong = (actions[:, :_EXECUTED] - wanted[:, :_EXECUTED]).abs() * counted
        return float(loss.item()), float(wrong.sum() / (counted.sum() * wanted.shape[-1]))

    def _prepared(self, batch: Batch) -> Batch:
        """The batch through the policy's own pre-processor, as at inference; it drops keys that it does not know."""
        own = {name: batch.pop(name).to(self.device) for name in ("action_is_pad", "keyframe") if name in batch}
        return {**self.preprocessor(batch), **own}

    def _save(self, step: int) -> None:
        out = self.config.out
        self.learner.save(out, step=step, config=self._compared())
        with self.learner.averaged():
            for part in (self.policy, self.preprocessor, self.postprocessor):
                part.save_pretrained(out / POLICY)

    def _compared(self) -> dict[str, Any]:
        """What decides the course of training."""
        keys = "\n".join(demonstration.episode.key for demonstration in self.demonstrations)
        return {**decisive(self.config), "episodes": hashlib.sha256(keys.encode()).hexdigest()}


def read_metrics(folder: Path) -> list[Metrics]:
    """Every line of a training run's metrics, see `read_lines`."""
    return read_lines(folder / METRICS, Metrics)
