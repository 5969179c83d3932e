"""Any endpoint that speaks OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError, MissingDependency, install_line
from .contract import Completion, Message, Request, RequestFailed, data_url

KEY_VARIABLE = "OPENAI_API_KEY"
_NO_KEY = "none"
"""Sent where no key is set: local servers ignore it, and the client insists on one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a model is served and how patiently it is asked.

    Attributes:
        model: the endpoint's name of the model.
        base_url: such as ``"http://127.0.0.1:8000/v1"``; None for the client's own default.
        timeout: seconds for one try.
        retries: tries after the first; the client waits longer before each, and as long as the server asks.
        concurrency: requests at once from this process; further ones wait.
        extra: further fields of every request, for what one kind of server understands.

    Raises:
        ConfigError: a number that makes no sense, or no model.
    """

    model: str
    base_url: str | None = None
    timeout: float = 60.0
    retries: int = 4
    concurrency: int = 4
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not self.model or self.timeout <= 0 or self.retries < 0 or self.concurrency < 1:
            raise ConfigError(f"an endpoint needs a model, timeout > 0, retries >= 0 and concurrency >= 1, got {self}.")


class OpenAIChat:
    """A `ChatModel` behind an OpenAI-compatible endpoint.

    The key is read from the environment variable ``OPENAI_API_KEY``; it is never recorded.

    Args:
        endpoint: which one.

    Raises:
        MissingDependency: ``openai`` is not installed.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingDependency(
                "openai", purpose="A model behind an endpoint", install=install_line("alfworld")
            ) from error
        self._endpoint = endpoint
        self._errors: Any = openai
        self._client: Any = openai.OpenAI(
            api_key=os.environ.get(KEY_VARIABLE) or _NO_KEY,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
        )
        self._slots = threading.BoundedSemaphore(endpoint.concurrency)

    @property
    def name(self) -> str:
        """The endpoint's name of the model, and the further fields, which decide answers too."""
        extra = self._endpoint.extra
        return f"{self._endpoint.model} {json.dumps(extra, sort_keys=True)}" if extra else self._endpoint.model

    def complete(self, request: Request) -> Completion:
        """See `ChatModel.complete`."""
        extra: dict[str, Any] = {}
        if request.schema is not None:
            schema = {"name": "answer", "schema": dict(request.schema), "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": schema}
        began = time.perf_counter()
        try:
            with self._slots:
                raw: Any = self._client.chat.completions.with_raw_response.create(
                    model=self._endpoint.model,
                    messages=[_wire(message) for message in request.messages],
                    max_tokens=request.max_tokens,
                    temperature=request.temperature,
                    seed=request.seed % 2**31,
                    extra_body=dict(self._endpoint.extra) or None,
                    **extra,
                )
                response = raw.parse()
        except (self._errors.OpenAIError, ValueError) as error:
            raise RequestFailed(
                f"{self._endpoint.model} at {self._client.base_url} gave no completion "
                f"within {1 + self._endpoint.retries} tries: {type(error).__name__}: {error}"
            ) from error
        return _completion(response, seconds=time.perf_counter() - began, retries=int(raw.retries_taken))

    def describe(self) -> dict[str, Any]:
        """The endpoint's settings."""
        return {"client": "openai", **dataclasses.asdict(self._endpoint)}


def _wire(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.text}
    shown = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images]
    return {"role": message.role, "content": [*shown, {"type": "text", "text": message.text}]}


def _completion(response: Any, *, seconds: float, retries: int) -> Completion:
    """Reads a response leniently: some servers leave out the usage, and an error page has no choices at all."""
    choices = getattr(response, "choices", None) or []
    if not choices or getattr(choices[0], "message", None) is None:
        raise RequestFailed(f"the endpoint answered without any choice: {str(response)[:200]!r}")
    usage = getattr(response, "usage", None)
    return Completion(
        text=choices[0].message.content or "",
        prompt_tokens=int(getattr(usage, "prompt_tokens", 0) or 0),
        completion_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
        seconds=seconds,
        retries=retries,
        finish=str(choices[0].finish_reason or "stop"),
    )
