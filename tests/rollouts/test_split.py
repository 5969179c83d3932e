from __future__ import annotations

import pytest

from thinktwice.envs import EpisodeId
from thinktwice.envs.split import check_split, split_of
from thinktwice.errors import UsageError


def episode(init_state: int | None) -> EpisodeId:
    return EpisodeId(world="thinktwice/Libero-v0", task="libero_goal/3", init_state=init_state, seed=1)


@pytest.mark.parametrize(
    ("init_state", "split"),
    [
        (None, "training"),
        (0, "tuning"),
        (9, "tuning"),
        (10, "reporting"),
        (39, "reporting"),
        (40, "untouched"),
        (49, "untouched"),
    ],
)
def test_every_episode_belongs_to_one_split(init_state: int | None, split: str) -> None:
    assert split_of(episode(init_state)) == split
    check_split([episode(init_state)], split, purpose="this")
    for other in {"training", "tuning", "reporting", "untouched"} - {split}:
        with pytest.raises(UsageError, match=f"this may use .* kept for '{split}'"):
            check_split([episode(init_state)], other, purpose="this")


def test_one_foreign_episode_among_many_is_found() -> None:
    with pytest.raises(UsageError, match=r"libero_goal/3 with initial state 41"):
        check_split([episode(None)] * 5 + [episode(41)], "training", purpose="training")
