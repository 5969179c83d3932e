"""One decision as plain data for the report's script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..agents.maps import is_map_note
from ..envs import Array
from .film_paths import Line
from .traces import TracedDecision

SEEN = "seen."
"""Notes of this kind are pictures that a model saw: ``seen.<camera>``, ``uint8[H, W, 3]``."""
_DRAWN = {"transcript", "questions", "mask", "matches"}
"""Notes that the page shows in their own way."""
_BRIEF = 60
_MOST_CANDIDATES = 32
"""Candidates whose preferences and ways are shown."""


def plain_decision(
    decision: TracedDecision,
    ways: Sequence[Sequence[Line]],
    *,
    names: Sequence[str] = (),
    limit: int | None,
    drawn: bool = True,
) -> dict[str, Any]:
    """What the page says about a decision.

    Args:
        decision: as it was recorded.
        ways: of its candidates over the film, or nothing.
        names: of a discrete world's actions, by their index.
        limit: characters of one text; None to leave out everything but the shortest.
        drawn: with ways and preferences.
    """
    plain: dict[str, Any] = {
        "n": decision.executed,
        "mode": decision.mode,
        "why": short(decision.why, _BRIEF if limit is None else limit),
        "doubt": None if decision.doubt is None else _rounded(decision.doubt),
        "seconds": _rounded(decision.seconds.get("act", 0.0)),
        "cost": {name: count for name, count in decision.cost.counts().items() if count},
    }
    if len(decision.candidates):
        plain |= {"candidates": len(decision.candidates), "chosen": decision.chosen}
    if limit is None:
        return plain
    more = _more(decision, names, limit)
    if drawn and len(decision.candidates) <= _MOST_CANDIDATES:
        more["preferences"] = _preferences(decision)
        more["ways"] = [[_flat(line) for line in lines] for lines in ways]
    return plain | {name: value for name, value in more.items() if value}


def _more(decision: TracedDecision, names: Sequence[str], limit: int) -> dict[str, Any]:
    """What is left out of a long episode; empty values are dropped."""
    actions, notes = decision.chunk[: decision.executed], decision.notes
    discrete = not isinstance(actions, np.ndarray) or actions.dtype.kind in "iuU"
    transcript, mask = notes.get("transcript"), notes.get("mask")
    listed = {name: value for name, value in notes.items() if not _is_drawn(name)}
    return {
        "stages": {name: _rounded(seconds) for name, seconds in decision.cost.seconds.items()},
        "actions": [short(_named(action, names), limit) for action in actions] if discrete else [],
        "text": short(decision.text or "", limit),
        "notes": short(json.dumps(_readable(listed), indent=1, ensure_ascii=False), limit) if listed else "",
        "turns": [_turn(turn, limit) for turn in cast("list[Any]", transcript)] if isinstance(transcript, list) else [],
        "questions": notes.get("questions") if isinstance(notes.get("questions"), int) else 0,
        "call": "call" in notes,
        "mask": _share(cast("Mapping[str, Any]", mask)) if isinstance(mask, Mapping) else 0,
    }


def _named(action: Any, names: Sequence[str]) -> str:
    known = isinstance(action, int | np.integer) and 0 <= int(action) < len(names)
    return names[int(action)] if known else str(action)


def short(text: str, limit: int) -> str:
    """A text's beginning, and how long it is where something was cut."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _turn(turn: Any, limit: int) -> dict[str, Any]:
    """Who said what in a transcript, and what was said before and rejected."""
    if not isinstance(turn, Mapping):
        return {"stage": "", "who": "", "text": short(str(turn), limit)}
    said = cast("Mapping[str, Any]", turn)
    plain: dict[str, Any] = {name: short(str(said.get(name, "")), limit) for name in ("stage", "who", "text")}
    tokens = [said.get("prompt_tokens", 0), said.get("completion_tokens", 0)]
    if any(isinstance(count, int) and count for count in tokens):
        plain["tokens"] = tokens
    exchanges = said.get("exchanges")
    if isinstance(exchanges, list):
        tries = [cast("Mapping[str, Any]", entry) for entry in cast("list[Any]", exchanges) if isinstance(entry, dict)]
        rejected = [f"{entry.get('answer', '')} – {entry['rejected']}" for entry in tries if entry.get("rejected")]
        if rejected:
            plain["rejected"] = [short(text, limit) for text in rejected]
    return plain


def _preferences(decision: TracedDecision) -> list[int | None]:
    """Percent that candidate i is better than j, for every i < j, row by row; None where they were not compared.

    A critic is antisymmetric by contract, so the other half says the same.
    """
    table, matches = decision.preferences, decision.notes.get("matches")
    count = len(decision.candidates)
    found: dict[tuple[int, int], float] = {}
    if table is not None and table.shape == (count, count):
        found = {(i, j): float(table[i, j]) for i in range(count) for j in range(i + 1, count)}
    elif isinstance(matches, np.ndarray) and cast("Array", matches).ndim == 2 and cast("Array", matches).shape[1] == 3:
        for first, second, p in cast("Array", matches).tolist():
            found[min(int(first), int(second)), max(int(first), int(second))] = p if first < second else 1 - p
    if not found or not np.isfinite(list(found.values())).all():
        return []
    places = [(i, j) for i in range(count) for j in range(i + 1, count)]
    return [round(100 * found[place]) if place in found else None for place in places]


def _share(rle: Mapping[str, Any]) -> float:
    """The share of the picture that a mask covers, read off its run lengths."""
    from ..envs.rooms.masks import decode
    from ..errors import ContractError

    try:
        return _rounded(float(decode(rle).mean()))
    except ContractError:
        return 0.0


def _flat(line: Line) -> list[int]:
    return [round(value) for point in line for value in point]


def _is_drawn(name: str) -> bool:
    return name in _DRAWN or name.startswith(SEEN) or is_map_note(name)


def _rounded(value: float) -> float:
    return float(f"{float(value):.4g}")


def _readable(value: Any) -> Any:
    """Notes for reading: small arrays as lists, large ones as their shape."""
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        if array.size > 16:
            return f"{array.dtype}{list(array.shape)}"
        return array.round(4).tolist() if array.dtype.kind == "f" else array.tolist()
    if isinstance(value, Mapping):
        return {str(key): _readable(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list):
        return [_readable(item) for item in cast("list[object]", value)]
    return value
