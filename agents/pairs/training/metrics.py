"""How good a critic is on held-out episodes.

Accuracy of a policy's own candidates against each other is what matters: an expert's chunk is easy to tell from them.
None of this says how often a robot succeeds; choose critics by closed-loop success on the tuning split.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....critics.inputs import distances, medoid
from ....envs import Array
from ..pairset import PairSet
from .batches import Batches

if TYPE_CHECKING:
    from ....critics.network import CriticNetwork

_BATCH = 256
_BINS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regret:
    """How much utility a choice among a decision's candidates gives away on average, in the source's own unit.

    Attributes:
        critic: of the critic's favourite: the candidate with the greatest sum of preferences.
        reflex: of the policy's first candidate.
        medoid: of the candidate in the middle.
        random: of any candidate.
        states: decisions that it was measured on.
    """

    critic: float
    reflex: float
    medoid: float
    random: float
    states: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A critic on held-out pairs.

    Attributes:
        pairs: how many.
        own_pairs: those between two chunks of the policy.
        log_loss: mean cross-entropy, nats; log 2 is a coin's.
        accuracy: share of pairs whose better chunk is preferred.
        own_accuracy: the same of the policy's own chunks; None where there is no such pair.
        medoid_accuracy: on those, of preferring the one nearer to the candidates' medoid.
        calibration_error: expected calibration error of the own pairs (of all where there are none), 10 bins.
        bins: for each bin of confidence its mean confidence, accuracy and count.
        antisymmetry_error: the most that a preference and its mirror are away from adding up to one.
        cycle_rate: share of triples of candidates that are preferred in a circle; None for fewer than three.
        regret: None where no decision has utilities of all its candidates.
    """

    pairs: int
    own_pairs: int
    log_loss: float
    accuracy: float
    own_accuracy: float | None
    medoid_accuracy: float | None
    calibration_error: float
    bins: tuple[tuple[float, float, int], ...]
    antisymmetry_error: float
    cycle_rate: float | None
    regret: Regret | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)


def pair_logits(network: CriticNetwork, batches: Batches, indices: Array) -> Array:
    """The logit of each pair's better chunk, ``float32[P]``."""
    import torch

    parts: list[Array] = []
    with torch.inference_mode():
        for start in range(0, len(indices), _BATCH):
            logits = network(batches.of_pairs(indices[start : start + _BATCH]))
            parts.append(logits[:, 0].float().cpu().numpy())
    return np.concatenate(parts)


def log_loss(logits: Array) -> float:
    """Mean cross-entropy of logits that should be positive."""
    return float(np.logaddexp(0, -logits.astype(np.float64)).mean())


def evaluate(network: CriticNetwork, batches: Batches, indices: Array) -> Evaluation:
    """Measure a critic on some pairs and on the decisions that they belong to.

    Args:
        network: in evaluation mode.
        batches: of the pair set.
        indices: ``int64[P]``: the pairs, at least one.
    """
    pairs = batches.pairs
    logits = pair_logits(network, batches, indices)
    own = pairs.own[indices]
    counted = logits[own] if own.any() else logits
    error, bins = calibration(counted)
    states = np.unique(pairs.state[indices])
    tables = _preferences(network, batches, states)
    mirrored = max(float(np.abs(table + table.swapaxes(1, 2) - 1).max()) for table in tables.values())
    return Evaluation(
        pairs=len(indices),
        own_pairs=int(own.sum()),
        log_loss=log_loss(logits),
        accuracy=_share(logits > 0),
        own_accuracy=_share(logits[own] > 0) if own.any() else None,
        medoid_accuracy=_share(_nearer_to_medoid(pairs, indices[own])) if own.any() else None,
        calibration_error=error,
        bins=bins,
        antisymmetry_error=mirrored,
        cycle_rate=cycle_rate(list(tables.values())),
        regret=_regret(pairs, states, tables),
    )


