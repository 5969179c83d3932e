"""Where candidates would lead, over a film's pictures.

The ways are not burned into the film, so that the report can show those of the decision that a reader looks at.  They
need the world's cameras, which only a world that was put back can tell, so filming writes them to ``videos/KEY.json``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..envs import Array, DrawsPaths
from ..errors import RecordError
from .files import write_atomically
from .traces import Trace, TracedDecision

_POINTS = 6
"""Points of a path that are kept: the report draws a polyline of a few centimetres."""

type Line = list[tuple[float, float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plate:
    """Where a camera's picture lies in the film's: its left, top, width and height in pixels."""

    left: int
    top: int
    width: int
    height: int


def paths_file(video: Path) -> Path:
    """Where the paths of a film lie."""
    return video.with_suffix(".json")


def candidate_paths(env: Any, trace: Trace, plates: Mapping[str, Plate]) -> dict[str, list[list[Line]]]:
    """For each decision that chose among several chunks, the way of each over each camera's picture.

    Args:
        env: the world after the episode's reset.
        trace: the episode.
        plates: camera name to place in the film.

    Returns:
        Decision index (as JSON's keys are: text) to one list of lines per candidate, in pixels of the film, and one
        more where what was executed is no candidate; empty where the world cannot tell, or no decision chose.
    """
    if not isinstance(env, DrawsPaths) or trace.states is None:
        return {}
    return {
        str(decision.index): [_lines(env, state, chunk, plates) for chunk in _weighed(decision)]
        for decision, state in zip(trace.decisions, trace.states, strict=False)
        if len(decision.candidates) > 1
    }


def _weighed(decision: TracedDecision) -> list[Any]:
    return [*decision.candidates, *([decision.chunk] if decision.chosen is None else [])]


def _lines(env: DrawsPaths, state: Array, chunk: Any, plates: Mapping[str, Plate]) -> list[Line]:
    lines: list[Line] = []
    for camera, path in env.chunk_paths(state, np.asarray(chunk)).items():
        plate = plates.get(camera)
        if plate is None or not np.isfinite(path).all():
            continue
        kept = path[np.unique(np.linspace(0, len(path) - 1, min(_POINTS, len(path))).round().astype(int))]
        place = kept * (plate.width, plate.height) + (plate.left, plate.top)
        lines.append([(round(float(x), 1), round(float(y), 1)) for x, y in place])
    return lines


def write_paths(video: Path, size: tuple[int, int], paths: Mapping[str, Any]) -> None:
    """Write a film's paths beside it.

    Args:
        video: the film.
        size: its width and height.
        paths: what `candidate_paths` gave.

    Raises:
        RecordError: the file cannot be written.
    """
    text = json.dumps({"size": list(size), "paths": paths}, separators=(",", ":"))
    write_atomically(paths_file(video), lambda file: file.write(text.encode()))


def read_paths(video: Path) -> tuple[tuple[int, int], dict[str, list[list[Line]]]] | None:
    """The film's size and its paths, or None where none were written.

    Raises:
        RecordError: the file is damaged.
    """
    path = paths_file(video)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        width, height = (int(value) for value in data["size"])
        return (width, height), {
            str(index): [[_line(line) for line in lines] for lines in candidates]
            for index, candidates in cast("dict[str, Any]", data["paths"]).items()
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"the paths {path} are damaged: {type(error).__name__}: {error}") from error


def _line(line: Sequence[Sequence[float]]) -> Line:
    return [(float(x), float(y)) for x, y in line]
