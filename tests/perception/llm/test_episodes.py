"""PRISM in ALFWorld on a server that misbehaves: no crash, no guess, bounded retries, and a true record."""

from pathlib import Path
from typing import Any

import pytest

from thinktwice.agents.prism.build import PrismOptions, build_prism
from thinktwice.envs.alfworld.env import AlfworldEnv
from thinktwice.envs.alfworld.generator import GeneratedGames
from thinktwice.errors import ModelError
from thinktwice.rollouts import RunConfig, open_run, run

pytest.importorskip("alfworld", reason="pip install -c constraints.txt -e '.[alfworld]'")

LOOK = '{"action": "look"}'
BAD = {
    "half a JSON": '{"action": "lo',
    "nothing": "",
    "prose": "I will look around first.",
    "another language": "Ich schaue mich um.",
    "a thinking block alone": "<think>look</think>",
    "a list": '["look"]',
    "a list of actions": '{"action": ["look", "inventory"]}',
    "an inadmissible action": '{"action": "fly to the moon"}',
    "nearly an admissible action": '{"action": "Look"}',
    "busy": 429,
    "broken": 500,
}


def options(server: Any, **more: Any) -> PrismOptions:
    """The language model behind the server, the scene VLM as it is."""
    settings = {"llm_retries": 1, "llm_timeout": 5.0, "tries": 2, "ablation": "passive", **more}
    return PrismOptions(llm="openai:m", base_url=server.url, **settings)


@pytest.fixture(scope="module")
def env() -> Any:
    world = AlfworldEnv(games=GeneratedGames(per_type=1), size=64)
    yield world
    world.close()


@pytest.mark.sim
@pytest.mark.parametrize("kind", BAD)
def test_one_bad_answer_is_asked_again(kind: str, server: Any, env: AlfworldEnv) -> None:
    server.script = [BAD[kind], LOOK]
    agent = build_prism(options(server), env)
    agent.reset(seed=0)
    decision = agent.act(env.reset(seed=0)[0])
    assert decision.chunk == ["look"]
    assert len(server.requests) == 2


@pytest.mark.sim
@pytest.mark.parametrize("kind", BAD)
def test_nothing_but_bad_answers_is_an_error_within_bounds(kind: str, server: Any, env: AlfworldEnv) -> None:
    server.script = [BAD[kind]]
    agent = build_prism(options(server), env)
    agent.reset(seed=0)
    with pytest.raises(ModelError):
        agent.act(env.reset(seed=0)[0])
    assert len(server.requests) == 2


@pytest.mark.sim
def test_a_silent_server_is_an_error_and_a_late_answer_is_not_used(server: Any, env: AlfworldEnv) -> None:
    server.script = [2.0, 2.0, LOOK]
    agent = build_prism(options(server, llm_timeout=0.2), env)
    agent.reset(seed=0)
    with pytest.raises(ModelError, match="Timeout"):
        agent.act(env.reset(seed=0)[0])


@pytest.mark.sim
def test_thinking_and_a_fence_around_an_answer_are_no_fault(server: Any, env: AlfworldEnv) -> None:
    server.script = [f"<think>Where to?</think>\n```json\n{LOOK}\n```"]
    agent = build_prism(options(server), env)
    agent.reset(seed=0)
    assert agent.act(env.reset(seed=0)[0]).chunk == ["look"]
    assert len(server.requests) == 1


@pytest.mark.sim
def test_a_run_records_the_error_and_never_counts_it_as_a_failure(server: Any, tmp_path: Path) -> None:
    server.script = [LOOK, LOOK, "no more"]
    summary = run(
        RunConfig(
            world="alfworld",
            agent="prism",
            out=tmp_path / "run",
            tasks="0",
            episodes=1,
            world_options={"per_type": 1, "size": 64, "max_steps": 5},
            agent_options={
                "llm": "openai:m",
                "base_url": server.url,
                "ablation": "passive",
                "tries": 2,
                "llm_retries": 0,
            },
        )
    )
    assert (summary.overall.errors, summary.overall.judged) == (1, 0)
    (record,) = open_run(tmp_path / "run").episodes
    assert record.error is not None
    assert "no usable Choice in 2 tries" in str(record.error)
    assert record.steps == 2


@pytest.mark.sim
def test_a_recorded_run_is_replayed_offline(server: Any, env: AlfworldEnv, tmp_path: Path) -> None:
    server.script = ["prose", LOOK, '{"action": "inventory"}', LOOK]

    def play(mode: str) -> list[Any]:
        agent = build_prism(options(server, llm_cache=tmp_path, llm_cache_mode=mode), env)
        agent.reset(seed=0)
        observation, _ = env.reset(seed=0)
        decisions = []
        for _ in range(3):
            decisions.append(agent.act(observation))
            observation = env.step(decisions[-1].chunk[0])[0]
        return [(d.chunk, d.cost.counts()) for d in decisions]

    first = play("use")
    asked = len(server.requests)
    assert play("replay") == first
    assert len(server.requests) == asked == 4
