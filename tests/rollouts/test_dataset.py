"""A run, converted to a LeRobotDataset and loaded back by LeRobot itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.agents.policies.lerobot_spec import read_declaration
from thinktwice.envs.fakes import FakeEnv, FakeOptions
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.rollouts.dataset import DatasetOptions, convert, dataset_features
from thinktwice.rollouts.records import Run, open_run
from thinktwice.rollouts.replay import replay
from thinktwice.scripts import dataset as command

pytestmark = [
    pytest.mark.slow,
    # LeRobot's own dependencies: datasets 4 opens pickled caches, torch warns about arrays that numpy owns.
    pytest.mark.filterwarnings("ignore:.*not writable.*:UserWarning"),
]


@pytest.fixture(scope="module")
def converted(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every judged episode of the reference run, as images: nothing is lost."""
    out = tmp_path_factory.mktemp("converted") / "data"
    return convert(reference, DatasetOptions(out=out, only="all", video=False))


def load(folder: Path) -> Any:
    from lerobot.datasets import LeRobotDataset

    return LeRobotDataset(f"thinktwice/{folder.name}", root=folder, video_backend="pyav")


def frames_of(run: Run, key: str) -> list[Any]:
    return list(replay(FakeEnv(FakeOptions()), run.trace(key)))


def test_lerobot_loads_back_what_was_seen_and_done(converted: Path, reference: Path) -> None:
    run, dataset = open_run(reference), load(converted)
    assert dataset.num_episodes == len(run.episodes)
    assert dataset.fps == 20
    row = 0
    for index, record in enumerate(run.episodes):
        trace = run.trace(record.key)
        frames = frames_of(run, record.key)
        assert len(frames) == record.steps == dataset.meta.episodes[index]["length"]
        for step, frame in enumerate(frames):
            item = dataset[row]
            assert item["task"] == frame.observation["task"]
            assert item["episode_index"] == index
            assert item["frame_index"] == step
            assert item["timestamp"] == pytest.approx(step / 20)
            np.testing.assert_array_equal(item["observation.state"].numpy(), frame.observation["state"])
            np.testing.assert_array_equal(item["action"].numpy(), trace.actions[step])
            image = item["observation.images.front"].numpy().transpose(1, 2, 0)
            np.testing.assert_allclose(image * 255, frame.observation["images.front"], atol=1e-4)
            assert item["next.reward"] == trace.rewards[step]
            assert item["next.success"] == trace.success[step]
            assert item["next.done"] == (step == record.steps - 1)
            row += 1
    assert row == len(dataset) > 0


def test_statistics_are_those_of_the_data(converted: Path, reference: Path) -> None:
    run = open_run(reference)
    actions = np.concatenate([run.trace(record.key).actions for record in run.episodes])
    statistics = load(converted).meta.stats["action"]
    np.testing.assert_allclose(statistics["mean"], actions.mean(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(statistics["std"], actions.std(axis=0), rtol=1e-4)
    np.testing.assert_allclose(statistics["min"], actions.min(axis=0))
    np.testing.assert_allclose(statistics["max"], actions.max(axis=0))


def test_a_torch_loader_makes_training_batches(converted: Path) -> None:
    import torch
    from lerobot.datasets import LeRobotDataset

    dataset = LeRobotDataset(
        "thinktwice/data", root=converted, delta_timestamps={"action": [step / 20 for step in range(4)]}
    )
    batch = next(iter(torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=False)))
    assert batch["action"].shape == (8, 4, 2)
    assert batch["observation.images.front"].shape == (8, 3, 32, 32)
    assert batch["observation.state"].dtype == torch.float32
    assert len(batch["task"]) == 8


def test_video_frames_show_the_same_scene(reference: Path, tmp_path: Path) -> None:
    run = open_run(reference)
    out = convert(reference, DatasetOptions(out=tmp_path / "videos", codec="h264"))
    dataset = load(out)
    successes = [record for record in run.episodes if record.status == "success"]
    assert dataset.num_episodes == len(successes) > 0
    assert len(dataset) == sum(record.steps for record in successes)
    assert dataset.meta.features["observation.images.front"]["dtype"] == "video"
    seen = frames_of(run, successes[-1].key)[0].observation["images.front"]
    first_of_last = len(dataset) - successes[-1].steps
    shown = dataset[first_of_last]["observation.images.front"].numpy().transpose(1, 2, 0) * 255
    assert np.abs(shown - seen).mean() < 8


def test_the_provenance_names_every_episode(converted: Path, reference: Path) -> None:
    run = open_run(reference)
    provenance = json.loads((converted / "provenance.json").read_text())
    assert [episode["trajectory"] for episode in provenance["episodes"]] == [r.trajectory for r in run.episodes]
    assert provenance["episodes"][0]["seed"] == run.episodes[0].episode.seed
    assert provenance["run"]["config"] == run.config
    assert {"lerobot", "numpy"} <= set(provenance["replayed"]["versions"])


def test_the_declaration_is_what_the_lerobot_policy_reads(converted: Path) -> None:
    declared = read_declaration(converted, {})
    world = FakeEnv().conventions
    assert declared.conventions is not None
    assert (declared.conventions.action, declared.conventions.state) == (world.action, world.state)
    assert declared.cameras["front"].camera == "front"


def test_a_replay_that_differs_is_an_error_that_says_where(reference: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(reference, tmp_path / "run"))
    key = open_run(folder).episodes[0].key
    path = folder / "traces" / f"{key}.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["actions"][5] += np.float32(0.25)
    np.savez(path, **arrays)
    with pytest.raises(RecordError, match=rf"replaying episode {key} differs .* after 8 actions .* state\[0\] is"):
        convert(folder, DatasetOptions(out=tmp_path / "data", only="all", video=False))
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "value", "said"), [("rewards", 1.0, "the reward is 0.0"), ("success", True, "the success is False")]
)
def test_rewards_and_success_are_compared_too(
    name: str, value: Any, said: str, reference: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(reference, tmp_path / "run"))
    key = open_run(folder).episodes[0].key
    path = folder / "traces" / f"{key}.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name][1] = value
    np.savez(path, **arrays)
    with pytest.raises(RecordError, match=f"after action 1 of .* {said}"):
        list(replay(FakeEnv(), open_run(folder).trace(key)))


