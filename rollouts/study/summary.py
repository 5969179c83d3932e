"""A study's ``summary.json``, figures and page, from whatever was played so far."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ... import __version__
from ...errors import RecordError
from ..config import plain
from ..files import write_atomically
from ..records import SUMMARY
from ..report import render_page, write_page
from ..summary import summarise
from .config import StudyConfig
from .doubt import (
    EpisodeDeliberation,
    Scores,
    along_the_episode,
    foresight,
    read_deliberation,
    score,
    seconds_by_mode,
)
from .figures import Figure, draw_figures
from .play import ArmRuns, open_arms, unfinished
from .table import METHODS, arm_figures, pair_figures

PAGE = "study.html"


def write_study(config: StudyConfig) -> dict[str, Any]:
    """Sum the study up and write ``summary.json``, the figures and ``study.html`` into its folder.

    Returns:
        What ``summary.json`` holds.

    Raises:
        RecordError: an arm has not begun, a record is damaged, or arms cannot be compared.
    """
    arms = open_arms(config)
    summary = plain(summarise_study(config, arms))
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    write_atomically(config.out / SUMMARY, lambda file: file.write(text.encode()))
    figures = draw_figures(summary, config.out)
    _write_page(config, arms, summary, figures)
    return summary


def summarise_study(config: StudyConfig, arms: Mapping[str, ArmRuns]) -> dict[str, Any]:
    """Everything that a study says, as plain data."""
    deliberation = {name: read_deliberation(arm) for name, arm in arms.items()}
    found = {name: score(episodes) for name, episodes in deliberation.items() if episodes}
    scores = {name: scored for name, scored in found.items() if scored is not None}
    compared = config.compared()
    return {
        "command": shlex.join(["thinktwice", *sys.argv[1:]]),
        "thinktwice": __version__,
        "note": config.note,
        "unfinished": unfinished(config, arms),
        "study": {
            "world": config.world,
            "world_options": config.world_options,
            "tasks": list(dict.fromkeys(e.task for arm in arms.values() for e in arm.pooled.planned)),
            "episodes_per_task_and_seed": config.episodes,
            "seeds": config.seeds,
        },
        "arms": {
            name: arm_figures(arm) | {"seconds_by_mode": seconds_by_mode(episodes) if episodes else {}}
            for (name, arm), episodes in zip(arms.items(), deliberation.values(), strict=True)
        },
        "paired": {
            f"{one} vs {other}": pair_figures(arms[one], arms[other], accept=config.accept) for one, other in compared
        },
        "foresight": {
            "failure": _failures(scores, deliberation),
            "rescue": _rescued(scores, deliberation, compared),
        },
        "deliberation_along_the_episode": {
            name: along_the_episode(episodes)
            for name, episodes in deliberation.items()
            if any(episode.deliberated.any() for episode in episodes)
        },
        "methods": METHODS,
    }


def _failures(
    scores: Mapping[str, Scores], episodes: Mapping[str, list[EpisodeDeliberation]]
) -> dict[str, dict[str, Any]]:
    """Whether an arm's doubt foresees its own failures."""
    found = {name: foresight(s, {e.key: not e.solved for e in episodes[name]}) for name, s in scores.items()}
    return {name: result for name, result in found.items() if result is not None}


def _rescued(
    scores: Mapping[str, Scores],
    episodes: Mapping[str, list[EpisodeDeliberation]],
    compared: tuple[tuple[str, str], ...],
) -> dict[str, dict[str, Any]]:
    """Whether the first arm's doubt foresees what the second one rescues: the benefit of deliberating."""
    found: dict[str, dict[str, Any]] = {}
    for one, other in compared:
        if one not in scores:
            continue
        solved = {episode.key: episode.solved for episode in episodes[other]}
        outcome = {e.key: solved[e.key] and not e.solved for e in episodes[one] if e.key in solved}
        result = foresight(scores[one], outcome)
        if result is not None:
            found[f"{one} vs {other}"] = result
    return found


def _write_page(
    config: StudyConfig, arms: Mapping[str, ArmRuns], summary: Mapping[str, Any], figures: list[Figure]
) -> Path:
    html = render_page(
        "study/study.html",
        name=config.out.resolve().name,
        study=summary,
        groups={name: summarise(arm.pooled).overall for name, arm in arms.items()},
        figures=[{"data": _data_address(figure.path), "caption": figure.caption} for figure in figures],
        asked=yaml.safe_dump(plain(dataclasses.asdict(config)), sort_keys=False, allow_unicode=True),
    )
    return write_page(config.out / PAGE, html)


def _data_address(png: Path) -> str:
    """The picture inside the page, which so needs no other file."""
    try:
        return f"data:image/png;base64,{b64encode(png.read_bytes()).decode()}"
    except OSError as error:
        raise RecordError(f"{png} cannot be read: {error.strerror or error}.") from error
