"""Recorded data is labelled by Euler steps: this library's demonstrations, and LeRobotDatasets."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.agents.pairs.contract import EXPERT, LabelOptions
from thinktwice.agents.pairs.offline import OfflineOptions, Recordings, label_recorded
from thinktwice.agents.pairs.pairset import read_pairs
from thinktwice.agents.pairs.states import STATES
from thinktwice.agents.pairs.steps import FEW, MANY
from thinktwice.agents.policies.bundled import build_bundled
from thinktwice.agents.training.demonstrations import read_folder
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.rollouts.lerobot_export import export
from thinktwice.rollouts.pairs import PairOptions, label_folder

BOUNDS = -np.ones(7, np.float32), np.ones(7, np.float32)


def test_frames_with_a_whole_chunk_of_foreseeable_labels_are_labelled(frames: Path, tiny_flow: Path) -> None:
    policy = build_bundled(f"{tiny_flow}?device=cpu", gym.Env())
    options = OfflineOptions(policy="bundled", candidates=3, every=2, step_samples=2)
    recorded = Recordings(frames).open(0)
    states = label_recorded(recorded, policy, options, bounds=BOUNDS)
    assert states is not None
    # The label at frame 20 was not executed: a chunk of 16 that reaches beyond it, or beyond the end, is not used.
    assert states.decision.tolist() == [0, 2, 4, 22, 24]
    assert states.phases == ("early", "early", "early", "middle", "middle")
    assert {role: chunks.shape for role, chunks in states.extra.items()} == {
        MANY: (5, 2, 16, 7),
        FEW: (5, 2, 16, 7),
        EXPERT: (5, 1, 16, 7),
    }
    np.testing.assert_array_equal(states.extra[EXPERT][3, 0], recorded.actions[22:38])
    assert states.features.keys() == {"summary", "tokens", "language", "state"}
    assert not np.array_equal(states.extra[MANY], states.extra[FEW])


def test_a_lerobot_dataset_shows_the_same_episodes(frames: Path) -> None:
    (frames.parent / "provenance.json").write_text("{}")
    dataset = export(frames.parent)
    foreign, ours = Recordings(dataset), Recordings(frames)
    assert [episode.seed for episode in foreign.episodes] == [0, 1]
    theirs, own = foreign.open(1), ours.open(1)
    assert theirs.instruction == own.instruction
    np.testing.assert_allclose(theirs.actions, own.actions)
    assert theirs.usable[:3].tolist() == [40, 39, 38]
    seen, expected = theirs.look(7), own.look(7)
    assert seen.keys() == expected.keys()
    for key in ("images.agentview", "images.wrist", "state"):
        np.testing.assert_array_equal(seen[key], expected[key])


def test_evaluation_episodes_are_refused(evaluation_frames: Path, frames: Path) -> None:
    with pytest.raises(UsageError, match="fresh placements"):
        Recordings(evaluation_frames)
    stored = read_folder([evaluation_frames])[0].episode
    (frames.parent / "provenance.json").write_text("{}")
    dataset = export(frames.parent)
    (dataset / "provenance.json").write_text(json.dumps({"episodes": [stored.to_json(), stored.to_json()]}))
    with pytest.raises(UsageError, match="fresh placements"):
        Recordings(dataset)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither demonstrations"):
        Recordings(tmp_path)
    for wrong in ({"every": 0}, {"candidates": 0}):
        with pytest.raises(ConfigError, match="at least 1"):
            OfflineOptions(policy="bundled", **wrong)


@pytest.mark.slow
def test_a_folder_becomes_a_pair_set(frames: Path, tiny_flow: Path, tmp_path: Path) -> None:
    options = PairOptions(out=tmp_path / "pairs", size=24)
    offline = OfflineOptions(policy=f"bundled:{tiny_flow}?device=cpu", candidates=3, every=8)
    counts = label_folder("libero_object", frames, options, offline, LabelOptions())
    # Expert above many and few, many above few: 2 + 2 + 4 comparisons at each frame.
    assert counts.pairs == 8 * counts.states
    pairs = read_pairs([options.out])
    assert pairs.tasks == ["libero_object/0", "libero_object/1"]
    assert pairs.own.mean() == 0.5
    written = {path.name: path.stat().st_mtime_ns for path in (options.out / STATES).iterdir()}
    with pytest.raises(RecordError, match="--resume"):
        label_folder("libero_object", frames, options, offline, LabelOptions())
    again = PairOptions(out=options.out, size=24, resume=True)
    with pytest.raises(RecordError, match="other data or with other options"):
        label_folder("libero_object", frames, again, dataclasses.replace(offline, every=4), LabelOptions())
    assert label_folder("libero_object", frames, again, offline, LabelOptions()) == counts
    assert {path.name: path.stat().st_mtime_ns for path in (options.out / STATES).iterdir()} == written
