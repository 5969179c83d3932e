"""The training of a critic: resumable to the same weights, on a CPU or a GPU (see `agents.training.course`)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import __version__
from ....critics import Binding, open_critic, save_critic
from ....critics.losses import focal_loss, reference_loss
from ....envs import Array, derive_seed
from ....errors import WeightsError
from ...training.course import METRICS, MetricsLine, claimed, decisive, play_course, read_lines, steps_done
from ...training.devices import device_for
from ...training.learner import Learner
from ..pairset import PairSet, read_pairs
from .batches import Batches
from .building import check_learnable, held_out, spec_for, standardise, start_from
from .config import CriticTrainConfig
from .metrics import Evaluation, evaluate, log_loss, pair_logits

if TYPE_CHECKING:
    from ....critics.network import CriticInputs

EVALUATION = "evaluation.json"
CRITIC = "critic"
"""The critic's folder inside that of the training run: what `thinktwice.critics.load_critic` takes."""

_VALIDATION_PAIRS = 4096
_MOST_MARGIN = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticMetrics(MetricsLine):
    """One line of ``metrics.jsonl``; its validation is a cross-entropy.

    Attributes:
        accuracy: where the validation was measured, the share of held-out pairs of the policy's own chunks (of all
            where there are none) whose better one is preferred.
    """

    accuracy: float | None = None


def train_critic(config: CriticTrainConfig, *, report: Callable[[CriticMetrics], None] | None = None) -> Evaluation:
    """Train a critic and measure it on the held-out episodes; it lies in ``config.out / CRITIC``.

    Args:
        config: what to do.
        report: told each line of metrics.

    Raises:
        UsageError: there are no pairs, or of one task or episode alone.
        RecordError: the folder holds another run, cannot be written or resumed, or the pairs are damaged or of several
            policies.
        ConfigError: a size or the device makes no sense.
        WeightsError: training diverged.
    """
    pairs = read_pairs(config.data)
    check_learnable(pairs, single_task=config.single_task)
    device = device_for(config.device)
    with claimed(config):
        training = _Training(config, pairs, device)
        training.run(report or (lambda _: None))
    network = open_critic(config.out / CRITIC, device=device).network
    evaluation = evaluate(network, training.batches, training.held)
    (config.out / EVALUATION).write_text(json.dumps(evaluation.to_json(), indent=2) + "\n")
    return evaluation


