"""An episode as a Rerun recording: pictures of every step beside doubt, choices, actions and state.

A run stores no pictures, so the episode is replayed in its world and compared with its record, as for videos.

| entity | content |
| --- | --- |
| ``images/<camera>`` | the picture before each action, as JPEG |
| ``images/<camera>/candidates`` | where the candidates of a decision would lead, the chosen one in another colour |
| ``state``, ``action``, ``reward``, ``success`` | one value per entry; names from the world's conventions |
| ``agent/doubt``, ``agent/deliberates`` | of the decision that is being executed |
| ``agent/why`` | its sentence |
| ``task`` | the instruction |

The timelines are ``step``, the action's place, and ``time``, seconds of the world at its control rate.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..envs import Conventions, DeclaresConventions, Dim, DrawsPaths, Observation, camera_names
from ..envs.observations import IMAGES, STATE
from ..errors import MissingDependency, RecordError, UsageError, choices, install_line
from .fresh import open_with
from .records import Run, open_run
from .replay import Frame, replay
from .traces import TracedDecision
from .video import frame_rate

_APPLICATION = "thinktwice"
_JPEG_QUALITY = 85
_LISTED = 10
"""Episodes that an error names."""

_CHOSEN, _OTHERS = (255, 120, 0), (120, 160, 255)


def export_episode(folder: Path, episode: str, out: Path) -> Path:
    """Write a recording that the Rerun viewer opens.

    Args:
        folder: the run.
        episode: the episode's key, or its beginning where no other begins so.
        out: the file, which must not exist and ends with ``.rrd``.

    Raises:
        MissingDependency: rerun-sdk is not installed.
        UsageError: there is no such episode, it ended in an error, its world cannot be replayed or shows no numbers.
        RecordError: the file exists or cannot be written, or the replay differs from the record.
    """
    rerun = _rerun()
    run = open_run(folder)
    key = _find(run, episode)
    if out.suffix != ".rrd":
        raise UsageError(f"a Rerun recording's name ends with .rrd, {out} does not.")
    if out.exists():
        raise RecordError(f"{out} exists; a recording is never written over. Give another --out or remove it.")
    env = open_with(str(run.config["world"]), run.config["world_options"]).make()
    building = out.with_name(f".{out.name}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        stream = rerun.RecordingStream(_APPLICATION, recording_id=key)
        stream.save(building)
        try:
            _write(_Recorder(rerun, stream, env), run, key)
        finally:
            stream.disconnect()
        building.rename(out)
    except OSError as error:
        raise RecordError(f"{out} cannot be written: {error.strerror or error}.") from error
    finally:
        building.unlink(missing_ok=True)
        env.close()
    return out


def _find(run: Run, episode: str) -> str:
    found = [record for record in run.episodes if record.key.startswith(episode)]
    exact = [record for record in found if record.key == episode] or found
    if len(exact) != 1:
        keys = [record.key for record in found or run.episodes]
        what = f"{len(found)} episodes begin with" if found else "there is no episode"
        raise UsageError(f"{run.path}: {what} {episode!r}. {choices(episode, keys, limit=_LISTED)}")
    if exact[0].status == "error":
        raise UsageError(
            f"episode {exact[0].key} ended in an error: {exact[0].error}. It cannot be replayed to its end."
        )
    return exact[0].key


def _write(recorder: _Recorder, run: Run, key: str) -> None:
    trace = run.trace(key)
    recorder.begin(trace.instruction)
    decisions = iter(trace.decisions)
    left = 0
    frame: Frame | None = None
    for frame in replay(recorder.env, trace):
        recorder.at(frame.index)
        recorder.look(frame.observation)
        if left == 0:
            decision = next(decisions)
            left = decision.executed
            recorder.decide(decision, frame.observation)
        left -= 1
        recorder.act(frame)
    if frame is not None:
        recorder.at(frame.index + 1)
        recorder.look(frame.next_observation)


class _Recorder:
    """Writes one replayed episode into a stream.

    Args:
        rerun: the module.
        stream: writes to the file.
        env: the world.
    """

    def __init__(self, rerun: Any, stream: Any, env: Any) -> None:
        self.env = env
        self._rerun, self._stream = rerun, stream
        self._conventions: Conventions = cast("DeclaresConventions", env.unwrapped).conventions
        self._rate = frame_rate(self._conventions.control_hz)

    def begin(self, instruction: str) -> None:
        """What does not change: the instruction, and the names of the curves."""
        self._log("task", self._rerun.TextDocument(instruction), static=True)
        for entity, dims in (("state", self._conventions.state), ("action", self._conventions.action)):
            if dims:
                self._log(entity, self._rerun.SeriesLines(names=_names(dims)), static=True)

    def at(self, step: int) -> None:
        """What follows belongs to a place in the episode."""
        self._stream.set_time("step", sequence=step)
        self._stream.set_time("time", duration=step / self._rate)

    def look(self, observation: Observation) -> None:
        """The pictures and the state."""
        for camera in camera_names(observation):
            picture = self._rerun.Image(observation[f"{IMAGES}{camera}"]).compress(jpeg_quality=_JPEG_QUALITY)
            self._log(f"images/{camera}", picture)
        if STATE in observation:
            self._scalars("state", observation[STATE])

    def decide(self, decision: TracedDecision, observation: Observation) -> None:
        """What the agent thought when it decided."""
        if decision.doubt is not None:
            self._scalars("agent/doubt", [decision.doubt])
        self._scalars("agent/deliberates", [float(decision.mode == "deliberate")])
        self._log("agent/why", self._rerun.TextLog(decision.why or decision.mode))
        for camera in camera_names(observation):
            self._log(f"images/{camera}/candidates", self._rerun.Clear(recursive=False))
        self._candidates(decision, observation)

    def act(self, frame: Frame) -> None:
        """The action and what came of it."""
        action = np.asarray(frame.action)
        if action.dtype.kind in "fiub":
            self._scalars("action", np.atleast_1d(action))
        self._scalars("reward", [frame.reward])
        self._scalars("success", [float(frame.success)])

    def _candidates(self, decision: TracedDecision, observation: Observation) -> None:
        world = self.env.unwrapped
        if len(decision.candidates) < 2 or not isinstance(world, DrawsPaths) or STATE not in observation:
            return
        drawn: dict[str, list[tuple[Any, tuple[int, int, int]]]] = {}
        for index, chunk in enumerate(decision.candidates):
            colour = _CHOSEN if index == decision.chosen else _OTHERS
            for camera, path in world.chunk_paths(observation[STATE], np.asarray(chunk)).items():
                if np.isfinite(path).all():
                    height, width = observation[f"{IMAGES}{camera}"].shape[:2]
                    drawn.setdefault(camera, []).append((path * (width, height), colour))
        for camera, lines in drawn.items():
            strips, colours = zip(*lines, strict=True)
            self._log(f"images/{camera}/candidates", self._rerun.LineStrips2D(list(strips), colors=list(colours)))

    def _scalars(self, entity: str, values: Any) -> None:
        self._log(entity, self._rerun.Scalars(np.asarray(values, np.float64)))

    def _log(self, entity: str, content: Any, *, static: bool = False) -> None:
        self._stream.log(entity, content, static=static)


def _names(dims: Sequence[Dim]) -> list[str]:
    return [dim.name if dim.size == 1 else f"{dim.name}.{index}" for dim in dims for index in range(dim.size)]


def _rerun() -> Any:
    try:
        return importlib.import_module("rerun")
    except ImportError as error:
        raise MissingDependency("rerun-sdk", purpose="a Rerun recording", install=install_line("rerun")) from error
