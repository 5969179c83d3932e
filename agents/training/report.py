"""What a training run shows a person: its curve, and the checkpoint's model card."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import __version__
from .config import TrainConfig
from .demonstrations import Demonstration
from .loop import POLICY, Metrics

CURVE = "curve.png"
CARD = "README.md"


def plot_curve(metrics: Sequence[Metrics], path: Path) -> None:
    """Training and validation loss, and the validation error of the executed actions, against the step."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    checked = [line for line in metrics if line.validation is not None]
    figure: Any
    left: Any
    right: Any
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot([line.step for line in metrics], [line.loss for line in metrics], label="training", linewidth=1)
    left.plot([line.step for line in checked], [line.validation for line in checked], "o-", label="held-out episodes")
    left.set(xlabel="step", ylabel="flow-matching loss", yscale="log")
    left.legend()
    right.plot([line.step for line in checked], [line.error for line in checked], "o-", color="tab:green")
    right.set(xlabel="step", ylabel="mean |error| of executed actions, action units")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def write_card(
    config: TrainConfig, demonstrations: Sequence[Demonstration], metrics: Sequence[Metrics], *, command: str
) -> Path:
    """Write the checkpoint's model card: data, command, seed, course of training.

    Measured success is not part of training: whoever evaluates the checkpoint adds it, with the command.

    Returns:
        The card's path.
    """
    folder = config.out / POLICY
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    counts = Counter(demonstration.episode.task for demonstration in demonstrations)
    last = next((line for line in reversed(metrics) if line.validation is not None), None)
    minutes = sum(line.seconds for line in metrics) / 60
    first = demonstrations[0]
    frames = sum(len(demonstration) for demonstration in demonstrations)
    steps = metrics[-1].step if metrics else 0
    cameras = ", ".join(f"{c.name} {c.height}x{c.width} {c.rendering or ''}" for c in first.conventions.cameras)
    lines = [
        "---",
        "library_name: lerobot",
        "license: mit",
        "tags: [robotics, vision-language-action, flow-matching, thinktwice]",
        "---",
        "# Flow-matching policy",
        "",
        "A small vision-language-action policy: two cameras, proprioception and an instruction to a chunk of actions.",
        "It was trained from scratch on scripted demonstrations in simulation alone; it is no policy for a real robot.",
        "",
        f"- weights: sha256 `{digest}`",
        f"- made by: thinktwice {__version__}, `{command}`",
        f"- data: {len(demonstrations)} demonstrations of {len(counts)} tasks, {frames} frames",
        "- split: fresh placements alone, no stored initial state",
        f"- cameras: {cameras}; control rate {first.conventions.control_hz} Hz",
        f"- seed {config.seed}; {steps} steps of {config.batch} frames in {minutes:.0f} minutes on {config.device}",
    ]
    if last is not None:
        held = f"loss {last.validation:.4f}, mean absolute error of executed actions {last.error:.4f} (action units)"
        lines.append(f"- held-out episodes: {held}")
    lines += ["", "| task | demonstrations |", "| --- | --- |"]
    lines += [f"| {task} | {counts[task]} |" for task in sorted(counts)]
    settings = json.dumps(dataclasses.asdict(config), indent=2, default=str)
    lines += ["", "Settings:", "", "```json", settings, "```", ""]
    path = folder / CARD
    path.write_text("\n".join(lines))
    return path
