"""The bundled policy by reflex alone, on the reporting states of LIBERO's suites: the table of docs/policy.md.

Each suite is one ``thinktwice rollout`` run; a benchmark that was interrupted goes on where it stopped.

    python -m benchmarks.reflex_table --runs ../reflex_runs --out docs/evidence/reflex --workers 2
    python -m benchmarks.reflex_table --markdown docs/evidence/reflex/summary.json
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import tyro

from thinktwice.envs.libero.suites import find_task
from thinktwice.rollouts.records import open_run
from thinktwice.rollouts.statistics import wilson
from thinktwice.rollouts.summary import Group, Summary, summarise
from thinktwice.scripts import rollout

from .machine import machine

SUITES = ("libero_object", "libero_spatial", "libero_goal", "libero_10")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the table."""

    runs: Path = Path("runs/reflex")
    """Folder of the runs, one per suite."""
    out: Path = Path("docs/evidence/reflex")
    """Folder of summary.json."""
    policy: str = "bundled"
    """What acts."""
    states: str = "reporting"
    """Stored initial states: reporting (10-39), tuning (0-9), or a range."""
    episodes: int = 10
    """Episodes per task, from the first of these states on."""
    suites: tuple[str, ...] = SUITES
    """Which suites to play."""
    seed: int = 0
    """Of the policy's noise."""
    workers: int = 1
    """Processes."""
    markdown: Path | None = None
    """Print the table of a summary.json and play nothing."""


def play(suite: str, options: Options) -> Path:
    """Play one suite, or the rest of it."""
    folder = options.runs / suite
    arguments = [suite, "--policy", options.policy, "--init-states", options.states, "--no-report"]
    arguments += ["--episodes", str(options.episodes), "--seed", str(options.seed), "--workers", str(options.workers)]
    arguments += ["--out", str(folder), *(("--resume",) if folder.exists() else ())]
    rollout.main(arguments)
    return folder


def row(group: Group) -> dict[str, Any]:
    """A suite's or a task's figures."""
    interval = group.interval
    return {
        "episodes": group.judged,
        "successes": group.successes,
        "errors": group.errors,
        "rate": group.rate,
        "ci95": None if interval is None else [interval.low, interval.high],
    }


def table(summaries: dict[str, Summary], options: Options, weights: list[str]) -> dict[str, Any]:
    """The evidence: every suite and task, and the three short suites together."""
    some = "" if options.suites == SUITES else f" --suites {' '.join(options.suites)}"
    short = [summaries[suite].overall for suite in summaries if suite != "libero_10"]
    judged, successes = sum(group.judged for group in short), sum(group.successes for group in short)
    pooled = wilson(successes, judged)
    return {
        "command": f"python -m benchmarks.reflex_table --episodes {options.episodes} --states {options.states}"
        f" --seed {options.seed}{some}",
        "policy": options.policy,
        "weights_sha256": weights,
        "machine": machine(),
        "suites": {suite: row(summary.overall) for suite, summary in summaries.items()},
        "short_suites": {
            "episodes": judged,
            "successes": successes,
            "rate": successes / judged if judged else None,
            "ci95": None if pooled is None else [pooled.low, pooled.high],
        },
        "tasks": {
            task.task: {"instruction": find_task(task.task).language, **row(task)}
            for summary in summaries.values()
            for task in summary.tasks
        },
    }


def markdown(evidence: dict[str, Any]) -> str:
    """The same for the docs."""
    lines = ["| | successes | rate | 95% (Wilson) |", "| --- | --- | --- | --- |"]
    rows = [(f"**{name}**", entry) for name, entry in evidence["suites"].items()]
    rows += [(f"{name}: {entry['instruction']}", entry) for name, entry in evidence["tasks"].items()]
    for name, entry in rows:
        low, high = entry["ci95"] or (0.0, 1.0)
        rate = "" if entry["rate"] is None else f"{entry['rate']:.0%}"
        lines.append(f"| {name} | {entry['successes']}/{entry['episodes']} | {rate} | {low:.0%}-{high:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Play what is missing, then write the table."""
    options = tyro.cli(Options, description=__doc__)
    if options.markdown is not None:
        sys.stdout.write(markdown(json.loads(options.markdown.read_text())))
        return
    runs = {suite: open_run(play(suite, options)) for suite in options.suites}
    weights = sorted({run.agent["policy"].get("sha256", "") for run in runs.values()})
    evidence = table({suite: summarise(run) for suite, run in runs.items()}, options, weights)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "summary.json"
    path.write_text(json.dumps(evidence, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.write(f"{markdown(evidence)}wrote {path}\n")


if __name__ == "__main__":
    main()
