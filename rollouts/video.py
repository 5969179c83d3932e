"""Videos of a run's episodes, filmed by replaying them.

An agent looks only when it decides, with the cameras that it was given.  A film needs every step, and its own cameras.
So nothing is filmed while an agent plays: what it sees, costs and how long it takes do not depend on ``--video``.  The
episode is replayed afterwards from its identity and actions, checked against its record.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import gymnasium as gym
import numpy as np

from ..envs import Array, DeclaresConventions, Observation, World, camera_names, world_entry
from ..envs.observations import IMAGES
from ..errors import ThinkTwiceError, UsageError
from .captions import HEIGHT, Caption, caption
from .config import Videos, as_options
from .files import write_atomically
from .film_paths import Plate, candidate_paths, write_paths
from .overlays import MapFilm, masked
from .records import EpisodeRecord, Run, open_run
from .replay import replay
from .traces import Trace, TracedDecision

VIDEOS = "videos"
SIZE = 256
"""Pixels of each side of a filmed picture."""
HOLD_SECONDS = 1.0
"""How long the last picture, with the outcome, stays."""
_CRF = "28"
"""x264's constant rate factor: 23 is its default, and 6 more is about half the size."""
FPS_WITHOUT_RATE = 4
"""Pictures per second for worlds whose steps take no time."""


def video_path(run: Run, key: str) -> Path:
    """Where the video of an episode lies, whether it exists or not."""
    return run.path / VIDEOS / f"{key}.mp4"


def frame_rate(control_hz: float | None) -> int:
    """Pictures per second of a world's videos: one for each action."""
    return round(control_hz) if control_hz else FPS_WITHOUT_RATE


def to_film(run: Run, which: Videos) -> list[EpisodeRecord]:
    """The episodes that shall have a video and have none yet.  An error has none: it would break again."""
    wanted = {"none": (), "failures": ("failure",), "all": ("success", "failure")}[which]
    return [r for r in run.episodes if r.status in wanted and not video_path(run, r.key).exists()]


def make_videos(
    folder: Path, which: Videos, *, workers: int = 1, progress: Callable[[str], None] | None = None
) -> list[str]:
    """Film the episodes of a run that have no video yet.

    Args:
        folder: the run.
        which: ``"none"``, ``"failures"`` or ``"all"``.
        workers: processes that film at once.
        progress: told the key of each episode that was filmed.

    Returns:
        What could not be filmed, one line each: a missing video is no reason to lose a run.

    Raises:
        RecordError: the run cannot be read.
    """
    run = open_run(folder)
    keys = [record.key for record in to_film(run, which)]
    if not keys:
        return []
    shards = [keys[start::workers] for start in range(min(workers, len(keys)))]
    # New interpreters, so that a simulator that takes its process along takes no run with it.
    with contextlib.ExitStack() as running:
        processes = [running.enter_context(_start(folder, shard)) for shard in shards]
        for process in processes:
            for line in cast("IO[str]", process.stdout):
                if progress is not None:
                    progress(line.strip())
    return [f"no video of {key}; see {_log(folder)}" for key in keys if not video_path(run, key).exists()]


