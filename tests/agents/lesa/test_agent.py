"""LESA in the real rooms, with the oracle's perception."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

from thinktwice.agents.conformance import check_agent
from thinktwice.agents.lesa.agent import LesaAgent
from thinktwice.agents.lesa.build import LesaOptions, build_every_frame, build_lesa
from thinktwice.agents.lesa.landmarks import CAPACITY
from thinktwice.agents.lesa.memory import KEYFRAMES, RING
from thinktwice.agents.lesa.settings import LesaSettings
from thinktwice.agents.lesa.states import Event
from thinktwice.agents.maps import Layer, read_map
from thinktwice.envs import EpisodeId, MultiStep
from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.registration import ROOMS
from thinktwice.envs.rooms.env import RoomsEnv
from thinktwice.envs.rooms.masks import decode
from thinktwice.errors import ContractError, UsageError
from thinktwice.perception import Detection
from thinktwice.perception.reasoner_rules import RuleReasoner
from thinktwice.rollouts.episode import rollout

pytestmark = pytest.mark.sim
EASY = EpisodeId(world=ROOMS, task="val/easy", init_state=4, seed=1)


def play(env: MultiStep, agent: Any, episode: EpisodeId) -> tuple[dict[str, float], list[Any]]:
    steps = list(rollout(env, agent, episode))
    return dict(steps[-1].infos[-1]["metrics"]), steps


def test_it_finds_segments_and_stops_with_few_calls(lesa_rooms: MultiStep) -> None:
    agent = build_lesa(LesaOptions(perception="oracle"), lesa_rooms)
    metrics, steps = play(lesa_rooms, agent, EASY)
    assert metrics["success"] == 1.0
    assert metrics["final_j"] == 1.0
    calls = sum(step.decision.cost.vlm_calls for step in steps)
    assert 2 <= calls <= 10
    assert calls == sum("call" in step.decision.notes for step in steps) or calls > len(steps)
    assert steps[0].decision.notes["call"]["trigger"].startswith("start")
    maps = [read_map(step.decision.notes) for step in steps]
    assert all(found is not None for found in maps)
    known = [int((found.cells != Layer.UNKNOWN).sum()) for found in maps if found is not None]
    assert known[-1] > known[0]
    assert decode(steps[-1].decision.notes["mask"]).any()
    again, _ = play(lesa_rooms, agent, EASY)
    assert again == metrics


def test_calling_at_every_frame_costs_a_call_per_frame(lesa_rooms: MultiStep) -> None:
    agent = build_every_frame(LesaOptions(perception="oracle"), lesa_rooms)
    metrics, steps = play(lesa_rooms, agent, EASY)
    calls = sum(step.decision.cost.vlm_calls for step in steps)
    assert calls >= 0.5 * metrics["steps"]


def test_it_follows_the_agent_s_contract(lesa_rooms: MultiStep) -> None:
    observations: list[Any] = []
    lesa_rooms.reset(seed=EASY.seed, options=EASY.options())
    for _ in range(4):
        observation, *_ = lesa_rooms.step([2])
        observations.append(observation)

    class Nothing:
        name = "nothing"

        def detect(self, observation: Any, queries: Any, *, camera: str) -> list[Detection]:
            del observation, queries, camera
            return []

    agent = LesaAgent(Nothing(), RuleReasoner(), settings=LesaSettings(), port=None)
    check_agent(agent, observations, lesa_rooms.env.action_space)


def test_what_cannot_be_found_ends_with_a_stop_that_fails(lesa_rooms: MultiStep) -> None:
    class Blind:
        name = "blind"

        def detect(self, observation: Any, queries: Any, *, camera: str) -> list[Detection]:
            del observation, queries, camera
            return []

    agent = LesaAgent(Blind(), RuleReasoner(), port=None)
    metrics, steps = play(lesa_rooms, agent, EASY)
    assert metrics["success"] == 0.0
    assert metrics["coverage"] > 0.7
    if metrics["stopped"]:
        assert "nothing fits" in steps[-1].decision.why
        with pytest.raises(ContractError, match="reset"):
            agent.act(steps[-1].next_observation)


def test_targets_that_nothing_leads_to_are_given_up_within_the_frame(
    lesa_rooms: MultiStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up: list[int] = []

    def lost(senses: Any, landmark: Any, tried: list[tuple[float, float]]) -> Event:
        tried.append((senses.pose.x, senses.pose.y))
        if len(tried) == 4:
            given_up.append(landmark.id)
        return Event.LOST

    monkeypatch.setattr("thinktwice.agents.lesa.agent.approach", lost)
    metrics, steps = play(lesa_rooms, build_lesa(LesaOptions(perception="oracle"), lesa_rooms), EASY)
    assert given_up
    assert len(set(given_up)) == len(given_up)
    assert metrics["success"] == 0.0
    assert steps[-1].decision.notes["state"] == "stop"


def test_another_world_is_refused() -> None:
    with pytest.raises(UsageError, match="rooms"):
        build_lesa(LesaOptions(perception="oracle"), FakeEnv())


@pytest.mark.long
def test_memory_stays_bounded_over_five_thousand_steps() -> None:
    env = RoomsEnv(size=64, max_steps=5001)
    env.reset(seed=0, options={"task": "val/hard", "init_state": 0})
    agent = build_lesa(LesaOptions(perception="oracle"), env)
    assert isinstance(agent, LesaAgent)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0, options={"task": "val/hard", "init_state": 0})
    agent.reset(seed=0)
    sizes: list[int] = []
    for step in range(5000):
        # The agent's own moves would end the episode; it sees and remembers a random walk instead.
        if agent.state in ("stop", "segment"):
            agent.state = type(agent.state).EXPLORE
            agent.senses.landmarks.wanted = frozenset()
        agent.act(observation)
        observation, *_ = env.step(int(rng.choice([1, 1, 2, 3])))
        if step % 1000 == 999:
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        assert len(agent.senses.memory.ring) <= RING
        assert len(agent.senses.memory.keyframes) <= KEYFRAMES
        assert len(agent.senses.landmarks.all()) <= CAPACITY
    # Kilobytes; the world's own record (run-length masks of 5,000 frames) is in this process too.
    assert sizes[-1] < sizes[1] + 16 * 2**10, sizes
    env.close()
