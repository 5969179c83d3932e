"""What ``lerobot-train`` does with the data set and the plug-in, without its command line (which needs accelerate)."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lerobot.configs.parser import load_plugin
from lerobot.datasets import LeRobotDataset
from lerobot.policies.factory import make_policy, make_policy_config, make_pre_post_processors

from thinktwice.rollouts.demos import FRAMES, PROVENANCE
from thinktwice.rollouts.lerobot_export import export


@pytest.fixture
def dataset_root(invented, save, tmp_path: Path) -> Path:
    frames = tmp_path / "demos" / FRAMES
    frames.mkdir(parents=True)
    for seed in range(2):
        save(frames, invented(seed, length=12))
    (tmp_path / "demos" / PROVENANCE).write_text("{}")
    return export(tmp_path / "demos")


def test_lerobot_trains_the_plugin_on_an_exported_data_set(dataset_root: Path) -> None:
    load_plugin("thinktwice.agents.policies.flow")
    config = make_policy_config("thinktwice_flow", device="cpu", channels=8, blocks=1, keypoints=4, head_width=32)
    steps = [index / 20 for index in config.action_delta_indices]
    dataset = LeRobotDataset("thinktwice/demos", root=dataset_root, delta_timestamps={"action": steps})
    policy = make_policy(config, ds_meta=dataset.meta)
    preprocessor, _ = make_pre_post_processors(policy.config, dataset_stats=dataset.meta.stats)
    # LeRobot makes features of everything that begins like an observation or an action.
    assert set(policy.config.input_features) == {
        "observation.images.agentview",
        "observation.images.wrist",
        "observation.state",
    }
    assert set(policy.config.output_features) == {"action"}
    optimizer = policy.config.get_optimizer_preset().build(policy.get_optim_params())
    losses = []
    for batch in torch.utils.data.DataLoader(dataset, batch_size=8):
        loss, told = policy.forward(preprocessor(batch))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(told["loss"])
    assert len(losses) == 3
    assert all(0 < loss < 10 for loss in losses)