def film_episodes(folder: Path, keys: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Film episodes one after another in this process, yielding the key of each and what went wrong, if anything did.

    Raises:
        RecordError: the run cannot be read.
        WorldError: the world cannot be made.
    """
    run = open_run(folder)
    status = {record.key: record.status for record in run.episodes}
    env = _filmed_world(run).make()
    try:
        for key in keys:
            try:
                film(env, run.trace(key), video_path(run, key), solved=status[key] == "success")
            except ThinkTwiceError as error:
                yield key, str(error)
            else:
                yield key, None
    finally:
        env.close()


def film(env: gym.Env[Any, Any], trace: Trace, path: Path, *, solved: bool) -> None:
    """Replay an episode and write its video: the cameras and the agent's map side by side under a line of text.

    The ways of candidates go into a file of their own beside it, where the world can tell them.

    Args:
        env: the episode's world with the cameras to film.
        trace: the episode.
        path: the MP4 file (H.264); the paths lie beside it, see `film_paths`.
        solved: its outcome, shown on the last picture.

    Raises:
        UsageError: the world shows no pictures.
        RecordError: the replay differs from the record, or the file cannot be written.
    """
    hz = cast("DeclaresConventions", env.unwrapped).conventions.control_hz
    fps = frame_rate(hz)
    layout = _Layout()
    pictures = _pictures(env, trace, layout, solved=solved, hold=round(HOLD_SECONDS * fps))
    write_atomically(path, lambda file: encode(pictures, file, fps=fps))
    paths = candidate_paths(env.unwrapped, trace, layout.plates)
    if paths:
        write_paths(path, layout.size, paths)


def encode(pictures: Iterator[Array], file: IO[bytes], *, fps: int) -> None:
    """Write pictures ``uint8[H, W, 3]`` of one even size as an H.264 MP4 that plays while it loads."""
    import av

    with av.open(file, mode="w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("h264", rate=fps, options={"crf": _CRF, "preset": "medium"})
        stream.pix_fmt = "yuv420p"
        stream.thread_count = 1
        for index, picture in enumerate(pictures):
            if index == 0:
                stream.height, stream.width = picture.shape[:2]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


@dataclasses.dataclass
class _Layout:
    """Where things lie in a film's pictures, known once the first is made.

    Attributes:
        size: width and height of the film.
        plates: by camera.
    """

    size: tuple[int, int] = (0, 0)
    plates: dict[str, Plate] = dataclasses.field(default_factory=dict[str, Plate])


def _pictures(env: gym.Env[Any, Any], trace: Trace, layout: _Layout, *, solved: bool, hold: int) -> Iterator[Array]:
    """The picture before each action, then the last one with the outcome."""
    deciding = [decision for decision in trace.decisions for _ in range(decision.executed)]
    text = Caption(
        task=trace.instruction or trace.episode.task,
        steps=len(trace.actions),
        modes=[decision.mode for decision in deciding],
    )
    maps = MapFilm(trace)
    last: Observation | None = None
    for frame in replay(env, trace):
        decision = deciding[frame.index]
        shown = _side_by_side(frame.observation, decision, maps, layout)
        captioned = caption(shown, text, step=frame.index, doubt=decision.doubt)
        layout.size = captioned.shape[1], captioned.shape[0]
        yield captioned
        last = frame.next_observation
    if last is not None:
        shown = _side_by_side(last, deciding[-1], maps, layout)
        yield from [caption(shown, text, step=len(trace.actions), solved=solved)] * max(1, hold)


def _side_by_side(observation: Observation, decision: TracedDecision, maps: MapFilm, layout: _Layout) -> Array:
    """The cameras and the map beside one another, ``uint8[H, W, 3]``, of one height; small pictures are enlarged."""
    named = {name: observation[f"{IMAGES}{name}"] for name in camera_names(observation)}
    if not named:
        raise UsageError(f"there is nothing to film: this world shows no images, only {sorted(observation)}.")
    images = [_enlarged(masked(image, decision)) for image in named.values()]
    height, left = max(image.shape[0] for image in images), 0
    for name, image in zip(named, images, strict=True):
        layout.plates[name] = Plate(left=left, top=HEIGHT, width=image.shape[1], height=image.shape[0])
        left += image.shape[1]
    plan = maps.picture(decision.index, height)
    padded = [np.pad(image, ((0, height - image.shape[0]), (0, 0), (0, 0))) for image in images]
    return np.hstack([*padded, *([] if plan is None else [plan])])


def _enlarged(image: Array) -> Array:
    """By a whole factor, so that a picture of a few pixels has room for its caption."""
    factor = max(1, SIZE // image.shape[0])
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def _filmed_world(run: Run) -> World:
    """The run's world with the cameras for filming, where it has such options."""
    name = str(run.config["world"])
    options_class, open_world = world_entry(name).load()
    fields = {field.name: field for field in dataclasses.fields(options_class)}
    pictures = {"height": SIZE, "width": SIZE, "rendering": "fast"}
    settings: dict[str, Any] = {key: value for key, value in pictures.items() if key in fields}
    if "cameras" in fields:
        settings["cameras"] = fields["cameras"].default  # the world's own, also where the agent saw none
    return open_world(name, as_options({**run.config["world_options"], **settings}, options_class, f"world {name}"))


def _log(folder: Path) -> Path:
    return folder / "logs" / "videos.log"


def _start(folder: Path, keys: Sequence[str]) -> subprocess.Popen[str]:
    _log(folder).parent.mkdir(exist_ok=True)
    program = f"from {__package__}.video import main; main()"
    with _log(folder).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", program, str(folder), *keys],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )


def main() -> None:
    """The process that `make_videos` starts: films the episodes that its arguments name, one line for each."""
    folder, *keys = sys.argv[1:]
    for key, problem in film_episodes(Path(folder), keys):
        (sys.stderr if problem else sys.stdout).write(f"{key}: {problem}\n" if problem else f"{key}\n")
        sys.stdout.flush()
