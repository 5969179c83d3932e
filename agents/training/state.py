"""The state of a training run on disk: weights, averaged weights and the optimiser's moments, without pickle.

One safetensors file is written under a temporary name and renamed, so that a kill leaves the old state or the new one.
There is no state of random generators: what a step draws depends on the run's seed and the step alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import RecordError

if TYPE_CHECKING:
    from torch import Tensor, nn, optim

STATE_FILE = "state.safetensors"

_META = "thinktwice"


def claim(folder: Path, *, resume: bool) -> None:
    """Make the folder of a training run, or refuse one that holds a run already.

    Raises:
        RecordError: it holds a run that is not to be resumed, or cannot be made.
    """
    if not resume and (folder / STATE_FILE).exists():
        raise RecordError(f"{folder} holds a training run. Continue it with --resume, or give another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{folder} cannot be made: {error.strerror or error}.") from error


def save_state(
    folder: Path,
    network: nn.Module,
    averaged: dict[str, Tensor],
    optimizer: optim.Optimizer,
    *,
    step: int,
    config: dict[str, Any],
) -> None:
    """Write the state after a step.

    Args:
        folder: the training run's.
        network: with its present weights.
        averaged: the averaged weights by name.
        optimizer: with one group of parameters.
        step: how many steps are done.
        config: what decides the course of training, compared when it is resumed.

    Raises:
        RecordError: the file cannot be written.
    """
    from safetensors.torch import save_file

    tensors = {f"model.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"averaged.{name}": value for name, value in averaged.items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    meta = json.dumps({"step": step, "config": config})
    temporary = folder / f".partial-{STATE_FILE}"
    try:
        save_file({name: value.contiguous() for name, value in tensors.items()}, temporary, metadata={_META: meta})
        temporary.replace(folder / STATE_FILE)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RecordError(f"{folder / STATE_FILE} cannot be written: {error.strerror or error}.") from error


def load_state(
    folder: Path,
    network: nn.Module,
    averaged: dict[str, Tensor],
    optimizer: optim.Optimizer,
    *,
    config: dict[str, Any],
) -> int:
    """Read a state back into the network, the averaged weights and the optimiser.

    Returns:
        How many steps are done.

    Raises:
        RecordError: there is none, it is damaged, or the run was made with another configuration or data.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / STATE_FILE
    if not path.is_file():
        raise RecordError(f"there is no training run to resume in {folder}: it has no {STATE_FILE}.")
    try:
        with safe_open(path, framework="pt") as file:
            meta = json.loads(file.metadata()[_META])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
        _check_same(path, meta["config"], config)
        network.load_state_dict(_part(tensors, "model."))
        for name, value in _part(tensors, "averaged.").items():
            averaged[name].copy_(value)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _part(tensors, "optimizer.").items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
        return int(meta["step"])
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise RecordError(f"{path} is damaged or of another network: {str(error).splitlines()[0]}") from error


def cut_lines(path: Path, step: int) -> None:
    """Drop what was written into a file of metrics after the last checkpoint: it will be written again."""
    if not path.exists():
        return
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    path.write_text("".join(line for line in lines if json.loads(line)["step"] <= step))


def _check_same(path: Path, there: dict[str, Any], now: dict[str, Any]) -> None:
    changed = sorted(name for name in there.keys() | now.keys() if there.get(name) != now.get(name))
    if changed:
        listed = "\n  - ".join(f"{name}: {there.get(name)!r}, now {now.get(name)!r}" for name in changed)
        raise RecordError(f"{path} was made with other settings and cannot be continued:\n  - {listed}")


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
