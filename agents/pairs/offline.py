"""The label source ``steps`` on recorded data: demonstrations of this library, or any LeRobotDataset.

The expert's chunk is what was recorded from a frame on.  Nothing is played, so the states are the demonstrator's own
and not those that the policy reaches.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...envs import Array, EpisodeId, Observation, derive_seed
from ...envs.observations import IMAGES, STATE, TASK
from ...envs.split import check_split
from ...errors import ConfigError, RecordError, UsageError
from ..policy import Policy
from ..training.batches import usable_labels
from ..training.demonstrations import SUFFIX, Demonstration, read_folder
from .collector import readable
from .contract import EXPERT, Moment
from .states import StoredStates
from .steps import StepsOptions, StepsSource

_LEROBOT_IMAGES = "observation.images."
_PROVENANCE = "provenance.json"
"""What `thinktwice dataset` writes beside a data set: among others every episode's identity."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfflineOptions(StepsOptions):
    """Options of labelling recorded data."""

    policy: str
    """Whose candidates are labelled: bundled, bundled:FOLDER, lerobot:PATH_OR_HUB_ID, …"""
    candidates: int = 8
    """Candidates at each frame, which say where a chunk lies among them."""
    every: int = 8
    """Every how many frames of an episode are labelled."""

    def __post_init__(self) -> None:
        for name in ("candidates", "every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorded:
    """One recorded episode.

    Attributes:
        episode: its identity; for a foreign data set the task and the episode's index.
        instruction: the task in words.
        actions: ``float32[T, A]``: the demonstrator's.
        usable: ``int[T]``: how many actions from each frame on could be foreseen there.
        look: the observation of a frame.
    """

    episode: EpisodeId
    instruction: str
    actions: Array
    usable: Array
    look: Callable[[int], Observation]


class Recordings:
    """The episodes of a folder.

    Args:
        folder: ``frames/`` of `thinktwice demos`, or a LeRobotDataset.

    Raises:
        UsageError: it holds neither, or an episode began in a stored initial state.
        RecordError: a file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._open: Callable[[int], Recorded]
        if any(folder.glob(f"*{SUFFIX}")):
            demonstrations = read_folder([folder])
            self.episodes: Sequence[EpisodeId] = [demonstration.episode for demonstration in demonstrations]
            self._open = lambda index: _demonstration(demonstrations[index])
        elif (folder / "meta" / "info.json").is_file():
            dataset = _open_dataset(folder)
            self.episodes = _identities(folder, dataset)
            self._open = lambda index: _of_dataset(dataset, self.episodes[index], index)
        else:
            raise UsageError(
                f"{folder} holds neither demonstrations (*{SUFFIX}, the folder frames/ of thinktwice demos) nor a "
                "LeRobotDataset (meta/info.json)."
            )
        check_split(self.episodes, "training", purpose="training a critic")

    def open(self, index: int) -> Recorded:
        """The episode at a place of `episodes`."""
        return self._open(index)


def label_recorded(
    recorded: Recorded, policy: Policy, options: OfflineOptions, *, bounds: tuple[Array, Array]
) -> StoredStates | None:
    """Sample many and few steps at the frames of a recorded episode, and take its own actions as the expert's.

    Args:
        recorded: the episode.
        policy: samples.
        options: where and how many.
        bounds: ``float32[A]`` each: what the world limits actions to.

    Returns:
        The labelled frames; None where no frame has a whole chunk ahead of it.

    Raises:
        ContractError: an observation lacks something that the policy reads.
    """
    source = StepsSource(policy, None, options)
    rows: list[dict[str, Any]] = []
    for frame in range(0, len(recorded.actions), options.every):
        seed, seen = derive_seed(recorded.episode.key, frame), recorded.look(frame)
        proposal = policy.propose(seen, options.candidates, seed=seed)
        chunks = np.asarray(proposal.chunks, np.float32)
        length = chunks.shape[1]
        if recorded.usable[frame] < length:
            continue
        moment = Moment(observation=seen, proposal=proposal, committed=None, execute=length, seed=seed)
        extra = {**source.samples(moment), EXPERT: recorded.actions[None, frame : frame + length]}
        rows.append({"frame": frame, "chunks": chunks, "extra": extra, "seen": seen, "proposal": proposal})
    if not rows:
        return None
    features = [readable(row["seen"], row["proposal"]) for row in rows]
    width, last = recorded.actions.shape[1], len(recorded.actions)
    return StoredStates(
        episode=recorded.episode,
        instruction=recorded.instruction,
        source="steps",
        policy=policy.describe(),
        phases=tuple(third(row["frame"], last) for row in rows),
        low=bounds[0],
        high=bounds[1],
        decision=np.array([row["frame"] for row in rows], np.int64),
        chunks=np.stack([row["chunks"] for row in rows]),
        extra={role: np.stack([row["extra"][role] for row in rows]) for role in rows[0]["extra"]},
        facts={},
        features={name: np.stack([feature[name] for feature in features]) for name in features[0]},
        state=np.stack([np.asarray(row["seen"].get(STATE, ()), np.float32) for row in rows]),
        committed=np.zeros((len(rows), 0, width), np.float32),
        committed_length=np.zeros(len(rows), np.int64),
    )


def third(place: int, length: int) -> str:
    """The phase of a decision where nothing better is known: the third of the episode that it lies in.

    >>> [third(place, 9) for place in (0, 3, 8)]
    ['early', 'middle', 'late']
    """
    return ("early", "middle", "late")[min(2, 3 * place // length)]


def _demonstration(demonstration: Demonstration) -> Recorded:
    def look(frame: int) -> Observation:
        images = {f"{IMAGES}{name}": np.array(frames[frame]) for name, frames in demonstration.images.items()}
        return {**images, STATE: np.array(demonstration.state[frame]), TASK: demonstration.instruction}

    return Recorded(
        episode=demonstration.episode,
        instruction=demonstration.instruction,
        actions=demonstration.label,
        usable=usable_labels(demonstration, len(demonstration)),
        look=look,
    )


def _open_dataset(folder: Path) -> Any:
    from lerobot.datasets import LeRobotDataset

    try:
        return LeRobotDataset(f"thinktwice/{folder.name}", root=folder)
    except (OSError, ValueError, KeyError) as error:
        raise RecordError(f"the LeRobotDataset in {folder} cannot be read: {error}.") from error


def _identities(folder: Path, dataset: Any) -> list[EpisodeId]:
    """The episodes' identities where the data set says them, else task and index."""
    path = folder / _PROVENANCE
    known = json.loads(path.read_text()).get("episodes") if path.is_file() else None
    if known:
        names = ("world", "task", "init_state", "seed")
        return [EpisodeId.from_json({name: entry[name] for name in names}) for entry in known]
    tasks = dataset.meta.episodes["tasks"]
    return [
        EpisodeId(world=folder.name, task=str(tasks[index][0]), init_state=None, seed=index)
        for index in range(dataset.num_episodes)
    ]


def _of_dataset(dataset: Any, episode: EpisodeId, index: int) -> Recorded:
    first, last = (int(dataset.meta.episodes[f"dataset_{end}_index"][index]) for end in ("from", "to"))
    actions = np.asarray(dataset.hf_dataset.with_format("numpy")[first:last]["action"], np.float32)

    def look(frame: int) -> Observation:
        item = dataset[first + frame]
        images = {
            IMAGES + key.removeprefix(_LEROBOT_IMAGES): _pixels(value)
            for key, value in item.items()
            if key.startswith(_LEROBOT_IMAGES)
        }
        return {**images, STATE: item["observation.state"].numpy().astype(np.float32), TASK: item["task"]}

    return Recorded(
        episode=episode,
        instruction=str(dataset[first]["task"]),
        actions=actions,
        usable=np.arange(len(actions), 0, -1),
        look=look,
    )


def _pixels(image: Any) -> Array:
    """A tensor ``float32[3, H, W]`` in [0, 1] as ``uint8[H, W, 3]``."""
    return np.ascontiguousarray((image.numpy() * 255).round().astype(np.uint8).transpose(1, 2, 0))
