"""Demonstrations on disk: one safetensors file per episode, read without copying.

| tensor | value |
| --- | --- |
| ``images.<camera>`` | ``uint8[T, H, W, 3]``, before each action |
| ``state`` | ``float32[T, S]``, before each action |
| ``label`` | ``float32[T, A]``: the expert's action there |
| ``executed`` | ``float32[T, A]``: what was executed instead, disturbed at times |

The file's metadata holds one JSON document: the episode's identity, the instruction and the world's conventions.
Training picks frames at random, which a video would have to decode from its last key frame.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...envs import Array, Conventions, EpisodeId
from ...envs.observations import IMAGES, STATE
from ...errors import ContractError, RecordError, UsageError

FORMAT = 1
"""The version of the files' format."""

SUFFIX = ".safetensors"

META = "thinktwice"
"""The name of the JSON document among a file's metadata."""

_DTYPES = {"U8": np.uint8, "F32": np.float32, "I64": np.int64, "BOOL": np.bool_}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demonstration:
    """One episode.

    Attributes:
        episode: its identity.
        instruction: the task in words.
        conventions: of the world that it was recorded in.
        images: by camera, ``uint8[T, H, W, 3]``.
        state: ``float32[T, S]``.
        label: ``float32[T, A]``: the expert's actions.
        executed: ``float32[T, A]``: the actions that led from one frame to the next.
    """

    episode: EpisodeId
    instruction: str
    conventions: Conventions
    images: Mapping[str, Array]
    state: Array
    label: Array
    executed: Array

    def __post_init__(self) -> None:
        lengths = {len(array) for array in (self.state, self.label, self.executed, *self.images.values())}
        if len(lengths) != 1 or not len(self.state) or self.label.shape != self.executed.shape or not self.images:
            raise ContractError(
                f"the demonstration {self.episode.key} is uneven: {len(self.state)} states, labels {self.label.shape}, "
                f"executed {self.executed.shape}, images { {name: len(array) for name, array in self.images.items()} }."
            )

    def __len__(self) -> int:
        return len(self.state)


def write_demonstration(file: IO[bytes], demonstration: Demonstration) -> None:
    """Write a demonstration into an open file."""
    from safetensors.numpy import save

    meta = {
        "format": FORMAT,
        "episode": demonstration.episode.to_json(),
        "instruction": demonstration.instruction,
        "conventions": demonstration.conventions.to_json(),
    }
    tensors = {f"{IMAGES}{name}": array for name, array in demonstration.images.items()}
    tensors |= {STATE: demonstration.state, "label": demonstration.label, "executed": demonstration.executed}
    whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    file.write(save(whole, metadata={META: json.dumps(meta)}))


def read_demonstration(path: Path) -> Demonstration:
    """Map a demonstration into memory: pixels are read from the disk when they are used.

    Raises:
        RecordError: the file is missing, truncated, of another format, or holds numbers that are not finite.
    """
    try:
        meta, tensors = map_safetensors(path)
        if meta.get("format") != FORMAT:
            raise RecordError(f"{path} has demonstration format {meta.get('format')!r}; this version reads {FORMAT}.")
        demonstration = Demonstration(
            episode=EpisodeId.from_json(meta["episode"]),
            instruction=meta["instruction"],
            conventions=Conventions.from_json(meta["conventions"]),
            images={name.removeprefix(IMAGES): array for name, array in tensors.items() if name.startswith(IMAGES)},
            state=tensors[STATE],
            label=tensors["label"],
            executed=tensors["executed"],
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise RecordError(f"{path} is no demonstration, or is truncated: {type(error).__name__}: {error}.") from error
    for name in (STATE, "label", "executed"):
        if not np.isfinite(tensors[name]).all():
            raise RecordError(f"{path} holds values that are not finite in {name!r}. Record it again.")
    return demonstration


def read_folder(folders: Iterable[Path]) -> list[Demonstration]:
    """Every demonstration in some folders, sorted by identity.

    Raises:
        UsageError: a folder has none, or two of them hold the same episode or were recorded with other conventions.
        RecordError: a file is damaged.
    """
    found: dict[EpisodeId, Demonstration] = {}
    for folder in folders:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
        if not paths:
            raise UsageError(f"{folder} holds no demonstrations (*{SUFFIX}). Make some: thinktwice demos --help")
        for path in paths:
            demonstration = read_demonstration(path)
            if demonstration.episode in found:
                raise UsageError(f"{path} holds an episode that is there already: {demonstration.episode.key}.")
            found[demonstration.episode] = demonstration
    ordered = [found[episode] for episode in sorted(found, key=lambda episode: (episode.task, episode.seed))]
    for demonstration in ordered:
        if demonstration.conventions != ordered[0].conventions:
            raise UsageError(
                f"{demonstration.episode.key} was recorded with other conventions than {ordered[0].episode.key}: "
                f"{demonstration.conventions} against {ordered[0].conventions}."
            )
    return ordered


def map_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The metadata and the tensors of one of this library's safetensors files, each a view of the mapped file.

    The metadata is one JSON document under `META`.  The format's own numpy reader copies; the format is a length, a
    JSON header and the bytes (https://huggingface.co/docs/safetensors).  Torch maps the file, because Python's own
    mapping keeps it open, and a process may not hold thousands of open files.
    """
    import torch

    raw: Array = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8).numpy()
    size = int(raw[:8].view(np.uint64)[0])
    header = json.loads(bytes(raw[8 : 8 + size]))
    meta = json.loads(header.pop("__metadata__")[META])
    tensors: dict[str, Array] = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[name] = raw[8 + size + first : 8 + size + last].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return meta, tensors