def test_a_stopped_conversion_continues_and_is_whole_only_at_the_end(reference: Path, tmp_path: Path) -> None:
    options = DatasetOptions(out=tmp_path / "data", only="all", video=False)
    seen: list[int] = []

    def stop_after_two(done: int, total: int, record: Any) -> None:
        seen.append(done)
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(reference, options, progress=stop_after_two)
    assert not options.out.exists()
    stage = tmp_path / ".data.partial"
    kept = {path.name: path.stat().st_ino for path in (stage / "episodes").iterdir()}
    assert len(kept) == 2
    (stage / "building").mkdir()  # what a kill in the middle of an episode leaves
    (stage / "building" / "half.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordError, match="unfinished conversion of another run or with other options"):
        convert(reference, DatasetOptions(out=options.out, only="successes", video=False))
    convert(reference, options, progress=lambda *_: seen.append(0))
    assert not stage.exists()
    assert len(load(options.out)) == sum(record.steps for record in open_run(reference).episodes)


def test_a_data_set_is_never_written_over(converted: Path, reference: Path) -> None:
    with pytest.raises(RecordError, match="exists"):
        convert(reference, DatasetOptions(out=converted))


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"codec": "h265"}, ConfigError, "Did you mean 'h264'"),
        ({"rendering": "fast"}, ConfigError, "no option 'rendering'"),
        ({"size": 64}, ConfigError, "no option 'height'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    settings: dict[str, Any], kind: type[Exception], message: str, reference: Path, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        convert(reference, DatasetOptions(out=tmp_path / "data", **settings))


def test_errors_are_never_converted(tmp_path: Path, config: Callable[..., Any]) -> None:
    from thinktwice.rollouts import run

    broken = config(tmp_path / "run", tasks="0", episodes=1, world_options={"crash": "0:0"})
    run(broken)
    with pytest.raises(UsageError, match="no episodes to convert"):
        convert(tmp_path / "run", DatasetOptions(out=tmp_path / "data", only="all"))


class _Talking(gym.Env[Any, Any]):
    conventions = FakeEnv().conventions
    action_space = gym.spaces.Text(10)
    observation_space = gym.spaces.Dict({"text": gym.spaces.Text(10)})


def test_a_world_without_arrays_is_refused() -> None:
    with pytest.raises(UsageError, match="actions that are vectors"):
        dataset_features(_Talking(), video=False)


def test_the_command_says_how_to_load(reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    assert command.main([str(reference), "--out", str(out), "--no-video"]) == 0
    printed = capsys.readouterr().out
    assert f"LeRobotDataset('thinktwice/data', root='{out}')" in printed
    assert "success" in printed
