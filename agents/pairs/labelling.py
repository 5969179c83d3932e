"""From facts to pairs: judge every stored decision, drop ties and repetitions, balance tasks and phases.

A pair set is a folder:

| file | content |
| --- | --- |
| ``states/<episode>.safetensors`` | the labelled decisions (`thinktwice.agents.pairs.states`) |
| ``states.parquet`` | one row per decision: where it lies, its episode, task, phase, and every chunk's utility |
| ``pairs.parquet`` | one row per pair: the decision, which chunk is better and which worse, by how much, and a weight |
| ``pairs.json`` | format, provenance and counts |

The three last are made anew from the first whenever labels are asked for in another way.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ... import __version__
from ...envs import Array
from ...errors import ConfigError, RecordError, UsageError
from .contract import Case, LabelOptions, SourceName
from .sources import JUDGING, Judging
from .states import FORMAT, StoredStates, read_all
from .tables import Pair, write_manifest, write_tables

_FLOOR = 0.05
"""Action entries are divided by their spread, or by this share of the largest one where they hardly move."""

_MOST = 4.0
"""A pair of a rare phase counts at most so many times as much as the average one, before the weights are made to have
mean 1 again."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of the decisions.

    Attributes:
        states: decisions with at least one pair.
        pairs: pairs.
        ties: comparisons whose utilities differ too little; dropped.
        identical: comparisons of two equal chunks; dropped.
        repeated: decisions that occur twice; dropped.
        undecided: decisions without any pair; dropped.
        tasks: pairs of each task.
        phases: pairs of each phase.
    """

    states: int
    pairs: int
    ties: int
    identical: int
    repeated: int
    undecided: int
    tasks: Mapping[str, int]
    phases: Mapping[str, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compared:
    """The chunks of one decision and what they are worth.

    Attributes:
        chunks: ``float32[C, T, A]``.
        roles: of each.
        utility: ``float32[C]``, NaN where a chunk is not compared.
    """

    chunks: Array
    roles: tuple[str, ...]
    utility: Array


def label(folder: Path, options: LabelOptions, *, provenance: Mapping[str, Any]) -> Counts:
    """Write the tables of a pair set.

    Args:
        folder: the pair set's.
        options: how facts become labels.
        provenance: where the decisions come from; kept in ``pairs.json``.

    Raises:
        UsageError: there are no decisions, or no pair is left.
        ConfigError: an option makes no sense.
        RecordError: a file is damaged, of another source, policy or shape than the others, or cannot be written.
    """
    if options.label_horizon < 1 or (options.tie is not None and not options.tie >= 0):
        raise ConfigError(
            f"label_horizon must be at least 1 and tie 0 or more, got {options.label_horizon} and {options.tie}."
        )
    stored = read_all(folder)
    first = _check_alike(folder, stored)
    scale = action_scale([states.chunks for states in stored.values()])
    source = cast("SourceName", first.source)
    tie = JUDGING[source].tie if options.tie is None else options.tie
    rows: list[dict[str, Any]] = []
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    seen: set[str] = set()
    for name, states, row in _decisions(stored):
        digest = hashlib.sha256(states.compared(row).tobytes() + states.state[row].tobytes()).hexdigest()
        if digest in seen:
            dropped["repeated"] += 1
            continue
        seen.add(digest)
        utility = _utility(states, row, scale, source, options)
        compared = Compared(chunks=states.compared(row), roles=states.roles, utility=utility)
        found = list(_winners(compared, JUDGING[source], tie, state=len(rows), dropped=dropped))
        if not found:
            dropped["undecided"] += 1
            continue
        pairs += found
        rows.append(_state_row(name, states, row, utility))
    if not pairs:
        raise UsageError(f"no pair is left of {len(seen)} decisions in {folder}: {dict(dropped)}. Collect more.")
    weights = _weights(rows, pairs)
    write_tables(folder, rows, pairs, weights)
    counts = Counts(
        states=len(rows),
        pairs=len(pairs),
        ties=dropped["ties"],
        identical=dropped["identical"],
        repeated=dropped["repeated"],
        undecided=dropped["undecided"],
        tasks=_sorted(Counter(rows[pair.state]["task"] for pair in pairs)),
        phases=_sorted(Counter(rows[pair.state]["phase"] for pair in pairs)),
    )
    manifest = {
        "format": FORMAT,
        "thinktwice": __version__,
        "source": source,
        "labels": {**dataclasses.asdict(options), "tie": tie},
        "policy": dict(first.policy),
        "action_scale": scale.tolist(),
        "counts": dataclasses.asdict(counts),
        "provenance": dict(provenance),
    }
    write_manifest(folder, manifest)
    return counts


def action_scale(chunks: Sequence[Array]) -> Array:
    """The spread of each action entry over all chunks, ``float32[A]``.

    Args:
        chunks: ``float32[…, A]`` each.
    """
    spread = np.concatenate([part.reshape(-1, part.shape[-1]) for part in chunks]).std(axis=0)
    return np.maximum(spread, max(_FLOOR * float(spread.max()), 1e-6)).astype(np.float32)


def _check_alike(folder: Path, stored: Mapping[str, StoredStates]) -> StoredStates:
    if not stored:
        raise UsageError(f"{folder} holds no labelled decisions. Make some: thinktwice pairs --help")
    first = next(iter(stored.values()))
    for name, states in stored.items():
        for what in ("source", "roles"):
            ours, theirs = getattr(first, what), getattr(states, what)
            if ours != theirs:
                raise RecordError(
                    f"{folder}: {name} has the {what} {theirs!r}, others {ours!r}: one folder, one source."
                )
        if states.policy.get("sha256") != first.policy.get("sha256"):
            raise RecordError(f"{folder}: {name} is of another policy's checkpoint than the others.")
        if states.chunks.shape[2:] != first.chunks.shape[2:]:
            raise RecordError(f"{folder}: {name} has chunks of shape {states.chunks.shape[2:]}, others of another.")
    return first


def _decisions(stored: Mapping[str, StoredStates]) -> Iterator[tuple[str, StoredStates, int]]:
    for name, states in stored.items():
        for row in range(len(states)):
            yield name, states, row


def _utility(states: StoredStates, row: int, scale: Array, source: SourceName, options: LabelOptions) -> Array:
    case = Case(
        chunks=np.clip(states.compared(row), states.low, states.high),
        roles=states.roles,
        committed=states.tail(row),
        facts={name: fact[row] for name, fact in states.facts.items()},
        scale=scale,
    )
    return JUDGING[source].judge(case, options)


def _winners(compared: Compared, judging: Judging, tie: float, *, state: int, dropped: Counter[str]) -> Iterator[Pair]:
    """Every comparison of a decision that has a winner; the others are counted as dropped."""
    chunks, roles, utility = compared.chunks, compared.roles, compared.utility
    judged = np.flatnonzero(np.isfinite(utility)).tolist()
    for one, other in itertools.combinations(judged, 2):
        if judging.between_roles and roles[one] == roles[other]:
            continue
        if np.array_equal(chunks[one], chunks[other]):
            dropped["identical"] += 1
            continue
        margin = float(utility[one] - utility[other])
        if abs(margin) <= tie:
            dropped["ties"] += 1
            continue
        better, worse = (one, other) if margin > 0 else (other, one)
        yield Pair(
            state=state,
            better=better,
            worse=worse,
            better_role=roles[better],
            worse_role=roles[worse],
            margin=abs(margin),
        )


def _state_row(name: str, states: StoredStates, row: int, utility: Array) -> dict[str, Any]:
    episode = states.episode
    return {
        "file": name,
        "row": row,
        "episode": episode.key,
        "world": episode.world,
        "task": episode.task,
        "init_state": episode.init_state,
        "seed": episode.seed,
        "decision": int(states.decision[row]),
        "phase": states.phases[row],
        "instruction": states.instruction,
        "candidates": states.chunks.shape[1],
        "utility": utility.tolist(),
    }


def _weights(rows: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> Array:
    """Every task counts alike, and within a task every phase, up to `_MOST`; the mean is 1."""
    cells = [(rows[pair.state]["task"], rows[pair.state]["phase"]) for pair in pairs]
    sizes = Counter(cells)
    phases = Counter(task for task, _ in sizes)
    raw = np.array([1.0 / (len(phases) * phases[cell[0]] * sizes[cell]) for cell in cells])
    capped = np.minimum(raw / raw.mean(), _MOST)
    return (capped / capped.mean()).astype(np.float32)


def _sorted(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items()))
