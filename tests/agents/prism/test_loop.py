"""PRISM's loop: what is asked, what is synthesised, what is decided, and what is never guessed."""

import json
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from thinktwice.agents.conformance import check_agent
from thinktwice.agents.prism import (
    FIXED_QUESTIONS,
    Bounds,
    PrismAgent,
    PromptedReasoner,
    TextOracle,
)
from thinktwice.agents.prism.feedback import plain_feedback
from thinktwice.agents.text.react import PromptedThinker, ReactAgent, ReactOptions
from thinktwice.cost import Cost
from thinktwice.envs import Observation
from thinktwice.errors import ConfigError, ContractError, ModelError
from thinktwice.perception.llm import ScriptedChat, Utterance

CHOICES = ("go to desk 1", "look", "take mug 1 from shelf 1")
SEEN: Observation = {
    "text": "You arrive at shelf 1. On the shelf 1, you see a mug 1.",
    "task": "put a mug in desk.",
    "choices": CHOICES,
    "images.front": np.zeros((8, 8, 3), np.uint8),
}


class Eyes:
    """A fake perceiver that keeps what it was asked."""

    def __init__(self, answer: str = "Yes, I see a mug.") -> None:
        self.questions: list[str] = []
        self._answer = answer

    name = "eyes"
    parallel = 1

    def describe_scene(self, observation: Observation, *, seed: int) -> Utterance:
        return Utterance(text="A shelf.", cost=Cost(vlm_calls=1, completion_tokens=2))

    def answer(self, observation: Observation, question: str, *, seed: int) -> Utterance:
        self.questions.append(question)
        return Utterance(text=self._answer, cost=Cost(vlm_calls=1))

    def describe(self) -> dict[str, Any]:
        return {"perceiver": "eyes"}


def critique(*questions: str) -> str:
    return json.dumps({"sufficient": not questions, "missing": ["mug"][: len(questions)], "questions": questions})


SUMMARY = '{"summary": "A mug is on the shelf."}'
TAKE = '{"action": "take mug 1 from shelf 1"}'


def agent(replies: list[Any], eyes: Eyes | None = None, **settings: Any) -> tuple[PrismAgent, ScriptedChat]:
    chat = ScriptedChat(replies)
    made = PrismAgent(PromptedReasoner(chat, tries=3), eyes or Eyes(), **settings)
    made.reset(seed=0)
    return made, chat


def test_it_asks_until_it_is_satisfied_then_synthesises_and_decides() -> None:
    eyes = Eyes()
    made, chat = agent([critique("Is there a mug?"), critique(), SUMMARY, TAKE], eyes)
    decision = made.act(SEEN)
    assert decision.chunk == ["take mug 1 from shelf 1"]
    assert decision.mode == "deliberate"
    assert decision.doubt == 1.0
    assert eyes.questions == ["Is there a mug?"]
    assert (decision.cost.llm_calls, decision.cost.vlm_calls) == (4, 2)
    stages = [turn["stage"] for turn in decision.notes["transcript"]]
    assert stages == ["describe", "critique", "ask", "answer", "critique", "synthesise", "decide"]
    assert decision.notes["questions"] == 1
    assert decision.notes["seen.front"].shape == (4, 4, 3)
    assert "A mug is on the shelf." in chat.requests[3].messages[-1].text
    assert "Asked: Is there a mug? Answer: Yes, I see a mug." in chat.requests[1].messages[-1].text


def test_a_description_that_suffices_is_acted_on_without_a_question() -> None:
    eyes = Eyes()
    made, _ = agent([critique(), SUMMARY, TAKE], eyes)
    decision = made.act(SEEN)
    assert (decision.mode, decision.doubt, eyes.questions) == ("reflex", 0.0, [])


def test_questions_that_repeat_end_the_rounds() -> None:
    eyes = Eyes()
    made, _ = agent([critique("A mug?"), critique("a mug? "), SUMMARY, TAKE], eyes, bounds=Bounds(rounds=5))
    made.act(SEEN)
    assert eyes.questions == ["A mug?"]


def test_rounds_and_questions_are_bounded() -> None:
    eyes = Eyes()
    made, _ = agent(
        [critique("1?", "2?", "3?"), critique("1?", "2?"), critique("3?"), SUMMARY, TAKE],
        eyes,
        bounds=Bounds(rounds=2, questions=2),
    )
    made.act(SEEN)
    assert eyes.questions == ["1?", "2?", "3?"]


