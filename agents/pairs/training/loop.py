"""The training loop of a critic: resumable to the same weights, on a CPU or a GPU.

As in the policy's training, every random draw of a step comes from the run's seed and the step's number, and a run that
is stopped after any checkpoint and resumed gives bit for bit the weights and the curve of one that was not (on the same
machine, with the same number of threads).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import __version__
from ....critics import Binding, open_critic, save_critic
from ....critics.losses import focal_loss, reference_loss
from ....envs import Array, derive_seed
from ....errors import RecordError, WeightsError
from ...training.devices import device_for
from ...training.learner import Learner
from ...training.state import claim, cut_lines
from ..pairset import PairSet, read_pairs
from .batches import Batches
from .building import check_learnable, held_out, spec_for, standardise, start_from
from .config import CriticTrainConfig
from .metrics import Evaluation, evaluate, log_loss, pair_logits

if TYPE_CHECKING:
    from ....critics.network import CriticInputs

METRICS, EVALUATION = "metrics.jsonl", "evaluation.json"
CRITIC = "critic"
"""The critic's folder inside that of the training run: what `thinktwice.critics.load_critic` takes."""

_OPERATIONAL = ("data", "out", "init", "resume", "device", "threads", "log_every", "single_task")
"""Settings that are not compared when a run is resumed; the data is compared by its pairs instead."""

_VALIDATION_PAIRS = 4096
_MOST_MARGIN = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticMetrics:
    """One line of ``metrics.jsonl``.

    Attributes:
        step: how many steps are done.
        loss: the mean training loss since the last line.
        lr: the learning rate.
        validation: the averaged weights' cross-entropy on held-out episodes, or None where it was not measured.
        accuracy: there too, the share of held-out pairs of the policy's own chunks (of all where there are none) whose
            better one is preferred.
        seconds: wall seconds since the last line.
    """

    step: int
    loss: float
    lr: float
    validation: float | None = None
    accuracy: float | None = None
    seconds: float


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
    import torch

    pairs = read_pairs(config.data)
    check_learnable(pairs, single_task=config.single_task)
    device = device_for(config.device)
    claim(config.out, resume=config.resume)
    if config.threads:
        torch.set_num_threads(config.threads)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
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
        self.learner = Learner(
            self.network,
            lr=config.lr,
            warmup=config.warmup,
            steps=config.steps,
            weight_decay=config.weight_decay,
            ema=config.ema,
        )
        margins = np.minimum(pairs.margin, _MOST_MARGIN) if config.margin_weight else np.ones_like(pairs.margin)
        self.margins = margins.astype(np.float32)
        self.drawn = np.cumsum(pairs.weight[self.kept].astype(np.float64))
        half = config.precision == "bfloat16" or (config.precision == "auto" and device.startswith("cuda"))
        self.autocast: Any = torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=half)

    def run(self, report: Callable[[CriticMetrics], None]) -> None:
        """Train from where the folder stands to the last step, or until nothing gets better."""
        config, first = self.config, 0
        path = config.out / METRICS
        if config.resume:
            first = self.learner.load(config.out, config=self._compared())
        cut_lines(path, first)
        checks = [line for line in read_metrics(config.out) if line.validation is not None] if first else []
        losses: list[float] = []
        began = time.perf_counter()
        for step in range(first, config.steps):
            if _stalled(checks, config.patience):
                break
            losses.append(self._step(step))
            done = step + 1
            checked = done % config.check_every == 0 or done == config.steps
            if not checked and done % config.log_every:
                continue
            validation, accuracy = self._validate() if checked else (None, None)
            now = time.perf_counter()
            line = CriticMetrics(
                step=done,
                loss=float(np.mean(losses)),
                lr=self.learner.lr(step),
                validation=validation,
                accuracy=accuracy,
                seconds=round(now - began, 3),
            )
            began, losses = now, []
            with path.open("a") as file:
                file.write(json.dumps(dataclasses.asdict(line)) + "\n")
            report(line)
            if checked:
                checks.append(line)
                self._save(line, best=best_check(checks) is line)

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
        settings = {name: value for name, value in dataclasses.asdict(self.config).items() if name not in _OPERATIONAL}
        return {**settings, "pairs": _digest(self.pairs)}


def read_metrics(folder: Path) -> list[CriticMetrics]:
    """Every line of a training run's metrics.

    Raises:
        RecordError: they are missing or damaged.
    """
    path = folder / METRICS
    try:
        return [CriticMetrics(**json.loads(line)) for line in path.read_text().splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise RecordError(f"{path} cannot be read: {error}.") from error


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
