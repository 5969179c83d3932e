"""Labelled decisions on disk: one safetensors file per episode, mapped into memory when it is read.

| tensor | value |
| --- | --- |
| ``decision`` | ``int64[D]``: which decisions of the episode |
| ``chunks`` | ``float32[D, N, T, A]``: the policy's candidates, the reflex first, in the world's units |
| ``extra.<role>`` | ``float32[D, M, T, A]``: further chunks to compare: ``many``, ``few``, ``expert`` |
| ``fact.<name>`` | ``float32[D, …]``: what the label source found out |
| ``feature.<name>`` | ``[D, …]``: the policy's features, or ``images.<camera>`` where it exposes none |
| ``state`` | ``float32[D, S]``: proprioception (S may be 0) |
| ``committed`` | ``float32[D, K, A]``: the tail of the chunk under way, zeros where there is none (K may be 0) |
| ``committed_length`` | ``int64[D]``: how much of it there is |

The file's metadata holds one JSON document: format, episode, instruction, source, the policy's description, each
decision's phase, and the bounds that the world limits actions to.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...envs import Array, EpisodeId
from ...envs.observations import IMAGES
from ...errors import IdentityError, RecordError
from ..training.demonstrations import META, SUFFIX, map_safetensors
from .contract import SAMPLE

FORMAT = 1
STATES = "states"
"""The folder of these files inside a pair set."""

_EXTRA, _FACT, _FEATURE = "extra.", "fact.", "feature."


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredStates:
    """The labelled decisions of one episode: D of them, at least one.

    Attributes:
        episode: its identity.
        instruction: the task in words.
        source: who labelled.
        policy: the policy's own description.
        phases: of each decision.
        low: ``float32[A]``: the world's least action, minus infinity where it has none.
        high: ``float32[A]``: its greatest.
        decision: ``int64[D]``.
        chunks: ``float32[D, N, T, A]``.
        extra: by role ``float32[D, M, T, A]``.
        facts: by name, ``[D, …]``.
        features: by name, ``[D, …]``.
        state: ``float32[D, S]``.
        committed: ``float32[D, K, A]``.
        committed_length: ``int64[D]``.
    """

    episode: EpisodeId
    instruction: str
    source: str
    policy: Mapping[str, Any]
    phases: tuple[str, ...]
    low: Array
    high: Array
    decision: Array
    chunks: Array
    extra: Mapping[str, Array]
    facts: Mapping[str, Array]
    features: Mapping[str, Array]
    state: Array
    committed: Array
    committed_length: Array

    def __len__(self) -> int:
        return len(self.decision)

    @property
    def roles(self) -> tuple[str, ...]:
        """The role of each chunk of `compared`."""
        further = (role for role in sorted(self.extra) for _ in range(self.extra[role].shape[1]))
        return (*(SAMPLE for _ in range(self.chunks.shape[1])), *further)

    def compared(self, row: int) -> Array:
        """All chunks of a decision, ``float32[C, T, A]``: the candidates, then the further ones by role."""
        return np.concatenate([self.chunks[row], *(self.extra[role][row] for role in sorted(self.extra))])

    def tail(self, row: int) -> Array | None:
        """The committed tail of a decision, ``float32[K, A]``, or None."""
        length = int(self.committed_length[row])
        return self.committed[row, :length] if length else None


def write_states(file: IO[bytes], states: StoredStates) -> None:
    """Write an episode's labelled decisions into an open file."""
    from safetensors.numpy import save

    meta = {
        "format": FORMAT,
        "episode": states.episode.to_json(),
        "instruction": states.instruction,
        "source": states.source,
        "policy": dict(states.policy),
        "phases": list(states.phases),
        "bounds": [states.low.tolist(), states.high.tolist()],
    }
    tensors = {name: getattr(states, name) for name in ("decision", "chunks", "state", "committed", "committed_length")}
    for prefix, group in ((_EXTRA, states.extra), (_FACT, states.facts), (_FEATURE, states.features)):
        tensors |= {prefix + name: array for name, array in group.items()}
    whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    file.write(save(whole, metadata={META: json.dumps(meta)}))


def read_states(path: Path) -> StoredStates:
    """Map an episode's labelled decisions into memory.

    Raises:
        RecordError: the file is missing, truncated, of another format, or holds numbers that are not finite.
    """
    try:
        meta, tensors = map_safetensors(path)
        if meta.get("format") != FORMAT:
            raise RecordError(f"{path} has pair format {meta.get('format')!r}; this version reads {FORMAT}.")
        low, high = (np.array(bound, np.float32) for bound in meta["bounds"])
        states = StoredStates(
            episode=EpisodeId.from_json(meta["episode"]),
            instruction=meta["instruction"],
            source=meta["source"],
            policy=meta["policy"],
            phases=tuple(meta["phases"]),
            low=low,
            high=high,
            decision=tensors["decision"],
            chunks=tensors["chunks"],
            extra=_group(tensors, _EXTRA),
            facts=_group(tensors, _FACT),
            features=_group(tensors, _FEATURE),
            state=tensors["state"],
            committed=tensors["committed"],
            committed_length=tensors["committed_length"],
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, RuntimeError, IdentityError) as error:
        raise RecordError(f"{path} holds no labelled decisions: {type(error).__name__}: {error}.") from error
    _check(path, states, tensors)
    return states


def read_all(folder: Path) -> dict[str, StoredStates]:
    """Every episode of a pair set, by the name of its file, sorted.

    Raises:
        RecordError: a file is damaged.
    """
    return {path.stem: read_states(path) for path in sorted((folder / STATES).glob(f"*{SUFFIX}"))}


def _group(tensors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _check(path: Path, states: StoredStates, tensors: Mapping[str, Array]) -> None:
    lengths = {len(array) for array in tensors.values()} | {len(states.phases)}
    if lengths != {len(states)} or not lengths - {0}:
        raise RecordError(f"{path} is uneven: its arrays and phases have lengths {sorted(lengths)}.")
    for name, array in tensors.items():
        if array.dtype.kind == "f" and not name.startswith(_FEATURE + IMAGES) and not np.isfinite(array).all():
            raise RecordError(
                f"{path} holds values that are not finite (NaN or infinity) in {name!r}. Collect it again."
            )
