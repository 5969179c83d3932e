"""Pair sets as training reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...critics.spec import MASK, Feature
from ...envs import Array
from ...envs.observations import IMAGES
from ...envs.split import check_split
from ...errors import RecordError, UsageError
from .contract import EXPERT
from .labelling import action_scale
from .states import StoredStates, read_all
from .tables import read_tables


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledState:
    """One decision.

    Attributes:
        stored: the file that it lies in, mapped into memory.
        row: its place there.
        task: its task.
        phase: what the task's expert would have been doing.
        utility: ``float32[C]``: of every compared chunk; NaN where unknown.
    """

    stored: StoredStates
    row: int
    task: str
    phase: str
    utility: Array

    @property
    def episode(self) -> str:
        """The key of the episode that it belongs to."""
        return self.stored.episode.key

    @property
    def candidates(self) -> Array:
        """``float32[N, T, A]``: the policy's candidates."""
        return self.stored.chunks[self.row]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairSet:
    """P pairs over some decisions.

    Attributes:
        states: the decisions.
        state: ``int64[P]``: of each pair.
        better: ``int64[P]``: which of the decision's chunks.
        worse: ``int64[P]``.
        margin: ``float32[P]``, in the source's own unit; its mean is 1 in every folder.
        weight: ``float32[P]``.
        own: ``bool[P]``: both chunks are the policy's.
        policy: the policy's own description.
        sources: where the labels come from.
    """

    states: Sequence[LabelledState]
    state: Array
    better: Array
    worse: Array
    margin: Array
    weight: Array
    own: Array
    policy: Mapping[str, Any]
    sources: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.state)

    @property
    def tasks(self) -> list[str]:
        """Every task, sorted."""
        return sorted({state.task for state in self.states})

    @property
    def episodes(self) -> list[str]:
        """Every episode's key, sorted."""
        return sorted({state.episode for state in self.states})

    def features(self) -> tuple[Feature, ...]:
        """What a critic can attend to, as the stored features are.

        Raises:
            RecordError: one is neither a vector, nor tokens, nor an image.
        """
        stored = self.states[0].stored.features
        for name, array in stored.items():
            known = array.ndim in (2, 3) or name.startswith(IMAGES)
            if not known:
                raise RecordError(f"a critic reads features [W] or [K, W], and {name!r} is {list(array.shape[1:])}.")
        return tuple(
            Feature(
                name=name,
                kind="image" if name.startswith(IMAGES) else "vector" if array.ndim == 2 else "tokens",
                shape=tuple(array.shape[1:]),
                masked=name + MASK in stored,
            )
            for name, array in sorted(stored.items())
            if not name.endswith(MASK)
        )

    def scale(self) -> Array:
        """The spread of each action entry over all candidates, ``float32[A]``."""
        return action_scale([state.candidates for state in self.states])


def read_pairs(folders: Sequence[Path]) -> PairSet:
    """Read some pair sets as one.

    Raises:
        UsageError: a folder is named twice, holds no pair set, is empty, or has decisions from a stored initial state.
        RecordError: a folder is damaged, or they are of different policies or shapes.
    """
    if len({folder.resolve() for folder in folders}) != len(folders):
        raise UsageError("a pair set is named twice.")
    states: list[LabelledState] = []
    columns: dict[str, list[Any]] = {"state": [], "better": [], "worse": [], "margin": [], "weight": [], "own": []}
    sources: list[str] = []
    for folder in folders:
        manifest, rows, pairs = read_tables(folder)
        if not pairs["state"]:
            raise UsageError(f"the pair set in {folder} is empty. Collect more: thinktwice pairs --help")
        columns["state"] += [len(states) + state for state in pairs["state"]]
        for name in ("better", "worse", "weight"):
            columns[name] += pairs[name]
        columns["margin"] += (np.array(pairs["margin"]) / np.mean(pairs["margin"])).tolist()
        roles = zip(pairs["better_role"], pairs["worse_role"], strict=True)
        columns["own"] += [EXPERT not in both for both in roles]
        states += _states(folder, rows)
        sources.append(manifest["source"])
    first = states[0].stored
    for state in states:
        _check_same(first, state.stored)
    check_split((state.stored.episode for state in states), "training", purpose="training a critic")
    return PairSet(
        states=states,
        state=np.array(columns["state"], np.int64),
        better=np.array(columns["better"], np.int64),
        worse=np.array(columns["worse"], np.int64),
        margin=np.array(columns["margin"], np.float32),
        weight=np.array(columns["weight"], np.float32),
        own=np.array(columns["own"], bool),
        policy=first.policy,
        sources=tuple(sorted(set(sources))),
    )


def _states(folder: Path, rows: Mapping[str, Sequence[Any]]) -> list[LabelledState]:
    stored = read_all(folder)
    names = ("file", "row", "task", "phase", "utility")
    try:
        return [
            LabelledState(stored=stored[file], row=row, task=task, phase=phase, utility=np.array(utility, np.float32))
            for file, row, task, phase, utility in zip(*(rows[name] for name in names), strict=True)
        ]
    except KeyError as error:
        raise RecordError(f"{folder} lacks {error}, which its tables name. Collect it again.") from error


def _check_same(first: StoredStates, other: StoredStates) -> None:
    """Raise `RecordError` unless a critic can learn from both."""
    ours, theirs = first.policy.get("sha256"), other.policy.get("sha256")
    if ours != theirs:
        raise RecordError(
            f"{other.episode.key} is of a policy with weights {theirs}, {first.episode.key} of one with {ours}: a "
            "critic belongs to one checkpoint."
        )
    shapes = [
        {
            "chunks": stored.chunks.shape[2:],
            "state": stored.state.shape[1:],
            **{name: array.shape[1:] for name, array in stored.features.items()},
        }
        for stored in (first, other)
    ]
    if shapes[0] != shapes[1]:
        raise RecordError(f"{other.episode.key} has the shapes {shapes[1]}, {first.episode.key} {shapes[0]}.")
