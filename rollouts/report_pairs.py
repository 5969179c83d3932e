"""Two runs episode by episode, those first that make the difference."""

from __future__ import annotations

import dataclasses
from typing import Literal

from ..errors import RecordError
from .comparison import Comparison, compare
from .records import EpisodeRecord, Run

type Kind = Literal["rescue", "spoil", "error", "neither", "both"]

KINDS: dict[Kind, str] = {
    "rescue": "B alone solves it",
    "spoil": "A alone solves it",
    "error": "an error in one of them",
    "neither": "neither solves it",
    "both": "both solve it",
}
"""What became of a pair, in the order in which a reader wants to see them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """One episode in both runs.

    Attributes:
        kind: what became of it.
        a: its record in A.
        b: its record in B.
    """

    kind: Kind
    a: EpisodeRecord
    b: EpisodeRecord


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pairing:
    """All pairs of two runs.

    Attributes:
        comparison: the paired figures, or None where the runs are not comparable.
        refused: why they are not, or empty.
        pairs: rescues, then spoils, errors and the rest, each in the order of A.
    """

    comparison: Comparison | None
    refused: str
    pairs: tuple[Pair, ...]

    def count(self, kind: Kind) -> int:
        """How many pairs are of a kind."""
        return sum(pair.kind == kind for pair in self.pairs)


def pair_runs(run_a: Run, run_b: Run) -> Pairing:
    """Pair two runs by episode identity."""
    there = {record.episode: record for record in run_b.episodes}
    found = [(record, there[record.episode]) for record in run_a.episodes if record.episode in there]
    pairs = [Pair(kind=_kind(a, b), a=a, b=b) for a, b in found]
    order = list(KINDS)
    pairs.sort(key=lambda pair: order.index(pair.kind))
    try:
        comparison, refused = compare(run_a, run_b), ""
    except RecordError as error:
        comparison, refused = None, str(error)
    return Pairing(comparison=comparison, refused=refused, pairs=tuple(pairs))


def _kind(a: EpisodeRecord, b: EpisodeRecord) -> Kind:
    if "error" in (a.status, b.status):
        return "error"
    if a.status == b.status:
        return "both" if a.status == "success" else "neither"
    return "rescue" if b.status == "success" else "spoil"
