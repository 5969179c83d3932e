"""What the report says about one episode: its decisions and pictures, shortened to what a person reads."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..errors import RecordError
from .film_paths import Line, read_paths
from .records import EpisodeRecord, Run
from .report_decisions import plain_decision, short
from .report_pictures import Budget, pictures_of
from .traces import TracedDecision
from .video import frame_rate, video_path

MAX_DECISIONS = 400
"""Decisions of an episode that are listed; the timeline shows no more either."""
MAX_TEXT = 1_500
"""Characters of one text of a decision."""
MAX_EPISODE = 80_000
"""Characters of an episode's decisions: 100 such episodes are 8 of the report's 30 MB."""
_LEVELS: tuple[tuple[int | None, bool], ...] = ((MAX_TEXT, True), (400, True), (120, True), (120, False), (None, False))
"""How much is shown, tried one after another until the decisions fit: characters of one text (None leaves out all but
the shortest), and whether preferences and ways are drawn."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpisodeDetails:
    """What the page shows when an episode is opened.

    Attributes:
        instruction: the task in words, or empty.
        searched: more text that the page's search looks through.
        plain: data for the page's script.
        pictures: base64, numbered by `plain`.
    """

    instruction: str
    searched: str
    plain: Mapping[str, Any]
    pictures: tuple[str, ...] = ()


def as_json(plain: Any) -> str:
    """Plain data as the page holds it."""
    return json.dumps(plain, separators=(",", ":"))


def episode_details(run: Run, record: EpisodeRecord, budget: Budget | None = None) -> EpisodeDetails:
    """The details of an episode; an episode without a readable trace has few.

    Args:
        run: the records.
        record: which episode.
        budget: what is left for pictures; a whole one when None.
    """
    common: dict[str, Any] = {
        "error": record.error,
        "cost": {name: count for name, count in record.cost.counts().items() if count},
        "metrics": {name: round(value, 6) for name, value in record.metrics.items()},
        "trajectory": record.trajectory,
        "identity": {**record.episode.to_json(), "seed": str(record.episode.seed)},  # JavaScript rounds 63-bit numbers
    }
    try:
        trace = run.trace(record.key)
    except RecordError as error:
        return EpisodeDetails(instruction="", searched="", plain={**common, "missing": str(error), "decisions": []})
    shown = trace.decisions[:MAX_DECISIONS]
    searched = " ".join(dict.fromkeys(decision.why for decision in shown))[:MAX_TEXT]
    size, ways = _ways(run, record)
    pictures = pictures_of(shown, budget or Budget())
    names = run.manifest.get("conventions", {}).get("actions_named", [])
    decisions, cut = _decisions(shown, ways, [str(name) for name in names])
    for decision, plain in zip(shown, decisions, strict=True):
        if decision.index in pictures.shown:
            plain["seen"] = pictures.shown[decision.index]
        if decision.index in pictures.places:
            plain["place"] = pictures.places[decision.index]
    plain = {
        **common,
        "decisions": decisions,
        "left_out": len(trace.decisions) - len(shown),
        "steps": len(trace.actions),
        "final_text": short(trace.final_text, MAX_TEXT) if trace.final_text else None,
        "fps": frame_rate(run.manifest.get("conventions", {}).get("control_hz")),
        "threshold": _threshold(run.agent),
        "plan": pictures.plan,
        "cut": cut,
        "pictures_left_out": pictures.left_out,
        "film": size,
    }
    return EpisodeDetails(instruction=trace.instruction, searched=searched, plain=plain, pictures=pictures.data)


def _threshold(agent: Mapping[str, Any]) -> float | None:
    """The doubt above which the agent's gate opens, where it says so."""
    gate = agent.get("gate")
    threshold = cast("Mapping[str, Any]", gate).get("threshold") if isinstance(gate, Mapping) else None
    return float(threshold) if isinstance(threshold, int | float) else None


def _ways(run: Run, record: EpisodeRecord) -> tuple[tuple[int, int], Mapping[str, Sequence[Sequence[Line]]]]:
    """The film's size and the ways drawn over it; nothing where there are none, or they are damaged."""
    with contextlib.suppress(RecordError):
        return read_paths(video_path(run, record.key)) or ((0, 0), {})
    return (0, 0), {}


def _decisions(
    shown: Sequence[TracedDecision], ways: Mapping[str, Sequence[Sequence[Line]]], names: Sequence[str]
) -> tuple[list[dict[str, Any]], bool]:
    """The decisions as plain data, as full as the episode's share of the report allows, and whether that cut them."""
    decisions: list[dict[str, Any]] = []
    for limit, drawn in _LEVELS:
        decisions = [
            plain_decision(d, ways.get(str(d.index), ()), names=names, limit=limit, drawn=drawn) for d in shown
        ]
        if len(as_json(decisions)) <= MAX_EPISODE:
            return decisions, limit != MAX_TEXT
    return decisions, True
