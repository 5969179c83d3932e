"""What a critic's training shows a person: curves, calibration, and the model card."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .... import __version__
from ....critics import open_critic
from ..pairset import PairSet
from .config import CriticTrainConfig
from .loop import CRITIC, CriticMetrics, best_check
from .metrics import Evaluation

CURVE, CALIBRATION, CARD = "curve.png", "calibration.png", "README.md"


def plot_curve(metrics: Sequence[CriticMetrics], path: Path) -> None:
    """Loss, held-out cross-entropy and held-out accuracy against the step."""
    checked = [line for line in metrics if line.validation is not None]
    steps = [line.step for line in checked]
    figure, (left, right) = _panels(2)
    left.plot([line.step for line in metrics], [line.loss for line in metrics], label="training, focal", linewidth=1)
    left.plot(steps, [line.validation for line in checked], "o-", label="held-out episodes, cross-entropy")
    left.set(xlabel="step", ylabel="loss")
    left.legend()
    right.plot(steps, [line.accuracy for line in checked], "o-", color="tab:green")
    right.axhline(0.5, color="grey", linewidth=1, linestyle="--")
    right.set(xlabel="step", ylabel="pair accuracy on held-out episodes", ylim=(0, 1))
    _save(figure, path)


def plot_calibration(evaluation: Evaluation, path: Path) -> None:
    """How often the preferred chunk is the better one, against the confidence; and how many pairs there are of each."""
    sure, right_share, counts = zip(*evaluation.bins, strict=True)
    figure, (left, right) = _panels(2)
    left.plot([0.5, 1], [0.5, 1], color="grey", linewidth=1, linestyle="--")
    left.plot(sure, right_share, "o-")
    left.set(xlabel="confidence", ylabel="accuracy", xlim=(0.5, 1), ylim=(0, 1))
    left.set_title(f"expected calibration error {evaluation.calibration_error:.3f}")
    right.bar(sure, counts, width=0.04)
    right.set(xlabel="confidence", ylabel="held-out pairs", xlim=(0.5, 1))
    _save(figure, path)


def write_card(
    config: CriticTrainConfig,
    pairs: PairSet,
    metrics: Sequence[CriticMetrics],
    evaluation: Evaluation,
    *,
    command: str,
) -> Path:
    """Write the critic's model card: data, command, seed, course of training, and the held-out measures.

    Success in closed loop is not part of training: whoever evaluates the critic adds it, with the command.

    Returns:
        The card's path.
    """
    folder = config.out / CRITIC
    critic = open_critic(folder).describe()
    best = best_check([line for line in metrics if line.validation is not None])
    minutes = sum(line.seconds for line in metrics) / 60
    counts = Counter(pairs.states[state].task for state in pairs.state)
    lines = [
        "---",
        "license: mit",
        "tags: [robotics, test-time-compute, preference-model, thinktwice]",
        "---",
        f"# Action critic ({config.kind})",
        "",
        "Says which of two action chunks of one policy is better.  It knows the mistakes of that one checkpoint.",
        "It is no safety device.",
        "",
        f"- weights: sha256 `{critic['sha256']}`, {critic['parameters']} parameters",
        f"- judges: `{critic['policy']}`, weights sha256 `{critic['policy_sha256']}`",
        f"- made by: thinktwice {__version__}, `{command}`",
        f"- data: {len(pairs)} pairs of {len(pairs.states)} decisions in {len(pairs.episodes)} episodes",
        f"- labels: {', '.join(pairs.sources)}; folders: {', '.join(folder.name for folder in config.data)}",
        "- split: fresh placements alone, no stored initial state",
        f"- seed {config.seed}; {metrics[-1].step} steps of {config.batch} pairs in {minutes:.0f} minutes",
        f"- kept: the averaged weights after step {best.step}",
        "",
        "Held-out episodes:",
        "",
        *(f"- {name}: {value}" for name, value in measures(evaluation)),
        "",
        "| task | pairs |",
        "| --- | --- |",
        *(f"| {task} | {counts[task]} |" for task in sorted(counts)),
        "",
        "Settings:",
        "",
        "```json",
        json.dumps(dataclasses.asdict(config), indent=2, default=str),
        "```",
        "",
    ]
    path = folder / CARD
    path.write_text("\n".join(lines))
    return path


def measures(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The measures in words."""
    regret = evaluation.regret
    named: list[tuple[str, str | None]] = [
        ("pairs", f"{evaluation.pairs}, of which {evaluation.own_pairs} between two chunks of the policy"),
        ("accuracy, policy against policy", _share(evaluation.own_accuracy)),
        ("the same of 'nearer to the medoid'", _share(evaluation.medoid_accuracy)),
        ("accuracy, all pairs", _share(evaluation.accuracy)),
        ("cross-entropy", f"{evaluation.log_loss:.3f} nats (a coin: 0.693)"),
        ("expected calibration error", f"{evaluation.calibration_error:.3f}"),
        ("antisymmetry error", f"{evaluation.antisymmetry_error:.1e}"),
        ("cyclic triples", _share(evaluation.cycle_rate)),
        (
            "regret against the best of N",
            None
            if regret is None
            else f"critic {regret.critic:.4f}, medoid {regret.medoid:.4f}, reflex {regret.reflex:.4f}, random "
            f"{regret.random:.4f} ({regret.states} decisions, the label source's unit)",
        ),
    ]
    return [(name, value) for name, value in named if value is not None]


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _panels(count: int) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt.subplots(1, count, figsize=(5 * count, 4), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    for axes in figure.axes:
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)