class _Training:
    def __init__(self, config: CriticTrainConfig, pairs: PairSet, device: str) -> None:
        import torch

        from ....critics.network import CriticNetwork

        self.config, self.pairs, self.device = config, pairs, device
        self.kept, self.held = held_out(pairs, config.validation)
        spec, scale = spec_for(config, pairs), pairs.scale()
        torch.manual_seed(derive_seed(config.seed, "weights"))
        self.network = CriticNetwork(spec)
        learned = sorted(set(pairs.state[self.kept].tolist()))
        if config.init is None:
            standardise(self.network, (pairs.states[index] for index in learned), scale=scale)
        else:
            start_from(self.network, config.init)
            scale = self.network.action_std.numpy().copy()
        self.network.to(device)
        self.batches = Batches(pairs, spec, scale=scale, device=device)
        self.learner = Learner(self.network, config)
        margins = np.minimum(pairs.margin, _MOST_MARGIN) if config.margin_weight else np.ones_like(pairs.margin)
        self.margins = margins.astype(np.float32)
        self.drawn = np.cumsum(pairs.weight[self.kept].astype(np.float64))
        half = config.precision == "bfloat16" or (config.precision == "auto" and device.startswith("cuda"))
        self.autocast: Any = torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=half)

    def run(self, report: Callable[[CriticMetrics], None]) -> None:
        """Train from where the folder stands to the last step, or until nothing gets better."""
        config = self.config
        first = steps_done(self.learner, config, compared=self._compared())
        checks = [line for line in read_metrics(config.out) if line.validation is not None] if first else []
        if _stalled(checks, config.patience):
            return
        lines = play_course(
            self.learner,
            config,
            CriticMetrics,
            first=first,
            step=self._step,
            check=self._validate,
            measures=("validation", "accuracy"),
        )
        for line in lines:
            report(line)
            if line.validation is None:
                continue
            checks.append(line)
            self._save(line, best=best_check(checks) is line)
            if _stalled(checks, config.patience):
                break

    def _step(self, step: int) -> float:
        import torch

        config = self.config
        random = np.random.default_rng(derive_seed(config.seed, "batch", step))
        # As often as its weight says: the place of a uniform draw in the summed weights.
        drawn = np.searchsorted(self.drawn, random.random(config.batch) * self.drawn[-1], side="right")
        indices = self.kept[np.minimum(drawn, len(self.kept) - 1)]
        torch.manual_seed(derive_seed(config.seed, "noise", step))
        inputs = self._noisy(self.batches.of_pairs(indices))
        weights = torch.from_numpy(self.margins[indices]).to(self.device)
        self.network.train()
        with self.autocast:
            logits, predicted = self.network.read(inputs)
        loss = focal_loss(logits[:, 0], weights, gamma=config.gamma)
        if predicted is not None:
            chunks, labelled = self.batches.references(indices)
            wanted = (chunks - self.network.action_mean) / self.network.action_std
            loss = loss + config.reference_weight * reference_loss(predicted, wanted, labelled)
        if not bool(loss.isfinite()):
            raise WeightsError(f"training diverged at step {step}: the loss is {loss.item()}. Lower --lr.")
        self.learner.descend(loss, step)
        return float(loss.item())

    def _noisy(self, inputs: CriticInputs) -> CriticInputs:
        """Features and proprioception with noise, so that a few thousand decisions are not learned by heart."""
        import torch

        from ....critics.features import VectorStem

        network, config = self.network, self.config
        features = inputs.features
        if network.context is not None:
            features = [
                value + config.feature_noise * torch.randn_like(value) * stem.std
                if isinstance(stem, VectorStem)
                else value
                for value, stem in zip(features, network.context.stems, strict=True)
            ]
        state = inputs.state + config.state_noise * torch.randn_like(inputs.state) * network.state_std
        return dataclasses.replace(inputs, features=features, state=state)

    def _validate(self) -> tuple[float, float]:
        """Cross-entropy and accuracy of the averaged weights, on the same held-out pairs each time."""
        held = self.held[np.linspace(0, len(self.held) - 1, min(_VALIDATION_PAIRS, len(self.held))).astype(int)]
        with self.learner.averaged():
            logits = pair_logits(self.network, self.batches, held)
        own = self.pairs.own[held]
        return log_loss(logits), float((logits[own] > 0).mean() if own.any() else (logits > 0).mean())

    def _save(self, line: CriticMetrics, *, best: bool) -> None:
        out, pairs = self.config.out, self.pairs
        if best:
            training = {
                "thinktwice": __version__,
                "data": [folder.name for folder in self.config.data],
                "sources": list(pairs.sources),
                "pairs": len(self.kept),
                "episodes": len(pairs.episodes),
                "tasks": pairs.tasks,
                "seed": self.config.seed,
                "step": line.step,
                "validation": line.validation,
            }
            binding = Binding(
                policy_sha256=pairs.policy.get("sha256"),
                policy=str(pairs.policy.get("checkpoint") or pairs.policy["policy"]),
                training=training,
            )
            with self.learner.averaged():
                save_critic(self.network, out / CRITIC, binding=binding)
        self.learner.save(out, step=line.step, config=self._compared())

    def _compared(self) -> dict[str, Any]:
        """What decides the course of training."""
        return {**decisive(self.config, operational=("single_task",)), "pairs": _digest(self.pairs)}


def read_metrics(folder: Path) -> list[CriticMetrics]:
    """Every line of a training run's metrics, see `read_lines`."""
    return read_lines(folder / METRICS, CriticMetrics)


def best_check(checks: list[CriticMetrics]) -> CriticMetrics:
    """The validation with the least cross-entropy, the first of equals."""
    return min(checks, key=lambda line: np.inf if line.validation is None else line.validation)


def _stalled(checks: list[CriticMetrics], patience: int) -> bool:
    return bool(patience and checks) and len(checks) - 1 - checks.index(best_check(checks)) >= patience


def _digest(pairs: PairSet) -> str:
    """Equal for equal pairs of equal decisions."""
    result = hashlib.sha256()
    for state in pairs.states:
        result.update(f"{state.episode} {state.stored.decision[state.row]}".encode())
    columns: tuple[Array, ...] = (pairs.state, pairs.better, pairs.worse, pairs.margin, pairs.weight)
    for column in columns:
        result.update(column.tobytes())
    return result.hexdigest()
