"""VLA-ATTC end to end in LIBERO, with a checkpoint that is good at nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.attc import AttcOptions, build_attc
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.registration import LIBERO
from thinktwice.rollouts import Step, rollout

pytestmark = pytest.mark.sim

EPISODE = EpisodeId(world=LIBERO, task="libero_object/0", init_state=3, seed=5)


@pytest.fixture(scope="module")
def libero() -> Iterator[MultiStep]:
    """Episodes of 24 steps: three decisions."""
    env = MultiStep(LiberoEnv(task=EPISODE.task, height=24, width=24, rendering="fast", max_steps=24))
    yield env
    env.close()


def play(libero: MultiStep, checkpoint: Path, **changes: Any) -> list[Step]:
    given: dict[str, Any] = {"policy": f"bundled:{checkpoint}?device=cpu&steps=2", "execute": 8, "candidates": 6}
    return list(rollout(libero, build_attc(AttcOptions(**(given | changes)), libero), EPISODE))


def states(steps: list[Step]) -> np.ndarray:
    return np.stack([step.next_observation["state"] for step in steps])


def test_an_episode_with_a_gate_and_a_critic_repeats(libero: MultiStep, checkpoint: Path) -> None:
    first = play(libero, checkpoint, gate="dtw", threshold=0.0, critic="fake")
    again = play(libero, checkpoint, gate="dtw", threshold=0.0, critic="fake")
    assert [step.decision.mode for step in first] == ["deliberate"] * 3
    assert [step.decision.chosen for step in first] == [step.decision.chosen for step in again]
    np.testing.assert_array_equal(states(first), states(again))
    assert [step.decision.cost.counts() for step in first] == [step.decision.cost.counts() for step in again]
    assert first[0].decision.cost.counts() == {
        **first[0].decision.cost.counts(),
        "prefix_passes": 1,
        "candidates": 6,
        "denoising_steps": 12,
        "comparisons": 15,
    }


def test_the_oracle_leaves_no_trace_in_the_simulator(libero: MultiStep, checkpoint: Path) -> None:
    """It plays the expert ahead and takes it back: executing what it chose, without it, ends in the same states."""
    chosen = play(libero, checkpoint, gate="always", selector="oracle")
    for step in chosen:
        away = step.decision.notes["away"]
        assert away.shape == (6,)
        assert step.decision.chosen == int(away.argmin())
    libero.reset(seed=EPISODE.seed, options=EPISODE.options())
    replayed = [libero.step(step.decision.chunk)[0]["state"] for step in chosen]
    np.testing.assert_array_equal(np.stack(replayed), states(chosen))
