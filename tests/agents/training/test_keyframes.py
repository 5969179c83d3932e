from __future__ import annotations

import dataclasses

import numpy as np

from thinktwice.agents.training.batches import Augmentation, Frames
from thinktwice.agents.training.keyframes import UNIT, keyframes
from thinktwice.envs import Conventions


def test_each_frame_points_to_the_hand_where_the_gripper_next_changes(invented) -> None:
    demonstration = invented(0, length=10)
    label, state = demonstration.label.copy(), demonstration.state.copy()
    label[:, 6] = [-1, -1, -1, 1, 1, 1, 1, -1, -1, -1]
    state[:, :3] = np.arange(10, dtype=np.float32)[:, None] * [0.1, 0.0, -0.2]
    aims = keyframes(dataclasses.replace(demonstration, label=label, state=state))
    assert aims is not None
    frames_ahead = np.array([3, 2, 1, 4, 3, 2, 1, 2, 1, 0])
    assert np.allclose(aims, frames_ahead[:, None] * np.array([0.1, 0.0, -0.2]) / UNIT, atol=1e-5)


def test_without_a_change_the_end_is_the_aim(invented) -> None:
    demonstration = invented(0, length=6)
    label = np.full_like(demonstration.label, -1)
    aims = keyframes(dataclasses.replace(demonstration, label=label))
    assert aims is not None
    expected = (demonstration.state[-1, :3] - demonstration.state[:, :3]) / UNIT
    assert np.allclose(aims, expected, atol=1e-5)


def test_other_conventions_have_none_and_train_without(invented) -> None:
    bare = dataclasses.replace(invented(0), conventions=Conventions())
    assert keyframes(bare) is None
    batch = Frames([bare], chunk=4).batch(np.arange(3), seed=0, augmentation=Augmentation())
    assert "keyframe" not in batch
