"""The figures of a study, from its ``summary.json`` alone, so that they can be drawn again without the runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .doubt import BINS

_DPI = 130


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """One drawn figure.

    Attributes:
        path: of the PNG.
        caption: what it shows and how to read it.
    """

    path: Path
    caption: str


def draw_figures(summary: Mapping[str, Any], folder: Path) -> list[Figure]:
    """Draw what the study has data for.

    Args:
        summary: what ``summary.json`` holds.
        folder: of the PNGs; it is there.

    Returns:
        The figures in the order of the page; one without data is left out, and an older PNG of it removed.
    """
    import matplotlib as mpl

    mpl.use("agg")
    drawn: list[Figure] = []
    for name, draw, caption in (
        ("compute.png", _compute, _COMPUTE),
        ("gate_roc.png", _gate_roc, _GATE_ROC),
        ("deliberation.png", _deliberation, _DELIBERATION),
        ("rescues.png", _rescues, _RESCUES),
    ):
        path = folder / name
        if draw(summary, path):
            drawn.append(Figure(path=path, caption=caption))
        else:
            path.unlink(missing_ok=True)
    return drawn


_COMPUTE = (
    "Success against what a decision costs: evaluations (prefix passes, denoising steps of all candidates and "
    "comparisons; calls of large models where there are no others) and wall seconds. Bars: 95% Wilson. Up and left is "
    "better."
)
_GATE_ROC = (
    "What doubt foresees, per episode, scored by its mean over the episode. Solid: failure in the arm itself, a fair "
    "test only where the gate did not open. Dashed: episodes that the other arm rescues. On the diagonal doubt knows "
    "nothing."
)
_DELIBERATION = "Where in the episode decisions deliberated: share in each tenth of an episode's decisions."
_RESCUES = "Per task, episodes that only the second arm solved (rescues) and that only the first one solved (spoils)."


def _compute(summary: Mapping[str, Any], path: Path) -> bool:
    arms = {name: arm for name, arm in summary["arms"].items() if arm["rate"] is not None}
    if not arms:
        return False
    evaluations = {name: _evaluations(arm) for name, arm in arms.items()}
    seconds = {name: arm["seconds_per_decision"]["mean"] for name, arm in arms.items() if arm["seconds_per_decision"]}
    panels = [("evaluations per decision", evaluations), ("seconds per decision", seconds)]
    panels = [(label, places) for label, places in panels if any(places.values())]
    if not panels:
        return False
    figure, every = _subplots(len(panels))
    for axes, (label, places) in zip(every, panels, strict=True):
        for name, place in places.items():
            low, high = arms[name]["ci95"]
            rate = arms[name]["rate"]
            axes.errorbar(place, rate, yerr=[[rate - low], [high - rate]], fmt="o", capsize=3)
            axes.annotate(name, (place, rate), textcoords="offset points", xytext=(6, 4), fontsize=8)
        axes.set(xlabel=label, ylabel="success", ylim=(0, 1.02))
        axes.set_xscale("log" if min(places.values()) > 0 else "symlog")
        axes.margins(x=0.15)
        axes.grid(alpha=0.3)
    return _save(figure, path)


def _evaluations(arm: Mapping[str, Any]) -> float:
    spent = arm["per_decision"]
    return arm["nfe"] or spent["llm_calls"] + spent["vlm_calls"]


def _gate_roc(summary: Mapping[str, Any], path: Path) -> bool:
    curves = [(name, found, "-") for name, found in summary["foresight"]["failure"].items()]
    curves += [(name, found, "--") for name, found in summary["foresight"]["rescue"].items()]
    if not curves:
        return False
    figure, (axes,) = _subplots(1)
    for name, found, style in curves:
        false, true = zip(*found["curve"], strict=True)
        axes.plot(false, true, style, label=f"{name}: {found['auroc']:.2f}")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    axes.legend(fontsize=8, title="area under the curve")
    axes.grid(alpha=0.3)
    return _save(figure, path)


def _deliberation(summary: Mapping[str, Any], path: Path) -> bool:
    profiles = summary["deliberation_along_the_episode"]
    if not profiles:
        return False
    figure, (axes,) = _subplots(1)
    places = [(index + 0.5) / BINS for index in range(BINS)]
    for name, profile in profiles.items():
        known = [(place, share) for place, share in zip(places, profile, strict=True) if share is not None]
        axes.plot(*zip(*known, strict=True), "o-", label=name, markersize=3)
    axes.set(xlabel="place in the episode (0 first decision, 1 last)", ylabel="share that deliberated")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    return _save(figure, path)


def _rescues(summary: Mapping[str, Any], path: Path) -> bool:
    pairs = {name: pair["by_task"] for name, pair in summary["paired"].items()}
    changed = {name: rows for name, rows in pairs.items() if any(r["rescues"] + r["spoils"] for r in rows.values())}
    if not changed:
        return False
    tasks = list(dict.fromkeys(task for rows in changed.values() for task in rows))
    most = max(max(row["rescues"], row["spoils"]) for rows in changed.values() for row in rows.values())
    figure, every = _subplots(len(changed), columns=2, height=0.7 + 0.28 * len(tasks))
    for axes, (name, rows) in zip(every, changed.items(), strict=False):
        counts = [rows.get(task, {"rescues": 0, "spoils": 0}) for task in tasks]
        axes.barh(tasks, [row["rescues"] for row in counts], color="tab:green", label="rescues")
        axes.barh(tasks, [-row["spoils"] for row in counts], color="tab:red", label="spoils")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlim(-most - 0.5, most + 0.5)
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.invert_yaxis()
        axes.legend(fontsize=7)
    return _save(figure, path)


def _subplots(count: int, *, columns: int = 2, height: float = 4.2) -> tuple[Any, list[Any]]:
    """A figure with at least ``count`` axes, those beyond it hidden."""
    from matplotlib import pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    figure: Any
    axes: Any
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.4 * columns, height * rows), layout="constrained", squeeze=False
    )
    every = list(axes.flat)
    for unused in every[count:]:
        unused.set_visible(False)
    return figure, every


def _save(figure: Any, path: Path) -> bool:
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=_DPI)
    plt.close(figure)
    return True
