"""The contract of a chat model: one request in, one completion with its tokens and seconds out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from ...cost import Cost
from ...envs import Array
from ...errors import ContractError, ModelError

type Role = Literal["system", "user", "assistant"]


class RequestFailed(ModelError):
    """The endpoint gave no completion within its retries: timeouts, refused connections, 429 or 5xx answers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Message:
    """One message.

    Attributes:
        role: whose it is.
        text: what it says.
        images: ``uint8[H, W, 3]`` each, shown before the text.
    """

    role: Role
    text: str
    images: Sequence[Array] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a chat model.

    Attributes:
        messages: in order.
        schema: a JSON schema that the answer must follow, or None for free text.
        max_tokens: the longest answer.
        temperature: 0 for the likeliest answer.
        seed: of the sampler, where the endpoint has one.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0

    def key(self, model: str) -> str:
        """A hash of everything that decides the answer: equal for equal requests to equal models, anywhere."""
        content = {
            "model": model,
            "messages": [
                [message.role, message.text, [_image_hash(image) for image in message.images]]
                for message in self.messages
            ],
            "schema": self.schema,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Completion:
    """What a chat model answered.

    Attributes:
        text: exactly as it came.
        prompt_tokens: as the endpoint counts them, or 0 where it does not.
        completion_tokens: the same.
        seconds: wall time of this request with its retries.
        retries: how often it was sent again.
        cached: whether it was read from a cache; tokens are then those of the first time.
        finish: why it ended: ``"stop"``, ``"length"`` when it was cut off, or what the endpoint says.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    retries: int = 0
    cached: bool = False
    finish: str = "stop"

    def cost(self, role: Literal["llm", "vlm"]) -> Cost:
        """The ledger's entry of one call."""
        return Cost(
            llm_calls=int(role == "llm"),
            vlm_calls=int(role == "vlm"),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds={role: self.seconds},
        )


@runtime_checkable
class ChatModel(Protocol):
    """Completes chats.  Safe to call from several threads."""

    @property
    def name(self) -> str:
        """The model's name; part of every cache key."""
        ...

    def complete(self, request: Request) -> Completion:
        """The answer to a request.

        Raises:
            RequestFailed: there was no answer within the retries.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record; no keys and no secrets."""
        ...


def data_url(image: Array) -> str:
    """An image as a PNG data URL, as OpenAI-compatible endpoints take it.

    Args:
        image: ``uint8[H, W, 3]``, RGB.

    Raises:
        ContractError: it is something else.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ContractError(f"an image for a model must be uint8[H, W, 3], got {image.dtype}{list(image.shape)}.")
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _image_hash(image: Array) -> str:
    return hashlib.sha256(repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()).hexdigest()
