"""The RVAS data set: written, interrupted, read and learned from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from thinktwice.agents.lesa.cloning import FEATURES, ClonedReasoner, agreement_with, choices_of, features, fit
from thinktwice.agents.lesa.rvas import read_rvas, write_episode
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.registration import ROOMS
from thinktwice.envs.rooms.queries import Query
from thinktwice.errors import RecordError, UsageError, WeightsError
from thinktwice.perception.reasoner import Option
from thinktwice.scripts.rvas_data import RvasOptions, main, plan

MUG = Query(kinds=("mug",))


def choice(good: float, bad: float) -> tuple[Query, list[Option], int]:
    """A choice whose right answer is the nearer of two frontiers."""
    options = [Option(name="far", distance=bad, size=1), Option(name="near", distance=good, size=1)]
    return MUG, options, 1


@pytest.mark.slow
def test_cloning_learns_what_the_teacher_prefers() -> None:
    rng = np.random.default_rng(0)
    choices = [choice(float(near), float(near + gap)) for near, gap in rng.uniform(0.5, 4, (60, 2))]
    reasoner = ClonedReasoner(fit(choices))
    assert agreement_with(reasoner, choices) == 1.0
    assert agreement_with(ClonedReasoner([-w for w in fit(choices)]), choices) == 0.0
    assert reasoner.rank("", MUG, choices[0][1], None).cost.vlm_calls == 0


def test_features_are_as_many_as_named_and_weights_are_checked() -> None:
    assert features(MUG, Option(name="x", distance=1)).shape == (len(FEATURES),)
    with pytest.raises(WeightsError, match="finite"):
        ClonedReasoner([1.0])
    with pytest.raises(RecordError, match="no choice"):
        fit([])


def test_the_plan_repeats_and_its_splits_share_no_house() -> None:
    options = RvasOptions(out=Path("unused"), houses=50)
    first, second = plan(options), plan(options)
    assert first == second
    assert {split for split, _ in first} == {"train", "val", "test"}
    assert all(episode.task.startswith(split) for split, episode in first)
    assert len({(episode.task.split("/")[0], episode.init_state) for _, episode in first}) == 50


def test_too_few_houses_other_options_and_missing_splits_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 10"):
        main(["--out", str(tmp_path), "--houses", "2"])
    (tmp_path / "dataset.json").write_text(json.dumps({"houses": 77}))
    with pytest.raises(UsageError, match="other options"):
        main(["--out", str(tmp_path), "--houses", "20"])
    with pytest.raises(RecordError, match="no split"):
        list(read_rvas(tmp_path, "train"))
    (tmp_path / "train" / "000000").mkdir(parents=True)
    (tmp_path / "train" / "000000" / "episode.json").write_text("{")
    with pytest.raises(RecordError, match="damaged"):
        list(read_rvas(tmp_path, "train"))


@pytest.mark.sim
def test_an_episode_is_written_once_and_read_back(tmp_path: Path, lesa_rooms: MultiStep) -> None:
    episode = EpisodeId(world=ROOMS, task="val/easy", init_state=4, seed=1)
    folder = tmp_path / "val" / "000004"
    assert write_episode(lesa_rooms, episode, folder)
    assert not write_episode(lesa_rooms, episode, folder)
    read = list(read_rvas(tmp_path, "val"))
    assert len(read) == 1
    entry = read[0]
    assert entry.record["metrics"]["success"] == 1.0
    assert entry.actions[-1] == "stop"
    assert entry.frame(0).shape == (128, 128, 3)
    assert not entry.mask(0).any()
    assert entry.mask(len(entry.actions) - 1).any()
    assert any("is the one that was meant" in step["reasoning"] for step in entry.record["steps"])
    with pytest.raises(RecordError, match="no frame"):
        entry.frame(10**5)
    assert all(0 <= chosen < len(options) for _, options, chosen in choices_of(read))
