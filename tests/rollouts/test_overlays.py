"""What is drawn into a film and over it: masks, maps, and the ways of candidates."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.maps import Layer, RecordedMap
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.rooms.masks import encode
from thinktwice.errors import RecordError
from thinktwice.rollouts import RunConfig, run
from thinktwice.rollouts.captions import HEIGHT
from thinktwice.rollouts.film_paths import paths_file, read_paths
from thinktwice.rollouts.floorplans import CALL, COLOURS, PATH, Atlas, draw
from thinktwice.rollouts.overlays import MapFilm, masked
from thinktwice.rollouts.records import Run, open_run
from thinktwice.rollouts.report import write_report
from thinktwice.rollouts.traces import Trace
from thinktwice.rollouts.video import SIZE, film, film_episodes, make_videos, video_path


@pytest.fixture
def run_copy(reference: Path, tmp_path: Path) -> Run:
    return open_run(Path(shutil.copytree(reference, tmp_path / "run")))


def a_map(x: float, rows: int, columns: int, pose: tuple[float, float, float] = (0.25, 0.25, 0.0)) -> RecordedMap:
    return RecordedMap(cells=np.full((rows, columns), Layer.FREE, np.uint8), x=x, y=0.0, cell=0.5, pose=pose)


def with_notes(trace: Trace, notes: Mapping[int, Mapping[str, Any]]) -> Trace:
    decisions = [dataclasses.replace(d, notes=notes.get(d.index, {})) for d in trace.decisions]
    return dataclasses.replace(trace, decisions=tuple(decisions))


def test_maps_of_growing_windows_share_one_window_north_up() -> None:
    small, large = a_map(0.0, 2, 2), a_map(-1.0, 4, 5)
    small.cells[0, 0] = Layer.GOAL  # the south-western corner
    atlas = Atlas([small, large])
    assert atlas.shape == (4, 5)
    assert atlas.layers(0)[3, 2] == Layer.GOAL
    assert (atlas.layers(0) == Layer.UNKNOWN).sum() == 16
    assert (atlas.layers(1) == Layer.FREE).all()
    assert atlas.place(0) == (2.5, 3.5, 0.0)


def test_a_drawn_map_shows_layers_way_and_calls() -> None:
    way = [(0.25 + 0.5 * step, 2.25, 0.0) for step in range(6)]
    atlas = Atlas([a_map(0.0, 8, 8, pose) for pose in way])
    picture = draw(atlas, 5, height=160, calls=[0])
    assert picture.shape == (160, 160, 3)
    row = 160 - int(2.25 / 4 * 160)
    assert tuple(picture[row, 30]) == PATH
    assert tuple(picture[row, 10]) == CALL
    assert tuple(picture[10, 10]) == COLOURS[Layer.FREE]
    assert not (draw(atlas, 5, height=160)[row, 10] == CALL).all()


def test_maps_that_cannot_share_a_window_are_refused() -> None:
    with pytest.raises(RecordError, match="different sizes"):
        Atlas([a_map(0.0, 2, 2), dataclasses.replace(a_map(0.0, 2, 2), cell=1.0)])
    with pytest.raises(RecordError, match="too many"):
        Atlas([a_map(0.0, 2, 2), a_map(1e6, 2, 2)])


@pytest.mark.slow
def test_a_film_shows_the_map_beside_the_camera(run_copy: Run, tmp_path: Path) -> None:
    import av

    trace = run_copy.trace(run_copy.episodes[0].key)
    first = a_map(0.0, 4, 4).notes() | {"call": {"frame": 0}}
    film(FakeEnv(), with_notes(trace, {0: first}), tmp_path / "x.mp4", solved=True)
    with av.open(tmp_path / "x.mp4") as container:
        picture = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert picture.shape == (SIZE + HEIGHT, 2 * SIZE, 3)
    assert np.abs(picture[HEIGHT + 20, SIZE + 20].astype(int) - COLOURS[Layer.FREE]).max() < 12


def test_a_decision_without_a_map_shows_the_last_one(run_copy: Run) -> None:
    trace = run_copy.trace(run_copy.episodes[0].key)
    shown = MapFilm(with_notes(trace, {1: a_map(0.0, 4, 4).notes()}))
    assert shown.picture(0, 64) is None
    assert shown.picture(1, 64) is not None
    np.testing.assert_array_equal(shown.picture(1, 64), shown.picture(len(trace.decisions) - 1, 64))
    assert MapFilm(with_notes(trace, {})).picture(0, 64) is None


def test_a_mask_colours_its_own_pixels_alone(run_copy: Run) -> None:
    trace = run_copy.trace(run_copy.episodes[0].key)
    image, mask = np.full((8, 8, 3), 100, np.uint8), np.zeros((8, 8), np.bool_)
    mask[2:4, 2:4] = True
    decision = with_notes(trace, {0: {"mask": encode(mask)}}).decisions[0]
    shown = masked(image, decision)
    assert (shown[mask] != 100).any(axis=-1).all()
    assert (shown[~mask] == 100).all()
    np.testing.assert_array_equal(masked(image[:4], decision), image[:4])


def test_the_ways_of_candidates_lie_beside_the_film(run_copy: Run) -> None:
    record = run_copy.episodes[0]
    list(film_episodes(run_copy.path, [record.key]))
    trace, video = run_copy.trace(record.key), video_path(run_copy, record.key)
    found = read_paths(video)
    assert found is not None
    size, paths = found
    assert size == (SIZE, SIZE + HEIGHT)
    chosen = [decision for decision in trace.decisions if len(decision.candidates) > 1]
    assert list(paths) == [str(decision.index) for decision in chosen]
    assert trace.states is not None
    for decision in chosen[:-1]:
        lines = paths[str(decision.index)]
        assert len(lines) == len(decision.candidates)
        (way,) = lines[decision.chosen or 0]
        # The chosen chunk was executed, so its way ends where the point was at the next decision.
        for at, state in ((way[0], trace.states[decision.index]), (way[-1], trace.states[decision.index + 1])):
            right, up = (state[:2] + 1) / 2 * 29 + 1.5
            assert at[0] == pytest.approx(right * 8, abs=0.1)
            assert at[1] == pytest.approx(HEIGHT + (32 - up) * 8, abs=0.1)
    paths_file(video).write_text("{")
    with pytest.raises(RecordError, match="damaged"):
        read_paths(video)
    paths_file(video).unlink()
    assert read_paths(video) is None


@pytest.mark.sim
def test_a_real_exploration_is_filmed_with_its_map(tmp_path: Path, config: Callable[..., RunConfig]) -> None:
    """The rooms are put back exactly, by another process, and the agent's own map stands beside what it saw."""
    folder = tmp_path / "run"
    world = {"size": 64, "difficulty": "easy", "split": "val"}
    settings = {"tasks": "0", "episodes": 1, "world_options": world, "agent_options": {"perception": "oracle"}}
    run(config(folder, world="rooms", agent="lesa", **settings))
    assert make_videos(folder, "all") == []
    played = open_run(folder)
    page = write_report(folder).read_text(encoding="utf-8")
    (holder,) = re.findall(r'<script type="application/json" class="details"[^>]*>(.*?)</script>', page)
    detail = json.loads(holder)
    assert detail["plan"]["width"] > 20
    assert all("place" in decision for decision in detail["decisions"])
    assert any(decision.get("call") for decision in detail["decisions"])
    import av

    with av.open(video_path(played, played.episodes[0].key)) as container:
        assert container.streams.video[0].width > SIZE + 60