def test_passive_decides_from_the_description_alone() -> None:
    eyes = Eyes()
    made, chat = agent([TAKE], eyes, ablation="passive")
    decision = made.act(SEEN)
    assert (decision.cost.llm_calls, decision.cost.vlm_calls, eyes.questions) == (1, 1, [])
    assert "What matters here: A shelf." in chat.requests[0].messages[-1].text


def test_fixed_asks_the_same_whatever_the_goal() -> None:
    eyes = Eyes()
    made, _ = agent([SUMMARY, TAKE], eyes, ablation="fixed")
    assert made.act(SEEN).notes["questions"] == len(FIXED_QUESTIONS)
    assert eyes.questions == list(FIXED_QUESTIONS)


def test_only_the_oracle_reads_what_the_text_lists() -> None:
    made, chat = agent([critique(), SUMMARY, TAKE])
    made.act(SEEN)
    assert not any("you see" in message.text for request in chat.requests for message in request.messages)
    chat = ScriptedChat([critique(), SUMMARY, TAKE])
    oracle = PrismAgent(PromptedReasoner(chat, tries=3), TextOracle(), ablation="oracle")
    oracle.reset(seed=0)
    oracle.act(SEEN)
    assert "you see a mug 1" in chat.requests[0].messages[-1].text


def test_memory_is_a_window_of_what_was_done_and_what_came_of_it() -> None:
    replies = [critique(), SUMMARY, '{"action": "look"}'] * 3
    made, chat = agent(replies, bounds=Bounds(window=1))
    for text in ("One.", "Two.", "Three."):
        made.act({**SEEN, "text": text})
    last = chat.requests[-1].messages[-1].text
    assert "- A mug is on the shelf. | look | Three." in last
    assert "| look | Two." not in last


def test_an_inadmissible_answer_is_asked_again_and_never_replaced() -> None:
    made, chat = agent([critique(), SUMMARY, '{"action": "take mug from shelf 1"}', TAKE])
    decision = made.act(SEEN)
    assert decision.chunk == ["take mug 1 from shelf 1"]
    assert "is not admissible" in chat.requests[-1].messages[-1].text
    tries = decision.notes["transcript"][-1]["exchanges"]
    assert [bool(attempt["rejected"]) for attempt in tries] == [True, False]
    made, _ = agent([critique(), SUMMARY, *['{"action": "take mug"}'] * 3])
    with pytest.raises(ModelError, match="no usable Choice in 3 tries"):
        made.act(SEEN)


def test_asking_nothing_while_missing_something_is_rejected() -> None:
    empty = '{"sufficient": false, "missing": ["mug"], "questions": []}'
    made, chat = agent([empty, critique(), SUMMARY, TAKE])
    made.act(SEEN)
    assert "asks nothing" in chat.requests[1].messages[-1].text


def test_the_contract_of_agents_holds() -> None:
    def replies(request: Any) -> str:
        prompt = request.messages[-1].text
        return critique() if "ask at most" in prompt else SUMMARY if "three sentences" in prompt else TAKE

    made = PrismAgent(PromptedReasoner(ScriptedChat([replies] * 100), tries=1), Eyes())
    check_agent(made, [SEEN, SEEN], spaces.Text(64, charset="abcdefghijklmnopqrstuvwxyz 0123456789"))


def test_feedback_hides_what_only_eyes_may_tell() -> None:
    text = "You arrive at fridge 1. The fridge 1 is open. In it, you see a egg 1, and a pan 2."
    assert plain_feedback(text) == "You arrive at fridge 1. The fridge 1 is open."
    assert plain_feedback("Nothing happens.") == "Nothing happens."


def test_a_world_without_choices_is_refused() -> None:
    made, _ = agent([critique()])
    with pytest.raises(ContractError, match="alfworld or r2r"):
        made.act({"images.front": np.zeros((8, 8, 3), np.uint8)})


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"questions": 0}, {"window": -1}])
def test_impossible_bounds_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        Bounds(**wrong)


def test_react_thinks_once_and_reads_the_text() -> None:
    chat = ScriptedChat(['{"thought": "A mug!", "action": "take mug 1 from shelf 1"}'])
    react = ReactAgent(PromptedThinker(chat, ReactOptions()))
    react.reset(seed=0)
    decision = react.act(SEEN)
    assert decision.chunk == ["take mug 1 from shelf 1"]
    assert decision.cost.llm_calls == 1
    assert "you see a mug 1" in chat.requests[0].messages[-1].text
