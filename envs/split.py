"""The one split of the whole project: what may be trained on, tuned on, and reported.

| split | episodes | for |
| --- | --- | --- |
| training | fresh placements, drawn by the episode's seed | demonstrations, preference pairs, every kind of training |
| tuning | stored initial states 0 to 9 | choosing checkpoints and settings, calibrating gates |
| reporting | stored initial states 10 to 39 | figures that are published |
| untouched | stored initial states 40 to 49 | nothing, so that something is left for whoever doubts the figures |

LIBERO stores 50 initial states per task.  A fresh placement is drawn from the task's own regions, so it comes from the
same distribution and is never one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..errors import UsageError
from .episodes import EpisodeId

type Split = Literal["training", "tuning", "reporting", "untouched"]

TUNING = range(10)
"""Stored initial states for tuning and calibration."""

REPORTING = range(10, 40)
"""Stored initial states for reported figures."""


def split_of(episode: EpisodeId) -> Split:
    """The split that an episode belongs to, which its initial state alone decides."""
    if episode.init_state is None:
        return "training"
    if episode.init_state in TUNING:
        return "tuning"
    return "reporting" if episode.init_state in REPORTING else "untouched"


def check_split(episodes: Iterable[EpisodeId], split: Split, *, purpose: str) -> None:
    """Raise `UsageError` unless every episode belongs to the split.

    Args:
        episodes: what is about to be used.
        split: what it may be.
        purpose: what for, as the beginning of a message: ``"training"``.
    """
    for episode in episodes:
        found = split_of(episode)
        if found != split:
            allowed = {
                "training": "fresh placements (no stored initial state)",
                "tuning": f"stored initial states {TUNING.start} to {TUNING.stop - 1}",
                "reporting": f"stored initial states {REPORTING.start} to {REPORTING.stop - 1}",
                "untouched": f"stored initial states from {REPORTING.stop}",
            }[split]
            raise UsageError(
                f"{purpose} may use {allowed} alone, and {episode.task} with initial state {episode.init_state} is "
                f"kept for {found!r}. See thinktwice.envs.split."
            )
