"""A LeRobot checkpoint plays real LIBERO, and what it did becomes a video, a report and a data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.rollouts import RunConfig, open_run, run
from thinktwice.rollouts.dataset import DatasetOptions, convert
from thinktwice.rollouts.video import video_path

STEPS = 14


@pytest.mark.sim
@pytest.mark.timeout(1800)  # three simulators are built: to play, to film and to convert
def test_a_checkpoint_plays_libero_and_its_run_becomes_a_data_set(
    saved_checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    from lerobot.datasets import LeRobotDataset

    folder = tmp_path / "run"
    summary = run(
        RunConfig(
            out=folder,
            world="libero_object",
            tasks="0",
            episodes=1,
            video="all",
            world_options={"rendering": "fast", "height": 64, "width": 64, "max_steps": STEPS},
            agent_options={"policy": f"lerobot:{saved_checkpoint('act')}"},
        )
    )
    assert (summary.overall.judged, summary.overall.errors, summary.overall.steps) == (1, 0, STEPS)
    played = open_run(folder)
    (record,) = played.episodes
    assert played.agent["policy"]["undeclared"] == ["action", "state", "control_hz", "camera orientation"]
    # Filmed by an exact replay with the film's own cameras: another size than the agent's.
    assert video_path(played, record.key).exists()
    out = convert(folder, DatasetOptions(out=tmp_path / "data", only="all", video=False, size=96))
    dataset: Any = LeRobotDataset("thinktwice/data", root=out)
    trace = played.trace(record.key)
    assert trace.states is not None
    assert len(dataset) == STEPS
    assert dataset.fps == 20
    assert dataset[0]["task"] == "pick up the alphabet soup and place it in the basket"
    np.testing.assert_array_equal(dataset[0]["observation.state"].numpy(), trace.states[0])
    np.testing.assert_array_equal(np.stack([dataset[i]["action"].numpy() for i in range(STEPS)]), trace.actions)
    for camera in ("agentview", "wrist"):
        picture = dataset[STEPS - 1][f"observation.images.{camera}"].numpy()
        assert picture.shape == (3, 96, 96)
        assert picture.std() > 0.05
