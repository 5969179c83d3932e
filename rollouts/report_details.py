"""What the report says about one episode: its decisions, shortened to what a person reads."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ..errors import RecordError
from .records import EpisodeRecord, Run
from .traces import TracedDecision

MAX_DECISIONS = 400
"""Decisions of an episode that are listed; the timeline shows no more either."""
MAX_TEXT = 1_500
"""Characters of one text of a decision."""
MAX_EPISODE = 60_000
"""Characters of an episode's decisions; beyond them, texts and notes are left out and reasons are cut further."""
_BRIEF = 60


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpisodeDetails:
    """What the page shows when an episode is opened.

    Attributes:
        instruction: the task in words, or empty.
        searched: more text that the page's search looks through.
        plain: data for the page's script.
    """

    instruction: str
    searched: str
    plain: Mapping[str, Any]


def episode_details(run: Run, record: EpisodeRecord) -> EpisodeDetails:
    """The details of an episode; an episode without a readable trace has few."""
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
    decisions = [_decision(decision, full=True) for decision in shown]
    if len(json.dumps(decisions)) > MAX_EPISODE:
        decisions = [_decision(decision, full=False) for decision in shown]
    searched = " ".join(dict.fromkeys(decision.why for decision in shown))[:MAX_TEXT]
    plain = {
        **common,
        "decisions": decisions,
        "left_out": len(trace.decisions) - len(shown),
        "steps": len(trace.actions),
        "final_text": _short(trace.final_text) if trace.final_text else None,
    }
    return EpisodeDetails(instruction=trace.instruction, searched=searched, plain=plain)


def _decision(decision: TracedDecision, *, full: bool) -> dict[str, Any]:
    cost = {name: count for name, count in decision.cost.counts().items() if count}
    plain: dict[str, Any] = {
        "n": decision.executed,
        "mode": decision.mode,
        "why": _short(decision.why, MAX_TEXT if full else _BRIEF),
        "doubt": None if decision.doubt is None else float(f"{decision.doubt:.4g}"),
        "seconds": round(float(decision.seconds.get("act", 0.0)), 5),
        "cost": cost,
    }
    if len(decision.candidates):
        plain |= {"candidates": len(decision.candidates), "chosen": decision.chosen}
    if full:
        actions = decision.chunk[: decision.executed]
        if not isinstance(actions, np.ndarray) or actions.dtype.kind in "iuU":
            plain["actions"] = [str(action) for action in actions]
        if decision.text:
            plain["text"] = _short(decision.text)
        if decision.notes:
            plain["notes"] = _short(json.dumps(_readable(decision.notes), indent=1, ensure_ascii=False))
    return plain


def _short(text: str, limit: int = MAX_TEXT) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _readable(value: Any) -> Any:
    """Notes for reading: small arrays as lists, large ones as their shape."""
    if isinstance(value, np.ndarray):
        return value.round(4).tolist() if value.size <= 16 and value.dtype.kind == "f" else _described(value)
    if isinstance(value, Mapping):
        return {str(key): _readable(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list):
        return [_readable(item) for item in cast("list[object]", value)]
    return value


def _described(array: np.ndarray[Any, Any]) -> Any:
    return array.tolist() if array.size <= 16 else f"{array.dtype}{list(array.shape)}"
