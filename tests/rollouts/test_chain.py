"""The whole chain in small: an expert's demonstrations, a policy trained on them, and a rollout of that policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thinktwice.agents.demonstrator import DemonstratorOptions
from thinktwice.agents.reflex import ReflexOptions, build_reflex
from thinktwice.agents.training.config import TrainConfig
from thinktwice.agents.training.demonstrations import read_folder
from thinktwice.agents.training.loop import read_metrics, train
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.errors import ConventionError
from thinktwice.rollouts import RunConfig, run
from thinktwice.rollouts.demos import FRAMES, DemoOptions, collect
from thinktwice.rollouts.records import open_run

pytestmark = [pytest.mark.sim, pytest.mark.timeout(1800)]  # three simulators are built, one after another

PIXELS = 48
PICTURES = {"height": PIXELS, "width": PIXELS, "rendering": "fast"}


def test_demonstrate_train_and_roll_out(tmp_path: Path) -> None:
    demos = DemoOptions(out=tmp_path / "demos", tasks="0", episodes=2, size=PIXELS)
    collected = collect("libero_object", demos, DemonstratorOptions(perturb=0.2))
    assert collected.errors == 0
    demonstrations = read_folder([demos.out / FRAMES])
    assert len(demonstrations) == collected.kept == 2
    for demonstration in demonstrations:
        assert demonstration.episode.init_state is None
        assert {camera.rendering for camera in demonstration.conventions.cameras} == {"fast"}
        assert {frames.shape[1:] for frames in demonstration.images.values()} == {(PIXELS, PIXELS, 3)}
        assert np.abs(demonstration.label).max() <= 1
        assert not np.array_equal(demonstration.images["agentview"][0], demonstration.images["agentview"][-1])

    small = {"channels": 16, "blocks": 1, "keypoints": 8, "head_width": 64, "head_blocks": 2, "noise_samples": 2}
    training = TrainConfig(
        data=(demos.out / FRAMES,),
        out=tmp_path / "training",
        steps=60,
        batch=16,
        check_every=20,
        log_every=20,
        warmup=10,
        device="cpu",
        **small,
    )
    policy = train(training)
    losses = [line.loss for line in read_metrics(training.out)]
    assert losses[-1] < losses[0]

    # A tuning state, and a few decisions: so little training cannot be expected to succeed.
    config = RunConfig(
        out=tmp_path / "run",
        world="libero_object",
        world_options=PICTURES | {"max_steps": 24},
        tasks="0",
        episodes=1,
        agent_options={"policy": f"bundled:{policy}", "execute": 8},
    )
    summary = run(config)
    assert summary.overall.errors == 0
    played = open_run(config.out)
    assert played.episodes[0].episode.init_state == 0
    assert played.episodes[0].cost.counts()["denoising_steps"] == 30
    assert played.agent["policy"]["sha256"]

    faithful = LiberoEnv("libero_object/0", height=PIXELS, width=PIXELS, rendering="faithful")
    with pytest.raises(ConventionError, match="rendering faithful, the policy expects fast"):
        build_reflex(ReflexOptions(policy=f"bundled:{policy}"), faithful)
