"""Selectors that ask a critic, which judges pairs.

| name | takes | comparisons of N |
| --- | --- | --- |
| ``copeland`` | the candidate preferred to the others by most, over all pairs in one batch | N (N - 1) / 2 |
| ``knockout`` | the winner of a single-elimination tournament (the paper's), one batch per round | N - 1 |
| ``medoid-veto`` | the medoid, unless the critic prefers the reflex | 1 |
| ``medoid-tie-break`` | the medoid, unless the critic prefers another of the most central candidates | Q (Q - 1) / 2 |

Whoever is not the incumbent must be preferred to it with a probability above one half plus the margin: deliberation may
only replace the reflex (or the medoid) where the critic is sure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...critics import Critic
from ...envs import Array
from .judging import preferences
from .selection import Deliberation, Selection, choose, mean_distances

CENTRAL = 4
"""One in so many candidates counts as central for ``medoid-tie-break``, and never fewer than two."""


def copeland(deliberation: Deliberation, *, critic: Critic, margin: float) -> Selection:
    """Soft Copeland: the candidate whose preferences over all others add up to most.

    Summing probabilities instead of counting wins (Copeland 1951) needs no cycle to be broken, and a narrow win counts
    for little.
    """
    everyone = range(len(deliberation.proposal.chunks))
    table, comparisons = round_robin(deliberation, critic, everyone)
    champion = int(table.sum(axis=1).argmax())
    index = champion if _beats(table[champion, 0], margin) else 0
    why = _verdict(champion, float(table[champion, 0]), index)
    return choose(deliberation, index, why, preferences=table, comparisons=comparisons)


def knockout(deliberation: Deliberation, *, critic: Critic, margin: float) -> Selection:
    """Single elimination: neighbours meet, and the one that comes first stays in a tie."""
    left = list(range(len(deliberation.proposal.chunks)))
    matches: list[tuple[int, int, float]] = []
    while len(left) > 1:
        pairs = [(left[place], left[place + 1]) for place in range(0, len(left) - 1, 2)]
        bye = left[-1:] if len(left) % 2 else []
        challenges = [(there, here) for here, there in pairs]
        preferred = ask(deliberation, critic, challenges)
        matches += [(here, there, 1.0 - float(p)) for (here, there), p in zip(pairs, preferred, strict=True)]
        left = [
            there if _beats(float(p), margin if here == 0 else 0.0) else here
            for (here, there), p in zip(pairs, preferred, strict=True)
        ] + bye
    index = left[0]
    why = "the reflex came through the tournament" if index == 0 else f"candidate {index} won the tournament"
    return choose(deliberation, index, why, comparisons=len(matches), notes=_matches(matches))


def medoid_veto(deliberation: Deliberation, *, critic: Critic, margin: float) -> Selection:
    """The medoid, unless the critic prefers the reflex to it by the margin."""
    central = int(mean_distances(deliberation).argmin())
    if central == 0:
        return choose(deliberation, 0, "the reflex is the medoid")
    p = float(ask(deliberation, critic, [(0, central)])[0])
    vetoed = _beats(p, margin)
    why = f"the critic {'vetoes' if vetoed else 'lets pass'} the medoid {central} (reflex preferred with {p:.2f})"
    return choose(deliberation, 0 if vetoed else central, why, comparisons=1, notes=_matches([(0, central, p)]))


def medoid_tie_break(deliberation: Deliberation, *, critic: Critic, margin: float) -> Selection:
    """Among the most central quarter the critic's champion, if it is preferred to the medoid by the margin."""
    order = np.argsort(mean_distances(deliberation), kind="stable")
    central = [int(place) for place in order[: max(2, len(order) // CENTRAL)]]
    table, comparisons = round_robin(deliberation, critic, central)
    champion = int(table.sum(axis=1).argmax())
    place = champion if _beats(table[champion, 0], margin) else 0
    why = f"candidate {central[place]} of the central {central}"
    pairs = [(central[i], central[j], float(table[i, j])) for i in range(len(central)) for j in range(i)]
    return choose(deliberation, central[place], why, comparisons=comparisons, notes=_matches(pairs))


def round_robin(deliberation: Deliberation, critic: Critic, entrants: Sequence[int]) -> tuple[Array, int]:
    """All pairs of some candidates in one call.

    Critics are antisymmetric by contract, so each pair is asked for once and its mirror is one minus the answer.

    Returns:
        ``float32[M, M]``: the probability that the row's entrant is better than the column's, one half on the diagonal;
        and how many pairs were scored.
    """
    places = [(row, column) for row in range(len(entrants)) for column in range(row + 1, len(entrants))]
    preferred = ask(deliberation, critic, [(entrants[row], entrants[column]) for row, column in places])
    table = np.full((len(entrants), len(entrants)), 0.5, np.float32)
    for (row, column), p in zip(places, preferred, strict=True):
        table[row, column], table[column, row] = p, 1 - p
    return table, len(places)


def ask(deliberation: Deliberation, critic: Critic, pairs: Sequence[tuple[int, int]]) -> Array:
    """The critic's preferences for pairs of candidates, ``float32[P]``; see `preferences`."""
    return preferences(
        critic, deliberation.observation, deliberation.proposal, committed=deliberation.committed, pairs=pairs
    )


JUDGED: Mapping[str, Callable[..., Selection]] = {
    "copeland": copeland,
    "knockout": knockout,
    "medoid-veto": medoid_veto,
    "medoid-tie-break": medoid_tie_break,
}
"""The selectors that ask a critic, by name; each takes ``critic`` and ``margin``."""


def _beats(p: float, margin: float) -> bool:
    return p > 0.5 + margin


def _verdict(champion: int, p: float, index: int) -> str:
    if champion == 0:
        return "the critic prefers the reflex to all others"
    kept = "" if index else ", too little to give up the reflex"
    return f"the critic prefers candidate {champion} ({p:.2f} against the reflex){kept}"


def _matches(matches: Sequence[tuple[int, int, float]]) -> dict[str, Array]:
    """``float32[M, 3]``: who met whom, and the probability that the first is better."""
    return {"matches": np.array(matches, np.float32).reshape(-1, 3)}
