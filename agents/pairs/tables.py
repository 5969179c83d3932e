"""The tables of a pair set: ``states.parquet``, ``pairs.parquet`` and ``pairs.json``, each replaced as a whole."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...envs import Array
from ...errors import RecordError, UsageError
from .states import FORMAT

STATES_TABLE, PAIRS_TABLE, MANIFEST = "states.parquet", "pairs.parquet", "pairs.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """One comparison.

    Attributes:
        state: the decision's row in ``states.parquet``.
        better: which of its chunks is better.
        worse: which is worse.
        better_role: its role: ``sample`` (a candidate), ``many``, ``few`` or ``expert``.
        worse_role: the other's.
        margin: the difference of their utilities, in the source's own unit.
    """

    state: int
    better: int
    worse: int
    better_role: str
    worse_role: str
    margin: float


def write_tables(folder: Path, rows: Sequence[Mapping[str, Any]], pairs: Sequence[Pair], weights: Array) -> None:
    """Write both tables.

    Args:
        folder: the pair set's.
        rows: of ``states.parquet``.
        pairs: of ``pairs.parquet``.
        weights: ``float32[P]``: how much each pair counts in training.

    Raises:
        RecordError: a file cannot be written.
    """
    import pyarrow as pa

    texts, numbers = ("file", "episode", "world", "task", "phase", "instruction"), ("row", "init_state", "seed")
    named: list[Any] = [
        *((name, pa.string()) for name in texts),
        *((name, pa.int64()) for name in (*numbers, "decision")),
    ]
    states = pa.schema([*named, ("candidates", pa.int64()), ("utility", pa.list_(pa.float32()))])
    _write_table(folder / STATES_TABLE, pa.Table.from_pylist([dict(row) for row in rows], schema=states))
    kinds = {"int": pa.int64(), "str": pa.string(), "float": pa.float32()}
    fields = dataclasses.fields(Pair)
    columns: dict[str, Any] = {field.name: [getattr(pair, field.name) for pair in pairs] for field in fields}
    compared = pa.schema([*((field.name, kinds[str(field.type)]) for field in fields), ("weight", pa.float32())])
    _write_table(folder / PAIRS_TABLE, pa.table({**columns, "weight": weights}, schema=compared))


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write ``pairs.json``.

    Raises:
        RecordError: it cannot be written.
    """
    text = json.dumps(manifest, indent=2, default=str) + "\n"
    _replace(folder / MANIFEST, lambda path: path.write_text(text))


def read_tables(folder: Path) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, list[Any]]]:
    """The manifest, and the columns of states and pairs.

    Raises:
        UsageError: there is no pair set.
        RecordError: a file is damaged or of another format.
    """
    from pyarrow import ArrowException, parquet

    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} holds no pair set: it has no {MANIFEST}. Make one: thinktwice pairs --help")
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        form = manifest["format"]
        states: dict[str, list[Any]] = parquet.read_table(folder / STATES_TABLE).to_pydict()
        pairs: dict[str, list[Any]] = parquet.read_table(folder / PAIRS_TABLE).to_pydict()
    except (OSError, ValueError, KeyError, TypeError, ArrowException) as error:
        raise RecordError(f"the pair set in {folder} is damaged: {type(error).__name__}: {error}.") from error
    if form != FORMAT:
        raise RecordError(f"{folder} has pair format {form!r}; this version reads {FORMAT}.")
    return manifest, states, pairs


def _write_table(path: Path, table: Any) -> None:
    from pyarrow import parquet

    _replace(path, lambda temporary: parquet.write_table(table, temporary))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    temporary = path.with_name(f".partial-{path.name}")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}.") from error