def calibration(logits: Array) -> tuple[float, tuple[tuple[float, float, int], ...]]:
    """Expected calibration error (Guo et al. 2017) of logits that should be positive, and its bins.

    A preference of p is a claim with confidence max(p, 1 - p); it is right when p is above one half.
    """
    p = 1 / (1 + np.exp(-logits.astype(np.float64)))
    confidence, right = np.maximum(p, 1 - p), p > 0.5
    place = np.minimum(((confidence - 0.5) * 2 * _BINS).astype(int), _BINS - 1)
    bins = tuple(
        (float(confidence[place == index].mean()), float(right[place == index].mean()), int((place == index).sum()))
        for index in range(_BINS)
        if (place == index).any()
    )
    error = sum(count * abs(sure - correct) for sure, correct, count in bins) / len(logits)
    return error, bins


def cycle_rate(tables: list[Array]) -> float | None:
    """The share of cyclic triples, by counting wins (Kendall and Babington Smith 1940).

    Args:
        tables: preferences ``float32[B, N, N]`` each.
    """
    triples = cyclic = 0
    for table in tables:
        count = table.shape[-1]
        # Of two equal ones the first wins, so that every comparison has one winner.
        upper = np.triu(table >= 0.5, 1)
        wins = upper.sum(axis=2) + (np.triu(np.ones((count, count), bool), 1) & ~upper).sum(axis=1)
        each = math.comb(count, 3)
        triples += each * len(table)
        cyclic += each * len(table) - int((wins * (wins - 1) // 2).sum())
    return cyclic / triples if triples else None


def _preferences(network: CriticNetwork, batches: Batches, states: Array) -> dict[int, Array]:
    """Preferences among the candidates of each decision, by their number N: ``float32[B, N, N]``, in order."""
    import torch

    sizes = np.array([len(batches.pairs.states[state].candidates) for state in states])
    tables: dict[int, Array] = {}
    for count in sorted(set(sizes.tolist())):
        alike = states[sizes == count]
        parts: list[Array] = []
        at_once = max(1, _BATCH // count**2)
        with torch.inference_mode():
            for start in range(0, len(alike), at_once):
                some = alike[start : start + at_once]
                logits = network(batches.of_states(some, count=count))
                parts.append(torch.sigmoid(logits).view(len(some), count, count).cpu().numpy())
        tables[count] = np.concatenate(parts)
    return tables


def _regret(pairs: PairSet, states: Array, tables: dict[int, Array]) -> Regret | None:
    scale = pairs.scale()
    lost: list[list[float]] = []
    met = dict.fromkeys(tables, 0)
    for index in states:
        state = pairs.states[index]
        chunks = state.candidates
        table = tables[len(chunks)][met[len(chunks)]]
        met[len(chunks)] += 1
        utility = state.utility[: len(chunks)]
        if not np.isfinite(utility).all():
            continue
        away = float(utility.max()) - utility
        favourite = int(table.sum(axis=1).argmax())
        lost.append([float(away[choice]) for choice in (favourite, 0, medoid(chunks, scale))] + [float(away.mean())])
    if not lost:
        return None
    critic, reflex, middle, anyone = np.mean(lost, axis=0).tolist()
    return Regret(critic=critic, reflex=reflex, medoid=middle, random=anyone, states=len(lost))


def _nearer_to_medoid(pairs: PairSet, indices: Array) -> Array:
    """Whether each pair's better chunk is nearer to the medoid of the policy's candidates, ``bool[P]``."""
    scale, result = pairs.scale(), np.zeros(len(indices), bool)
    known: dict[int, Array] = {}
    for place, index in enumerate(indices):
        number = int(pairs.state[index])
        if number not in known:
            state = pairs.states[number]
            own = state.candidates
            centre = own[medoid(own, scale)][None]
            known[number] = distances(state.stored.compared(state.row), centre, scale)[:, 0]
        away = known[number]
        result[place] = away[pairs.better[index]] < away[pairs.worse[index]]
    return result


def _share(right: Array) -> float:
    return float(np.mean(right))
