"""Videos of recorded episodes, read back from the MP4."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.envs import Array
from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import RecordError, UsageError
from thinktwice.rollouts.captions import HEIGHT, Caption, caption
from thinktwice.rollouts.records import open_run
from thinktwice.rollouts.video import HOLD_SECONDS, SIZE, film, film_episodes, make_videos, to_film, video_path

pytestmark = pytest.mark.slow


def pictures_of(path: Path) -> list[Array]:
    import av

    with av.open(path) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.average_rate == 20
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]


@pytest.fixture
def run_copy(reference: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference, tmp_path / "run"))


def test_a_video_shows_every_step_and_then_the_outcome(run_copy: Path) -> None:
    run = open_run(run_copy)
    record = next(record for record in run.episodes if record.status == "success")
    assert list(film_episodes(run_copy, [record.key])) == [(record.key, None)]
    pictures = pictures_of(video_path(run, record.key))
    assert len(pictures) == record.steps + HOLD_SECONDS * 20
    assert pictures[0].shape == (SIZE + HEIGHT, SIZE, 3)
    env = FakeEnv()
    first, _ = env.reset(seed=record.episode.seed, options=record.episode.options())
    shown = pictures[0][HEIGHT:].reshape(32, SIZE // 32, 32, SIZE // 32, 3).mean(axis=(1, 3))
    assert np.abs(shown - first["images.front"]).mean() < 8
    assert not list((run_copy / "videos").glob(".partial*"))


@pytest.mark.slow
def test_the_switch_chooses_by_outcome_and_never_films_errors_or_twice(
    tmp_path: Path, config: Callable[..., Any]
) -> None:
    from thinktwice.rollouts import run as play

    folder = tmp_path / "run"
    play(config(folder, tasks="0", episodes=3, world_options={"crash": "0:0"}))
    run = open_run(folder)
    by_status = {
        status: {r.key for r in run.episodes if r.status == status} for status in ("success", "failure", "error")
    }
    assert len(by_status["error"]) == 1
    assert to_film(run, "none") == []
    assert {record.key for record in to_film(run, "failures")} == by_status["failure"]
    assert {record.key for record in to_film(run, "all")} == by_status["success"] | by_status["failure"]
    filmed: list[str] = []
    assert make_videos(folder, "all", workers=2, progress=filmed.append) == []
    assert set(filmed) == by_status["success"] | by_status["failure"]
    assert make_videos(folder, "all") == []
    assert to_film(run, "all") == []


@pytest.mark.slow
def test_a_run_that_chooses_its_own_number_of_workers_is_filmed_too(tmp_path: Path, config: Callable[..., Any]) -> None:
    from thinktwice.rollouts import run as play

    folder = tmp_path / "run"
    play(config(folder, tasks="0", episodes=1, workers=0, video="all"))
    (record,) = open_run(folder).episodes
    assert video_path(open_run(folder), record.key).exists()


def test_filming_changes_no_record(run_copy: Path) -> None:
    before = {str(path): path.read_bytes() for path in run_copy.rglob("*") if path.is_file()}
    key = open_run(run_copy).episodes[0].key
    list(film_episodes(run_copy, [key]))
    after = {str(path): path.read_bytes() for path in run_copy.rglob("*") if path.is_file()}
    assert {Path(path).name for path in set(after) - set(before)} == {f"{key}.mp4", f"{key}.json"}
    assert {name: content for name, content in after.items() if name in before} == before


@pytest.mark.slow
def test_what_cannot_be_filmed_is_said_and_costs_only_its_own_video(run_copy: Path) -> None:
    run = open_run(run_copy)
    broken, sound = run.episodes[0].key, run.episodes[1].key
    (run_copy / "traces" / f"{broken}.npz").write_bytes(b"")
    problems = dict(film_episodes(run_copy, [broken, sound]))
    assert "is damaged" in str(problems[broken])
    assert problems[sound] is None
    (said,) = make_videos(run_copy, "all", workers=2)
    assert said.startswith(f"no video of {broken}")
    assert "is damaged" in (run_copy / "logs" / "videos.log").read_text()


def test_no_file_is_left_when_the_replay_differs(run_copy: Path, tmp_path: Path) -> None:
    run = open_run(run_copy)
    trace = run.trace(run.episodes[0].key)
    assert trace.states is not None
    other = dataclasses.replace(trace, states=trace.states + 1)
    with pytest.raises(RecordError, match="differs"):
        film(FakeEnv(), other, tmp_path / "x.mp4", solved=True)
    assert list(tmp_path.glob("*.mp4")) == []


class _RealArm(gym.Env[Any, Any]):
    """A world that cannot be put back, such as a robot."""

    conventions = FakeEnv().conventions
    observation_space, action_space = FakeEnv().observation_space, FakeEnv().action_space
    moved = False

    def reset(self, **_: Any) -> Any:
        self.moved = True


def test_a_world_that_cannot_be_put_back_is_never_replayed(reference: Path, tmp_path: Path) -> None:
    run, arm = open_run(reference), _RealArm()
    with pytest.raises(UsageError, match="cannot be replayed"):
        film(arm, run.trace(run.episodes[0].key), tmp_path / "x.mp4", solved=True)
    assert not arm.moved


TASKS = ["short", "a very long instruction " * 20, "", "ligne\nbrisée – ünïcode <b>&amp;</b>"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("width", [64, 255, 512])
def test_any_task_fits_over_any_picture(task: str, width: int) -> None:
    picture = np.full((101, width, 3), 200, np.uint8)
    text = Caption(task=task, steps=3, modes=["reflex", "deliberate", "reflex"])
    made = caption(picture, text, step=1, doubt=0.5)
    assert made.dtype == np.uint8
    assert made.shape[0] % 2 == made.shape[1] % 2 == 0
    np.testing.assert_array_equal(made[HEIGHT : HEIGHT + 101, :width], picture)


def test_the_strip_shows_time_and_deliberation() -> None:
    text = Caption(task="t", steps=4, modes=["reflex", "deliberate", "reflex", "reflex"])
    strip = caption(np.zeros((50, 400, 3), np.uint8), text, step=2)[HEIGHT - 1]
    reflex, deliberate, ahead = strip[50], strip[150], strip[300]
    assert len({tuple(colour) for colour in (reflex, deliberate, ahead)}) == 3
    np.testing.assert_array_equal(strip[250], ahead)
