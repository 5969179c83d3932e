"""In LIBERO: pairs of a flow policy's candidates, a critic trained on them, and branches that leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Proposal
from thinktwice.agents.catalog import build_policy
from thinktwice.agents.pairs.branch import OUTCOMES
from thinktwice.agents.pairs.collector import CollectorOptions, build_collector
from thinktwice.agents.pairs.contract import LabelOptions, Moment
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.simulation import Simulation
from thinktwice.agents.pairs.sources import SourceOptions, build_source
from thinktwice.agents.pairs.states import read_all
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.agents.pairs.training.loop import CRITIC, train_critic
from thinktwice.cost import Cost
from thinktwice.envs import MultiStep
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.rollouts.pairs import PairOptions, collect_pairs

pytestmark = pytest.mark.sim


class Restless:
    """A policy that looks at nothing: random chunks."""

    name, conventions = "restless", None

    def propose(self, observation: Any, n: int, *, seed: int) -> Proposal:
        drawn = [np.random.default_rng(seed + index).uniform(-1, 1, (16, 7)) for index in range(n)]
        return Proposal(chunks=np.stack(drawn).astype(np.float32), cost=Cost(candidates=n))

    def describe(self) -> dict[str, Any]:
        return {"policy": "restless"}


@pytest.fixture
def env() -> Iterator[LiberoEnv]:
    env = LiberoEnv("libero_object/0", height=24, width=24, rendering="fast")
    yield env
    env.close()


def test_labels_leave_no_trace_and_progress_follows_the_task(env: LiberoEnv) -> None:
    observation, _ = env.reset(seed=5, options={"task": "libero_object/0"})
    policy, simulation = Restless(), Simulation(env)
    proposal = policy.propose(observation, 2, seed=1)
    moment = Moment(observation=observation, proposal=proposal, committed=None, execute=4, seed=2)
    before = env.save_state()
    actions = np.random.default_rng(0).uniform(-1, 1, (10, 7)).astype(np.float32)
    undisturbed = [env.step_blind(action) and env.data.qpos.copy() for action in actions]
    env.restore_state(before)
    for continuation in ("", "expert"):
        options = SourceOptions(source="branch", continuation=continuation, branch_horizon=10)
        outcomes = build_source(options, policy, env).evidence(moment).facts[OUTCOMES]
        assert outcomes.shape == (2, 1, 3)
        assert not outcomes[..., 0].any()
    ways = build_source(SourceOptions(source="expert", ways=2), policy, env).evidence(moment).facts[WAYS]
    assert ways.shape == (2, 16, 7)
    assert simulation.phase() == "pick alphabet_soup_1: reach"
    afterwards = [env.step_blind(action) and env.data.qpos.copy() for action in actions]
    np.testing.assert_array_equal(np.stack(undisturbed), np.stack(afterwards))

    env.restore_state(before)
    expert = build_policy("expert", env)
    seen = [simulation.progress()]
    for _ in range(150):
        _, ended, *_ = env.step_blind(expert.propose(observation, 1, seed=0).chunks[0][0])
        seen.append(simulation.progress())
        if ended:
            break
    assert list(dict.fromkeys(seen)) == [0.0, 0.5, 1.0]


@pytest.mark.long
@pytest.mark.timeout(1800)  # the policy's libraries are imported in a worker too
def test_pairs_then_a_critic_then_its_own_choice(env: LiberoEnv, tiny_flow: Path, tmp_path: Path) -> None:
    policy = f"bundled:{tiny_flow}?device=cpu"
    collector = CollectorOptions(policy=policy, candidates=3, share=0.15, ways=2)
    options = PairOptions(out=tmp_path / "pairs", tasks="0,1", episodes=1, size=24)
    counts = collect_pairs("libero_object", options, collector, LabelOptions())
    assert len(counts.tasks) == 2
    assert any(phase.startswith("pick ") for phase in counts.phases)
    for states in read_all(options.out).values():
        assert states.facts[WAYS].shape[1:] == (2, 16, 7)
        assert np.abs(states.facts[WAYS]).max() <= 1
        assert states.episode.init_state is None
    small: dict[str, Any] = {"width": 16, "layers": 1, "heads": 2, "steps": 4, "check_every": 2, "device": "cpu"}
    config = CriticTrainConfig(data=(options.out,), out=tmp_path / "training", **small)
    evaluation = train_critic(config)
    assert evaluation.own_pairs > 0
    assert evaluation.regret is not None

    driven = CollectorOptions(policy=policy, candidates=3, critic=str(config.out / CRITIC))
    agent = build_collector(driven, MultiStep(env))
    observation, _ = env.reset(seed=5, options={"task": "libero_object/0"})
    agent.reset(seed=5)
    decision = agent.act(observation)
    assert decision.preferences is not None
    assert decision.chosen == decision.preferences.sum(axis=1).argmax()
