"""The trace of an episode: what was decided and executed, in two files that need no pickle to read.

``traces/<key>.npz`` holds the arrays and ``traces/<key>.json`` the rest.  Images are not kept: videos show
them, and a world that is reset with the episode's identity and given the trace's actions shows them again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..cost import Cost
from ..envs import Array, EpisodeId
from ..errors import ContractError, IdentityError, RecordError
from .files import write_atomically

_ARRAYS_OF_A_DECISION = ("chunk", "candidates", "preferences")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedDecision:
    """One decision as it was recorded.

    Attributes:
        index: its place in the episode, from 0.
        mode: ``"reflex"`` or ``"deliberate"``.
        why: the agent's own short sentence.
        doubt: the gate's measure, or None.
        chunk: the whole chunk: ``float32[T, A]``, or a list of text or discrete actions.
        executed: how many of its actions were executed.
        candidates: what was chosen from, ``float32[N, T, A]`` or lists; empty when there was no choice.
        chosen: the index of the chosen candidate, or None.
        preferences: ``float32[N, N]``, or None.
        cost: the ledger of the decision.
        seconds: wall seconds: ``{"act": …, "world": …}``.
        text: what a text world said when the agent decided, or None.
        notes: the agent's notes; arrays among them are arrays again.
    """

    index: int
    mode: str
    why: str
    doubt: float | None
    chunk: Any
    executed: int
    candidates: Any
    chosen: int | None
    preferences: Array | None
    cost: Cost
    seconds: Mapping[str, float]
    text: str | None
    notes: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """One episode as it was executed.  S actions were executed over D decisions.

    Attributes:
        episode: which episode.
        instruction: the task in words, empty where the world gives none.
        actions: ``float32[S, A]``, or ``int[S]`` or ``str[S]`` for discrete and text worlds.
        rewards: ``float32[S]``.
        success: ``bool[S]``: whether the task was solved after each action.
        states: ``float32[D + 1, K]``: the observation's ``state`` at each decision and at the end; None
            where the world has none.
        decisions: the D decisions.
        final_text: what a text world said last, or None.
    """

    episode: EpisodeId
    instruction: str
    actions: Array
    rewards: Array
    success: Array
    states: Array | None
    decisions: tuple[TracedDecision, ...]
    final_text: str | None = None

    def digest(self) -> str:
        """The sha256 of the actions, rewards and states: equal when an episode is repeated exactly."""
        result = hashlib.sha256()
        for array in (self.actions, self.rewards, self.states):
            if array is not None:
                result.update(f"{array.dtype.str}{array.shape}".encode())
                result.update(np.ascontiguousarray(array).tobytes())
        return result.hexdigest()


def trace_files(folder: Path, key: str) -> tuple[Path, Path]:
    """Where the trace of an episode lies: its ``.npz`` and its ``.json``."""
    return folder / f"{key}.npz", folder / f"{key}.json"


def write_trace(folder: Path, trace: Trace) -> None:
    """Write both files, each complete or not at all.

    Raises:
        ContractError: the agent's notes hold something that is neither JSON nor an array, or a number is not finite.
        RecordError: a file cannot be written.
    """
    arrays = {"actions": trace.actions, "rewards": trace.rewards, "success": trace.success}
    if trace.states is not None:
        arrays["states"] = trace.states
    plain = [_split(decision, arrays) for decision in trace.decisions]
    data = {
        "episode": trace.episode.to_json(),
        "instruction": trace.instruction,
        "final_text": trace.final_text,
        "decisions": plain,
    }
    npz, text = trace_files(folder, trace.episode.key)
    try:
        encoded = json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"the decisions of episode {trace.episode.key} cannot be recorded: {error}. "
            "Doubt, costs and notes must be finite JSON values, and notes may also hold arrays."
        ) from error
    write_atomically(npz, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))
    write_atomically(text, lambda file: file.write(encoded.encode()))


def read_trace(folder: Path, key: str) -> Trace:
    """The inverse of `write_trace`.

    Raises:
        RecordError: the trace is missing or damaged.
    """
    npz, text = trace_files(folder, key)
    try:
        data = json.loads(text.read_text())
        # numpy leaves a file open that is no archive, so it is opened here.
        with npz.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays: dict[str, Array] = {name: file[name] for name in file.files}
        return Trace(
            episode=EpisodeId.from_json(data["episode"]),
            instruction=data["instruction"],
            actions=arrays["actions"],
            rewards=arrays["rewards"],
            success=arrays["success"],
            states=arrays.get("states"),
            decisions=tuple(_join(plain, arrays) for plain in data["decisions"]),
            final_text=data["final_text"],
        )
    except FileNotFoundError as error:
        raise RecordError(
            f"there is no trace {key!r} in {folder}. An episode that broke before its first decision has none."
        ) from error
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile, IdentityError) as error:
        raise RecordError(f"the trace {npz.with_suffix('')} is damaged: {type(error).__name__}: {error}") from error


def _split(decision: TracedDecision, arrays: dict[str, Array]) -> dict[str, Any]:
    """The JSON part of a decision; its arrays are added to ``arrays``."""
    prefix = f"d{decision.index:05d}."
    plain: dict[str, Any] = {
        "index": decision.index,
        "mode": decision.mode,
        "why": decision.why,
        "doubt": decision.doubt,
        "executed": decision.executed,
        "chosen": decision.chosen,
        "cost": decision.cost.to_json(),
        "seconds": dict(decision.seconds),
        "text": decision.text,
        "notes": {},
    }
    for name in _ARRAYS_OF_A_DECISION:
        _place(getattr(decision, name), name, prefix + name, plain, arrays)
    for name, value in decision.notes.items():
        _place(value, name, f"{prefix}notes.{name}", plain["notes"], arrays)
    return plain


def _place(value: Any, name: str, where: str, plain: dict[str, Any], arrays: dict[str, Array]) -> None:
    array = _stacked(value)
    if array is not None and array.dtype.kind in "biufU":
        arrays[where] = array
    else:
        plain[name] = _plain(value)


def _stacked(value: Any) -> Array | None:
    """An array as it is, or a sequence of arrays of one shape as one array."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, (list, tuple)):
        return None
    items = cast("Sequence[Any]", value)
    alike = len({np.shape(item) for item in items if isinstance(item, np.ndarray)}) == 1
    return np.stack(items) if alike and all(isinstance(item, np.ndarray) for item in items) else None


def _plain(value: Any) -> Any:
    """Lists for tuples and arrays, Python numbers for numpy's: what JSON holds."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return value


def _join(plain: dict[str, Any], arrays: Mapping[str, Array]) -> TracedDecision:
    prefix = f"d{plain['index']:05d}."
    notes = dict(plain["notes"])
    for name, array in arrays.items():
        if name.startswith(prefix + "notes."):
            notes[name.removeprefix(prefix + "notes.")] = array
    values = {name: arrays.get(prefix + name, plain.get(name)) for name in _ARRAYS_OF_A_DECISION}
    return TracedDecision(
        index=plain["index"],
        mode=plain["mode"],
        why=plain["why"],
        doubt=plain["doubt"],
        executed=plain["executed"],
        chosen=plain["chosen"],
        cost=Cost.from_json(plain["cost"]),
        seconds=plain["seconds"],
        text=plain["text"],
        notes=notes,
        **values,
    )
