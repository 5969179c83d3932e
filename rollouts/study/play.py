"""Play a study: every arm with every seed, each a run folder of its own that continues where it stopped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...errors import RecordError
from ..progress import Progress
from ..records import MANIFEST, Run, open_run
from ..runner import run
from .config import StudyConfig, check_study


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArmRuns:
    """What an arm has played.

    Attributes:
        name: of the arm.
        runs: one per seed, in the study's order.
        pooled: all of them as one, for figures over all seeds; its traces lie in `runs`.
    """

    name: str
    runs: tuple[Run, ...]
    pooled: Run


def play_study(config: StudyConfig, *, progress: Callable[[str], Progress]) -> None:
    """Play what is missing, seed by seed, so that a study that is stopped has compared what it has played.

    Args:
        config: the study.
        progress: given an arm's and a seed's title, what is told of that run.

    Raises:
        UsageError: something was asked for that does not exist.
        RecordError: a run that is there was made with something else.
    """
    check_study(config)
    for seed in config.seeds:
        for arm in config.arms:
            if seed not in config.seeds_of(arm):
                continue
            run(config.run_config(arm, seed), progress=progress(f"arm {arm}, seed {seed}"))


def open_arms(config: StudyConfig) -> dict[str, ArmRuns]:
    """What was played of each arm, finished or not.

    Raises:
        RecordError: nothing was played yet of an arm, or a run is damaged.
    """
    return {name: pool(name, _runs(config, name)) for name in config.arms}


def pool(name: str, runs: Sequence[Run]) -> ArmRuns:
    """The runs of one arm as one run.

    Raises:
        RecordError: they are of different agents, as when weights were exchanged between two seeds.
    """
    first = runs[0]
    for other in runs[1:]:
        if other.agent != first.agent:
            raise RecordError(
                f"{first.path} and {other.path} are one arm and different agents. Its weights or files have changed in "
                "between: delete the older run."
            )
    pooled = dataclasses.replace(
        first,
        path=first.path.parent,
        planned=tuple(episode for run in runs for episode in run.planned),
        episodes=tuple(record for run in runs for record in run.episodes),
        attempts=tuple(attempt for run in runs for attempt in run.attempts),
        notices=tuple(notice for run in runs for notice in run.notices),
    )
    return ArmRuns(name=name, runs=tuple(runs), pooled=pooled)


def unfinished(config: StudyConfig, arms: Mapping[str, ArmRuns]) -> dict[str, str]:
    """Arms that lack episodes, and how many of them are there."""
    found: dict[str, str] = {}
    for name, arm in arms.items():
        missing = len(config.seeds_of(name)) - len(arm.runs)
        if missing or not arm.pooled.finished:
            played = f"{len(arm.pooled.episodes)} of {len(arm.pooled.planned)} episodes"
            found[name] = f"{played}, and {missing} seeds not begun" if missing else played
    return found


def _runs(config: StudyConfig, arm: str) -> list[Run]:
    folders: list[Path] = [config.run_folder(arm, seed) for seed in config.seeds_of(arm)]
    there = [folder for folder in folders if (folder / MANIFEST).exists()]
    if not there:
        raise RecordError(f"nothing was played of the arm {arm!r} yet: there is no {folders[0]}. Run the study first.")
    return [open_run(folder) for folder in there]
