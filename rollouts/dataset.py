"""Convert a run to a LeRobotDataset: replay its episodes, render every frame, and let LeRobot write them.

A run stores actions and states, not pictures.  Each episode is replayed from its identity, checked against its
record, and written as a data set of one episode beside the target; LeRobot then aggregates them.  So a conversion that
is killed continues where it was, and the target folder appears only when it is whole.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import importlib.metadata
import json
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import gymnasium as gym
import numpy as np
import yaml
from gymnasium import spaces

from .. import __version__
from ..envs import Camera, Conventions, DeclaresConventions, Dim, World, lerobot_key, to_lerobot, world_entry
from ..envs.observations import DEPTH, IMAGES, STATE, TASK
from ..errors import ConfigError, ContractError, RecordError, UsageError, choices
from .config import as_options
from .files import write_atomically
from .records import EpisodeRecord, Run, open_run
from .replay import replay

PROVENANCE = "provenance.json"
DECLARATION = "thinktwice.yaml"
CODECS = ("libsvtav1", "h264", "hevc", "libaom-av1")
"""The software codecs that LeRobot 0.6.1 accepts (configs/video.py)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Options of a conversion."""

    out: Path
    """The folder of the data set; it must not exist."""
    only: Literal["successes", "all"] = "successes"
    """successes, or all judged episodes; episodes that ended in an error are never converted."""
    video: bool = True
    """Store images as videos; otherwise as PNG inside the Parquet files."""
    codec: str = "libsvtav1"
    """Video codec: libsvtav1, h264, hevc or libaom-av1."""
    repo_id: str | None = None
    """LeRobot's name of the data set; thinktwice/FOLDER when not given."""
    size: int | None = None
    """Pixels of each side of the images; the run's own when not given."""
    rendering: str | None = None
    """How pixels are made, such as faithful or fast; the run's own when not given."""
    cameras: tuple[str, ...] | None = None
    """Cameras to show; the run's own when not given."""


def convert(
    run_folder: Path, options: DatasetOptions, *, progress: Callable[[int, int, EpisodeRecord], None] | None = None
) -> Path:
    """Write the data set of a run.

    Args:
        run_folder: a run.
        options: what to write, and where.
        progress: told, after each episode: how many are done, of how many, and which one.

    Returns:
        The data set's folder.

    Raises:
        RecordError: the run cannot be read, the target exists, another conversion writes it, or a replayed episode
            differs from its record.
        UsageError: there is nothing to convert, or the world has no arrays for a data set.
        ConfigError: an option is wrong.
    """
    run = open_run(run_folder)
    if options.codec not in CODECS:
        raise ConfigError(f"there is no codec {options.codec!r} here. {choices(options.codec, CODECS)}")
    wanted = [r for r in run.episodes if r.status == "success" or (options.only == "all" and r.status == "failure")]
    if not wanted:
        raise UsageError(
            f"{run_folder} has no episodes to convert (only={options.only}, {len(run.episodes)} finished)."
        )
    world = _world(run, options)
    with _stage(run, options) as stage:
        env = world.make()
        try:
            features = dataset_features(env, video=options.video)
            conversion = _Conversion(run=run, options=options, env=env, features=features)
            folders: list[Path] = []
            for done, record in enumerate(wanted, start=1):
                folders.append(_episode(stage, record, conversion))
                if progress is not None:
                    progress(done, len(wanted), record)
            conventions = cast("DeclaresConventions", env.unwrapped).conventions
        finally:
            env.close()
        whole = _aggregate(stage, folders, options)
        _write_provenance(whole, run, wanted, world, conventions)
        try:
            whole.rename(options.out)
        except OSError as error:
            raise RecordError(f"{options.out} cannot be written: {error.strerror or error}.") from error
    return options.out


