"""Rooms: every arm on the same test houses, for both perceptions, as the evidence table of docs/lesa.md.

Each arm is one ``thinktwice rollout`` run; a benchmark that was interrupted goes on where it stopped.  The arms are
paired by episode against ``every_frame`` of the same perception.

    python -m benchmarks.rooms_table --runs ../rooms_runs --out docs/evidence/lesa
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import tyro

from thinktwice.rollouts.comparison import compare
from thinktwice.rollouts.records import open_run
from thinktwice.rollouts.summary import summarise
from thinktwice.scripts import rollout

ARMS: dict[str, tuple[str, str | None]] = {
    "oracle_path": ("oracle-path", None),
    "lesa_oracle": ("lesa", "oracle"),
    "every_frame_oracle": ("every-frame", "oracle"),
    "cloned_oracle": ("cloned", "oracle"),
    "frontier_oracle": ("frontier", "oracle"),
    "random_oracle": ("random", "oracle"),
    "lesa_trained": ("lesa", "trained"),
    "every_frame_trained": ("every-frame", "trained"),
    "frontier": ("frontier", "trained"),
    "random": ("random", "trained"),
}
"""Arm, then agent and perception."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the table."""

    runs: Path
    """Folder of the runs."""
    out: Path
    """Folder of summary.json."""
    episodes: int = 67
    """Episodes of each of the three difficulties; every one has a house of its own."""
    size: int = 128
    """Pixels a side."""
    seed: int = 0
    """Of targets, expressions and starts."""
    arms: tuple[str, ...] = tuple(ARMS)
    """Which arms to play."""
    workers: int = 1
    """Processes per arm."""


def play(name: str, options: Options) -> Path:
    """Play one arm, or the rest of it."""
    agent, perception = ARMS[name]
    folder = options.runs / name
    arguments = [
        "rooms",
        *("--agent", agent, "--split", "test", "--difficulty", "all", "--size", str(options.size)),
        *("--episodes", str(options.episodes), "--seed", str(options.seed), "--workers", str(options.workers)),
        *("--out", str(folder), "--no-report"),
        *(("--perception", perception) if perception else ()),
        *(("--resume",) if folder.exists() else ()),
    ]
    rollout.main(arguments)
    return folder


def row(folder: Path) -> dict[str, Any]:
    """One arm's figures."""
    summary = summarise(open_run(folder))
    group = summary.overall
    judged = max(group.judged, 1)
    calls = group.cost.llm_calls + group.cost.vlm_calls
    tokens = group.cost.prompt_tokens + group.cost.completion_tokens
    act = summary.latency.get("act")
    result: dict[str, Any] = {
        "agent": summary.agent,
        "episodes": group.judged,
        "errors": group.errors,
        "rate": group.rate,
        "interval": None if group.interval is None else dataclasses.asdict(group.interval),
        "mllm_calls_per_episode": calls / judged,
        "tokens_per_episode": tokens / judged,
        "act_seconds": None if act is None else {"p50": act.p50, "p95": act.p95},
        "by_difficulty": {task.task: {"episodes": task.judged, "rate": task.rate} for task in summary.tasks},
    }
    for name, estimate in group.metrics.items():
        interval = None if estimate.interval is None else dataclasses.asdict(estimate.interval)
        result[name] = estimate.mean
        result[f"{name}_interval"] = interval
        result[f"{name}_episodes"] = estimate.count
    return result


def main() -> None:
    """Play what is missing, then write the table."""
    options = tyro.cli(Options, description=__doc__)
    folders = {name: play(name, options) for name in options.arms}
    pairs: dict[str, Any] = {}
    for name, folder in folders.items():
        base = "every_frame_oracle" if name.endswith("oracle") else "every_frame_trained"
        if name != base and base in folders:
            pairs[f"{name} - {base}"] = compare(open_run(folders[base]), open_run(folder)).to_json()
    table = {
        "options": {**dataclasses.asdict(options), "runs": options.runs.name, "out": options.out.name},
        "arms": {name: row(folder) for name, folder in folders.items()},
        "paired": pairs,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "summary.json").write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {options.out}/summary.json\n")


if __name__ == "__main__":
    main()
