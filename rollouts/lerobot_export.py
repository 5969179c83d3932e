"""Demonstrations as a LeRobotDataset v3, for LeRobot's own training and viewer.

``action`` is the expert's label.  ``executed_action`` is what was executed instead; LeRobot's policies do not read it.
Images are stored as PNG: decoding random frames of a video would dominate training on a CPU.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.training.demonstrations import Demonstration, read_folder
from ..envs import Conventions, Dim
from ..errors import RecordError, UsageError
from .demos import FRAMES, PROVENANCE

DATASET = "dataset"


def export(folder: Path) -> Path:
    """Write ``dataset/`` of a folder of demonstrations; it appears when it is whole.

    Returns:
        The data set's folder.

    Raises:
        RecordError: it exists, or cannot be written.
        UsageError: there are no demonstrations, or their world has no whole number of frames per second.
    """
    from lerobot.datasets import LeRobotDataset

    out, building = folder / DATASET, folder / f".{DATASET}.partial"
    if out.exists():
        raise RecordError(f"{out} exists; a data set is never written over. Remove it to write it again.")
    demonstrations = read_folder([folder / FRAMES])
    first = demonstrations[0]
    shutil.rmtree(building, ignore_errors=True)
    dataset: Any = LeRobotDataset.create(
        repo_id=f"thinktwice/{folder.name}",
        fps=_fps(first.conventions),
        features=_features(first),
        root=building,
        robot_type=first.episode.world,
        use_videos=False,
    )
    for demonstration in demonstrations:
        _add(dataset, demonstration)
    dataset.finalize()
    shutil.copy(folder / PROVENANCE, building / PROVENANCE)
    building.rename(out)
    return out


def _add(dataset: Any, demonstration: Demonstration) -> None:
    last = len(demonstration) - 1
    for index in range(len(demonstration)):
        images = {f"observation.images.{name}": frames[index] for name, frames in demonstration.images.items()}
        dataset.add_frame(
            {
                **images,
                "observation.state": demonstration.state[index],
                "action": demonstration.label[index],
                "executed_action": demonstration.executed[index],
                "next.done": np.array([index == last]),
                "task": demonstration.instruction,
            }
        )
    dataset.save_episode()


def _features(demonstration: Demonstration) -> dict[str, dict[str, Any]]:
    conventions = demonstration.conventions
    action = {"dtype": "float32", "shape": demonstration.label.shape[1:], "names": _names(conventions.action)}
    images = {
        f"observation.images.{name}": {
            "dtype": "image",
            "shape": frames.shape[1:],
            "names": ["height", "width", "channels"],
        }
        for name, frames in demonstration.images.items()
    }
    return {
        **images,
        "observation.state": {
            "dtype": "float32",
            "shape": demonstration.state.shape[1:],
            "names": _names(conventions.state),
        },
        "action": action,
        "executed_action": action,
        "next.done": {"dtype": "bool", "shape": (1,), "names": None},
    }


def _names(dims: tuple[Dim, ...]) -> list[str]:
    return [dim.name if dim.size == 1 else f"{dim.name}.{index}" for dim in dims for index in range(dim.size)]


def _fps(conventions: Conventions) -> int:
    hz = conventions.control_hz
    if hz is None or hz != int(hz):
        raise UsageError(f"a LeRobotDataset needs a whole number of frames per second; the control rate is {hz}.")
    return int(hz)
