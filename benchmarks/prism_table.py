"""PRISM's table: every arm on the same ALFWorld games, with the embedded models: a mechanism test, not evidence.

    python -m benchmarks.prism_table --out runs/prism --summary docs/evidence/prism/summary.json
    python -m benchmarks.prism_table --games ../alfworld --out runs/prism-real --summary docs/evidence/prism/real.json

An arm whose run folder is there is continued, so a killed table goes on where it was.  ``summary.json`` has the form
that the project's studies share: ``arms`` by name, and ``paired`` comparisons by episode.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tyro

from thinktwice.agents.prism.rules import LIMITS as REASONER_LIMITS
from thinktwice.perception.scene_vlm import LIMITS as EYES_LIMITS
from thinktwice.rollouts import Run, RunConfig, compare, open_run, run
from thinktwice.rollouts.statistics import wilson

ARMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "random": ("reflex", {"policy": "admissible"}),
    "react": ("react", {}),
    "passive": ("prism", {"ablation": "passive"}),
    "fixed": ("prism", {"ablation": "fixed"}),
    "prism": ("prism", {}),
    "oracle": ("prism", {"ablation": "oracle"}),
    "planner": ("reflex", {"policy": "planner"}),
}
SEEING = ("passive", "fixed", "prism")
"""The arms that look at images; the others play without any being drawn."""

PAIRS = (("passive", "prism"), ("fixed", "prism"), ("prism", "oracle"), ("random", "passive"), ("prism", "planner"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments:
    """What to play."""

    out: Path
    """The folder of the run folders."""
    summary: Path
    """The file to write."""
    games: Path | None = None
    """A folder in the json_2.1.1 layout, of which every game is played; generated games when not given."""
    split: str = "valid_seen"
    """Of --games."""
    episodes: int = 20
    """Generated games per task type."""
    seed: int = 0
    """Of the run."""
    arms: tuple[str, ...] = tuple(ARMS)
    """Which arms, in order."""


def main(arguments: Arguments | None = None) -> None:
    """Play every arm, compare, and write the summary."""
    default = Arguments(out=Path("runs/prism"), summary=Path("runs/prism/summary.json"))
    asked = arguments or default
    runs = {arm: _play(arm, asked) for arm in asked.arms}
    paired = {
        f"{one} vs {other}": _paired(runs[one], runs[other]) for one, other in PAIRS if one in runs and other in runs
    }
    result = {
        "kind": "mechanism test with embedded models; no evidence for or against PRISM",
        "limits": [EYES_LIMITS, REASONER_LIMITS, "tokens of the embedded models are words"],
        "command": f"python -m benchmarks.prism_table {' '.join(sys.argv[1:])}",
        "arms": {arm: _arm(found) for arm, found in runs.items()},
        "paired": paired,
    }
    asked.summary.parent.mkdir(parents=True, exist_ok=True)
    asked.summary.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {asked.summary}\n")


def _play(arm: str, asked: Arguments) -> Run:
    agent, options = ARMS[arm]
    world: dict[str, Any] = {"images": arm in SEEING}
    if asked.games is not None:
        world |= {"games": str(asked.games), "split": asked.split, "every_game": True}
    folder = asked.out / arm
    config = RunConfig(
        world="alfworld",
        world_options=world,
        agent=agent,
        agent_options=options,
        episodes=asked.episodes,
        seed=asked.seed,
        out=folder,
        resume=folder.exists(),
    )
    summary = run(config)
    sys.stdout.write(f"{arm}: {summary.overall.successes} of {summary.overall.judged}\n")
    sys.stdout.flush()
    return open_run(folder)


def _arm(found: Run) -> dict[str, Any]:
    """Successes over all and per type, and what an episode took on average."""
    records = found.episodes
    judged = [record for record in records if record.status != "error"]
    cost = [record.cost for record in judged]
    per_type = {
        task: _rate([record.status == "success" for record in judged if record.episode.task == task])
        for task in dict.fromkeys(record.episode.task for record in records)
    }
    count = max(1, len(judged))
    return {
        **_rate([record.status == "success" for record in judged]),
        "errors": len(records) - len(judged),
        "per_type": per_type,
        "per_episode": {
            "steps": sum(record.steps for record in judged) / count,
            # Every decision of an agent that looks costs one description; the other calls are questions.
            "questions": sum(max(0, c.vlm_calls - r.decisions) for r, c in zip(judged, cost, strict=True)) / count,
            "llm_calls": sum(c.llm_calls for c in cost) / count,
            "vlm_calls": sum(c.vlm_calls for c in cost) / count,
            "tokens": sum(c.prompt_tokens + c.completion_tokens for c in cost) / count,
        },
    }


def _rate(solved: list[bool]) -> dict[str, Any]:
    interval = wilson(sum(solved), len(solved))
    return {
        "episodes": len(solved),
        "successes": sum(solved),
        "rate": sum(solved) / len(solved) if solved else None,
        "ci95": [interval.low, interval.high] if interval else None,
    }


def _paired(one: Run, other: Run) -> dict[str, Any]:
    # Arms that look see images that the others do not; the games are the same.
    found = compare(one, other, accept=["world.images", "cameras"])
    interval = found.reduction.interval
    return {
        "pairs": found.pairs,
        "rescues": found.only_b,
        "spoils": found.only_a,
        "mcnemar_p": found.p_value,
        "failure_reduction": found.reduction.value,
        "ci95": [interval.low, interval.high] if interval else None,
    }


if __name__ == "__main__":
    main(tyro.cli(Arguments))
