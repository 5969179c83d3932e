"""Structured answers and the cache: every malformed kind is asked for again, none is guessed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from thinktwice.errors import ConfigError, ModelError, RecordError
from thinktwice.perception.llm import (
    CachedChat,
    Completion,
    Message,
    Request,
    RequestFailed,
    ScriptedChat,
    ask_structured,
    parse_answer,
)
from thinktwice.perception.llm.prompting import fill_prompt
from thinktwice.perception.llm.structured import AnswerRejected


class Pick(BaseModel):
    """An action."""

    action: str


ASK = Request(messages=[Message(role="user", text="What now?")])
GOOD = '{"action": "go to desk 1"}'

MALFORMED = {
    "nothing": "",
    "blank": "  \n ",
    "prose": "I would go to desk 1.",
    "prose around it": f"Sure! {GOOD}",
    "prose after it": f"{GOOD} That is my answer.",
    "another language": "Ich gehe zum Schreibtisch 1.",
    "half of it": '{"action": "go to de',
    "a list": '["go to desk 1"]',
    "a list of objects": f"[{GOOD}]",
    "two objects": f"{GOOD}{GOOD}",
    "a string": '"go to desk 1"',
    "another key": '{"command": "go to desk 1"}',
    "a list inside": '{"action": ["go to desk 1", "open drawer 1"]}',
    "a number": '{"action": 7}',
    "null": '{"action": null}',
    "a key twice": '{"action": "go to desk 1", "action": "look"}',
    "thinking that never ends": f"<think>hmm {GOOD}",
    "thinking alone": "<think>go to desk 1</think>",
    "a refusal": "I'm sorry, but I can't help with that.",
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_answer_is_asked_for_again_with_the_reason(kind: str) -> None:
    model = ScriptedChat([MALFORMED[kind], GOOD])
    result = ask_structured(model, ASK, Pick, tries=3)
    assert result.answer.action == "go to desk 1"
    assert [bool(exchange["rejected"]) for exchange in result.exchanges] == [True, False]
    assert result.cost.llm_calls == 2
    again = model.requests[1].messages
    assert again[-1].text.startswith("That answer cannot be used:")
    assert model.requests[1].seed == model.requests[0].seed + 1


@pytest.mark.parametrize(
    "text",
    [GOOD, f"<think>first this</think>\n{GOOD}", f"```json\n{GOOD}\n```", f"<thinking>a</thinking>```\n{GOOD}\n```"],
)
def test_thinking_and_one_fence_are_taken_off(text: str) -> None:
    assert parse_answer(text, Pick)[0] == Pick(action="go to desk 1")


def test_giving_up_is_an_error_that_keeps_every_try() -> None:
    model = ScriptedChat(["no", "never", "nein"])
    with pytest.raises(AnswerRejected, match="no usable Pick in 3 tries") as caught:
        ask_structured(model, ASK, Pick, tries=3)
    assert [exchange["answer"] for exchange in caught.value.exchanges] == ["no", "never", "nein"]
    assert caught.value.cost.llm_calls == 3
    assert isinstance(caught.value, ModelError)


def test_an_inadmissible_action_is_rejected_by_the_check() -> None:
    model = ScriptedChat(['{"action": "go to desk 9"}', GOOD])

    def admissible(pick: Pick) -> str | None:
        return None if pick.action == "go to desk 1" else f"{pick.action!r} is not admissible."

    result = ask_structured(model, ASK, Pick, tries=2, check=admissible)
    assert result.answer.action == "go to desk 1"
    assert "'go to desk 9' is not admissible" in model.requests[1].messages[-1].text


def test_an_answer_that_was_cut_off_says_so() -> None:
    model = ScriptedChat([Completion(text='{"action": "go', finish="length"), GOOD])
    result = ask_structured(model, ASK, Pick, tries=2)
    assert "cut off after 512 tokens" in result.exchanges[0]["rejected"]


def test_a_cached_run_is_replayed_without_the_model(tmp_path: Path) -> None:
    image = np.zeros((2, 2, 3), np.uint8)
    ask = Request(messages=[Message(role="user", text="see", images=[image])], schema={"type": "object"})
    first = CachedChat(ScriptedChat(["one", "two"]), tmp_path).complete(ask)
    replay = CachedChat(ScriptedChat([]), tmp_path, mode="replay")
    again = replay.complete(ask)
    assert (again.text, again.cached, again.prompt_tokens) == ("one", True, first.prompt_tokens)
    with pytest.raises(RequestFailed, match="not in the cache"):
        replay.complete(Request(messages=ask.messages, schema=ask.schema, seed=1))
    other = Message(role="user", text="see", images=[image + 1])
    with pytest.raises(RequestFailed):
        replay.complete(Request(messages=[other], schema=ask.schema))


def test_another_models_answers_are_not_taken_and_failures_are_not_kept(tmp_path: Path) -> None:
    CachedChat(ScriptedChat(["one"], name="a"), tmp_path).complete(ASK)
    failing = CachedChat(ScriptedChat([RequestFailed("down")], name="b"), tmp_path)
    with pytest.raises(RequestFailed, match="down"):
        failing.complete(ASK)
    assert CachedChat(ScriptedChat(["two"], name="b"), tmp_path).complete(ASK).text == "two"


def test_a_damaged_cache_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    cached = CachedChat(ScriptedChat(["one"]), tmp_path)
    cached.complete(ASK)
    (file,) = tmp_path.iterdir()
    file.write_text("{")
    with pytest.raises(RecordError, match=file.name):
        cached.complete(ASK)


def test_prompts_can_be_replaced_and_say_which_fields_they_have(tmp_path: Path) -> None:
    package = "thinktwice.perception.llm"
    assert "at most 3" in fill_prompt(package, "describe", sentences=3)
    (tmp_path / "describe.md").write_text("Short: {sentences}. {{}}")
    assert fill_prompt(package, "describe", tmp_path, sentences=3) == "Short: 3. {}"
    (tmp_path / "describe.md").write_text("{colour}")
    values: dict[str, Any] = {"sentences": 3}
    with pytest.raises(ConfigError, match="colour"):
        fill_prompt(package, "describe", tmp_path, **values)
