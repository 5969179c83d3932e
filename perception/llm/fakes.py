"""A fake chat model for tests: it says what it was told to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .contract import Completion, Request, RequestFailed

type Reply = str | Completion | Exception | Callable[[Request], str]
"""What to answer: text, a whole completion, an error to raise, or a function of the request."""


class ScriptedChat:
    """A fake `ChatModel`: it answers from a list, in order, and keeps the requests.

    Args:
        replies: what to answer; running out of them is a `RequestFailed`.
        name: of the model.
    """

    def __init__(self, replies: Sequence[Reply], *, name: str = "scripted") -> None:
        self._replies, self._name = list(replies), name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def complete(self, request: Request) -> Completion:
        """The next reply; a text costs as many tokens as it has words."""
        self.requests.append(request)
        if not self._replies:
            raise RequestFailed(f"{self._name} was asked more often than it has replies.")
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        text = reply if isinstance(reply, str) else reply(request)
        asked = sum(len(message.text.split()) for message in request.messages)
        return Completion(text=text, prompt_tokens=asked, completion_tokens=len(text.split()))

    def describe(self) -> dict[str, Any]:
        """That it is a fake."""
        return {"client": "scripted", "fake": True}