def dataset_features(env: gym.Env[Any, Any], *, video: bool) -> dict[str, dict[str, Any]]:
    """LeRobot's feature table of a world.

    Raises:
        UsageError: actions are not one vector of numbers, or nothing is observed that a data set can hold.
    """
    conventions = cast("DeclaresConventions", env.unwrapped).conventions
    actions, observed = env.action_space, cast("spaces.Dict", env.observation_space)
    if not isinstance(actions, spaces.Box) or len(actions.shape) != 1:
        raise UsageError(f"a LeRobotDataset holds actions that are vectors; this world's are {actions}.")
    features: dict[str, dict[str, Any]] = {}
    for key, space in observed.spaces.items():
        name, shape = lerobot_key(key), tuple(space.shape or ())
        if key.startswith(IMAGES):
            names: list[str] = ["height", "width", "channels"]
            features[str(name)] = {"dtype": "video" if video else "image", "shape": shape, "names": names}
        elif key == STATE:
            features[str(name)] = {"dtype": "float32", "shape": shape, "names": _names(conventions.state, shape[0])}
        elif key.startswith(DEPTH):
            raise UsageError(f"{key} cannot be stored: show the world without depth.")
    if not features:
        raise UsageError(f"this world observes nothing that a LeRobotDataset holds: {list(observed.spaces)}.")
    features["action"] = {
        "dtype": "float32",
        "shape": actions.shape,
        "names": _names(conventions.action, actions.shape[0]),
    }
    features["next.reward"] = {"dtype": "float32", "shape": (1,), "names": None}
    features["next.success"] = {"dtype": "bool", "shape": (1,), "names": None}
    features["next.done"] = {"dtype": "bool", "shape": (1,), "names": None}
    return features


def _names(dims: tuple[Dim, ...], size: int) -> list[str]:
    names = [dim.name if dim.size == 1 else f"{dim.name}.{i}" for dim in dims for i in range(dim.size)]
    if len(names) != size:
        raise ContractError(f"the world's conventions name {len(names)} entries of a vector of {size}.")
    return names


def _world(run: Run, options: DatasetOptions) -> World:
    """The run's world, with other pictures where that is asked for."""
    name = str(run.config["world"])
    options_class, open_world = world_entry(name).load()
    pictures: dict[str, Any] = {
        "height": options.size,
        "width": options.size,
        "rendering": options.rendering,
        "cameras": None if options.cameras is None else list(options.cameras),
    }
    asked = {key: value for key, value in pictures.items() if value is not None}
    given = {**run.config["world_options"], **asked}
    return open_world(name, as_options(given, options_class, f"world {name}"))


@contextmanager
def _stage(run: Run, options: DatasetOptions) -> Generator[Path]:
    """The folder of unfinished work beside the target, locked; it is removed when the conversion is done."""
    out = options.out
    if out.exists():
        raise RecordError(f"{out} exists; a data set is never written over. Give another --out or remove it.")
    stage = out.with_name(f".{out.name}.partial")
    try:
        stage.mkdir(parents=True, exist_ok=True)
        lock = (stage / "lock").open("ab")
    except OSError as error:
        raise RecordError(f"{stage} cannot be written: {error.strerror or error}.") from error
    with lock:
        try:
            # The kernel drops this lock when the process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RecordError(f"another process is writing {out}. Wait for it, or stop it.") from error
        asked = {"run": _digest(run), "options": dataclasses.asdict(options), "thinktwice": __version__}
        text = json.dumps(asked, default=str, sort_keys=True)
        request = stage / "conversion.json"
        if request.exists() and request.read_text() != text:
            raise RecordError(
                f"{stage} holds an unfinished conversion of another run or with other options. Finish that one with "
                "its own options, or remove the folder."
            )
        write_atomically(request, lambda file: file.write(text.encode()))
        yield stage
        shutil.rmtree(stage)


