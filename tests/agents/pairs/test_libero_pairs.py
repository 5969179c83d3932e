"""In LIBERO: pairs of a flow policy's candidates, a critic trained on them, and branches that leave no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
from thinktwice.envs import MultiStep
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.rollouts.pairs import PairOptions, collect_pairs

pytestmark = [pytest.mark.sim, pytest.mark.timeout(1800)]  # two simulators are built, one of them in a worker


def test_pairs_then_a_critic_then_its_own_choice(tiny_flow: Path, tmp_path: Path) -> None:
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

    env = LiberoEnv("libero_object/0", height=24, width=24, rendering="fast")
    try:
        driven = CollectorOptions(policy=policy, candidates=3, critic=str(config.out / CRITIC))
        agent = build_collector(driven, MultiStep(env))
        observation, _ = env.reset(seed=5, options={"task": "libero_object/0"})
        agent.reset(seed=5)
        decision = agent.act(observation)
        assert decision.preferences is not None
        assert decision.chosen == decision.preferences.sum(axis=1).argmax()
        branches_leave_no_trace(env, observation, policy)
    finally:
        env.close()


def branches_leave_no_trace(env: LiberoEnv, observation: Any, name: str) -> None:
    policy = build_policy(name, env)
    proposal = policy.propose(observation, 2, seed=1)
    moment = Moment(observation=observation, proposal=proposal, committed=None, execute=4, seed=2)
    before = env.save_state()
    actions = np.random.default_rng(0).uniform(-1, 1, (10, 7)).astype(np.float32)
    undisturbed = [env.step_blind(action) and env.data.qpos.copy() for action in actions]
    env.restore_state(before)
    outcomes = [
        build_source(SourceOptions(source="branch", continuation=continuation, branch_horizon=10), policy, env)
        .evidence(moment)
        .facts[OUTCOMES]
        for continuation in ("", "expert")
    ]
    assert all(outcome.shape == (2, 1, 3) and not outcome[..., 0].any() for outcome in outcomes)
    afterwards = [env.step_blind(action) and env.data.qpos.copy() for action in actions]
    np.testing.assert_array_equal(np.stack(undisturbed), np.stack(afterwards))
    assert Simulation(env).progress() == 0
