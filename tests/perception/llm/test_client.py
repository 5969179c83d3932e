"""The client against a server that fails: bounded retries, clear errors, a true ledger, no keys in records."""

import base64
import concurrent.futures
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from thinktwice.errors import ConfigError, ContractError
from thinktwice.perception.llm import Message, PromptedPerceiver, Request, RequestFailed
from thinktwice.perception.llm.openai_client import Endpoint, OpenAIChat

pytestmark = pytest.mark.slow

ASK = Request(messages=[Message(role="user", text="hello")])


def client(server: Any, **settings: Any) -> OpenAIChat:
    return OpenAIChat(Endpoint(model="m", base_url=server.url, **settings))


def test_an_answer_comes_with_its_tokens_and_seconds(server: Any) -> None:
    server.script = ["hi"]
    completion = client(server).complete(ASK)
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hi", 11, 7)
    cost = completion.cost("vlm")
    assert (cost.vlm_calls, cost.llm_calls, cost.prompt_tokens) == (1, 0, 11)
    assert cost.seconds["vlm"] == completion.seconds > 0


def test_busy_and_broken_servers_are_asked_again(server: Any) -> None:
    server.script = [429, 500, "at last"]
    completion = client(server, retries=2).complete(ASK)
    assert completion.text == "at last"
    assert completion.retries == 2
    assert len(server.requests) == 3


def test_retries_are_bounded(server: Any) -> None:
    server.script = [429]
    with pytest.raises(RequestFailed, match=r"within 3 tries.*429"):
        client(server, retries=2).complete(ASK)
    assert len(server.requests) == 3


def test_a_refused_request_is_not_repeated(server: Any) -> None:
    server.script = [400]
    with pytest.raises(RequestFailed, match="400"):
        client(server, retries=3).complete(ASK)
    assert len(server.requests) == 1


def test_a_silent_server_is_given_up_on(server: Any) -> None:
    server.script = [5.0]
    with pytest.raises(RequestFailed, match="Timeout"):
        client(server, timeout=0.3, retries=1).complete(ASK)
    assert len(server.requests) == 2


@pytest.mark.parametrize("body", [b"", b"not json", b"<html>bad gateway</html>", b'{"choices": []}', b'{"x": 1}'])
def test_a_body_that_is_no_completion_is_a_failed_request(server: Any, body: bytes) -> None:
    server.script = [body]
    with pytest.raises(RequestFailed):
        client(server, retries=0).complete(ASK)


def test_no_endpoint_at_all_is_a_failed_request() -> None:
    with pytest.raises(RequestFailed, match="Connection"):
        OpenAIChat(Endpoint(model="m", base_url="http://127.0.0.1:9/v1", retries=0)).complete(ASK)


def test_a_schema_and_images_go_over_the_wire(server: Any) -> None:
    server.script = ["{}"]
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    schema = {"type": "object"}
    client(server).complete(Request(messages=[Message(role="user", text="see", images=[image])], schema=schema))
    sent = server.requests[0]
    assert sent["response_format"]["json_schema"]["schema"] == schema
    shown, text = sent["messages"][0]["content"]
    assert text == {"type": "text", "text": "see"}
    png = base64.b64decode(shown["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), image)
    with pytest.raises(ContractError, match="uint8"):
        client(server).complete(Request(messages=[Message(role="user", text="", images=[image.astype(float)])]))


def test_no_more_requests_at_once_than_allowed(server: Any) -> None:
    server.script = ["ok"]
    chat = client(server, concurrency=2)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: chat.complete(ASK).text, range(8)))
    assert answers == ["ok"] * 8
    assert server.most_busy <= 2


def test_a_key_is_sent_and_never_described(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.script = ["ok"]
    chat = client(server)
    chat.complete(ASK)
    assert "sk-secret" not in json.dumps(chat.describe())


@pytest.mark.parametrize("wrong", [{"timeout": 0.0}, {"retries": -1}, {"concurrency": 0}, {"model": ""}])
def test_impossible_endpoints_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Endpoint(**{"model": "m", **wrong})


def test_a_prompted_perceiver_shows_the_image_and_asks(server: Any) -> None:
    server.script = ["A desk.", "No, not visible."]
    eyes = PromptedPerceiver(client(server))
    observation = {"images.front": np.zeros((4, 4, 3), np.uint8)}
    assert eyes.describe_scene(observation, seed=0).text == "A desk."
    reply = eyes.answer(observation, "Is there a mug?", seed=0)
    assert reply.text == "No, not visible."
    assert reply.cost.vlm_calls == 1
    assert "Is there a mug?" in server.requests[1]["messages"][0]["content"][1]["text"]
    with pytest.raises(ContractError, match=r"images\.front"):
        eyes.describe_scene({"text": "x"}, seed=0)