def _digest(run: Run) -> str:
    """Equal for equal runs with the same finished episodes."""
    lines = [json.dumps(run.manifest, sort_keys=True, default=str), *(record.to_line() for record in run.episodes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Conversion:
    """What every episode's data set is made from."""

    run: Run
    options: DatasetOptions
    env: gym.Env[Any, Any]
    features: dict[str, dict[str, Any]]


def _episode(stage: Path, record: EpisodeRecord, conversion: _Conversion) -> Path:
    """The data set of one episode, written now or by an earlier call."""
    from lerobot.configs.video import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    run, options, env, features = conversion.run, conversion.options, conversion.env, conversion.features
    done = stage / "episodes" / record.key
    if done.exists():
        return done
    building = stage / "building"
    shutil.rmtree(building, ignore_errors=True)
    dataset: Any = LeRobotDataset.create(
        repo_id=_repo_id(options),
        fps=_fps(cast("DeclaresConventions", env.unwrapped).conventions),
        features=features,
        root=building,
        robot_type=str(run.config["world"]),
        use_videos=options.video,
        video_backend="pyav",  # only for reading back; saying so keeps LeRobot from probing for torchcodec's FFmpeg
        rgb_encoder=RGBEncoderConfig(vcodec=options.codec) if options.video else None,
    )
    for frame in replay(env, run.trace(record.key)):
        named = to_lerobot(frame.observation)
        dataset.add_frame(
            {
                **{key: named[key] for key in features if key in named},
                "action": np.asarray(frame.action, np.float32),
                "next.reward": np.array([frame.reward], np.float32),
                "next.success": np.array([frame.success]),
                "next.done": np.array([frame.ended]),
                "task": str(named.get(TASK, record.episode.task)),
            }
        )
    # Not in parallel: LeRobot would fork this process, and a fork of one that owns a GL context hangs.
    dataset.save_episode(parallel_encoding=False)
    dataset.finalize()
    done.parent.mkdir(exist_ok=True)
    return building.rename(done)


def _aggregate(stage: Path, folders: list[Path], options: DatasetOptions) -> Path:
    from lerobot.datasets import LeRobotDatasetMetadata
    from lerobot.datasets.aggregate import aggregate_datasets

    whole = stage / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    repo_id = _repo_id(options)
    aggregate_datasets([repo_id] * len(folders), repo_id, roots=folders, aggr_root=whole)
    written: Any = LeRobotDatasetMetadata(repo_id, root=whole)
    frames = sum(LeRobotDatasetMetadata(repo_id, root=folder).total_frames for folder in folders)
    if (written.total_episodes, written.total_frames) != (len(folders), frames):
        raise RecordError(
            f"LeRobot aggregated {written.total_episodes} episodes and {written.total_frames} frames; there were "
            f"{len(folders)} and {frames}. Remove {stage} and convert again."
        )
    return whole


def _repo_id(options: DatasetOptions) -> str:
    return options.repo_id or f"thinktwice/{options.out.name}"


def _fps(conventions: Conventions) -> int:
    hz = conventions.control_hz
    if hz is None or hz != int(hz):
        raise UsageError(
            f"a LeRobotDataset needs a whole number of frames per second; this world's control rate is {hz}."
        )
    return int(hz)


def _write_provenance(
    whole: Path, run: Run, records: list[EpisodeRecord], world: World, conventions: Conventions
) -> None:
    """Where every episode comes from, and the declaration for a checkpoint that is trained on them."""
    manifest: Mapping[str, Any] = {key: value for key, value in run.manifest.items() if key != "episodes"}
    episodes = [
        {
            "episode_index": index,
            "key": record.key,
            **record.episode.to_json(),
            "status": record.status,
            "steps": record.steps,
            "trajectory": record.trajectory,
        }
        for index, record in enumerate(records)
    ]
    provenance = {
        "thinktwice": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": manifest,
        "replayed": {
            "world": world.describe(),
            "versions": {name: importlib.metadata.version(name) for name in ("lerobot", *run.manifest["versions"])},
            "conventions": conventions.to_json(),
        },
        "episodes": episodes,
    }
    text = json.dumps(provenance, indent=2, default=str) + "\n"
    write_atomically(whole / PROVENANCE, lambda file: file.write(text.encode()))
    declared = {key: value for key, value in conventions.to_json().items() if key in ("action", "state", "control_hz")}
    declaration = {
        "cameras": {camera.name: _source(camera) for camera in conventions.cameras},
        "conventions": json.loads(json.dumps(declared)),
    }
    note = "# Put this file beside a checkpoint trained on this data set: lerobot:PATH then knows what it assumes.\n"
    said = note + yaml.safe_dump(declaration, sort_keys=False)
    write_atomically(whole / DECLARATION, lambda file: file.write(said.encode()))


def _source(camera: Camera) -> dict[str, Any]:
    return {"camera": camera.name, "mirrored": camera.mirrored, "upright": camera.upright}
