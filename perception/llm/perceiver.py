"""Perceivers: what describes an image and answers questions about it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...cost import Cost
from ...envs import Observation
from ...errors import ContractError
from .contract import ChatModel, Message, Request
from .prompting import fill_prompt


@dataclasses.dataclass(frozen=True, kw_only=True)
class Utterance:
    """What a perceiver said, and what saying it cost."""

    text: str
    cost: Cost


@runtime_checkable
class Perceiver(Protocol):
    """Turns an observation into words."""

    @property
    def name(self) -> str:
        """What a record calls it; an oracle's name says so."""
        ...

    @property
    def parallel(self) -> int:
        """How many questions it may be asked at once, from as many threads; 1 where it must stay in its own."""
        ...

    def describe_scene(self, observation: Observation, *, seed: int) -> Utterance:
        """A description without any goal in mind.

        Raises:
            ContractError: the observation lacks what it looks at.
            ModelError: the model gave no usable answer.
        """
        ...

    def answer(self, observation: Observation, question: str, *, seed: int) -> Utterance:
        """The answer to a question about the same observation; it may say that something is not visible."""
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record."""
        ...


class PromptedPerceiver:
    """A vision-language model behind prompts.

    Args:
        model: takes images.
        camera: it looks at ``images.<camera>``.
        prompts: a folder with own versions of ``describe.md`` and ``answer.md``, or None.
        sentences: the longest description.
        max_tokens: the longest answer.
        parallel: questions at once.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        camera: str = "front",
        prompts: Path | None = None,
        sentences: int = 6,
        max_tokens: int = 256,
        parallel: int = 1,
    ) -> None:
        self._model, self._camera, self._prompts = model, camera, prompts
        self._sentences, self._max_tokens, self._parallel = sentences, max_tokens, parallel

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def parallel(self) -> int:
        """As given."""
        return self._parallel

    def describe_scene(self, observation: Observation, *, seed: int) -> Utterance:
        """See `Perceiver.describe_scene`."""
        return self._say(observation, "describe", seed, sentences=self._sentences)

    def answer(self, observation: Observation, question: str, *, seed: int) -> Utterance:
        """See `Perceiver.answer`."""
        return self._say(observation, "answer", seed, question=question)

    def describe(self) -> dict[str, Any]:
        """The model and the camera."""
        return {"perceiver": "prompted", "camera": self._camera, "model": self._model.describe()}

    def _say(self, observation: Observation, prompt: str, seed: int, **values: object) -> Utterance:
        key = f"images.{self._camera}"
        if key not in observation:
            raise ContractError(
                f"the observation has no {key}; it has {sorted(observation)}. Does the world show images?"
            )
        text = fill_prompt(__package__ or "", prompt, self._prompts, **values)
        message = Message(role="user", text=text, images=(observation[key],))
        completion = self._model.complete(
            Request(messages=(message,), max_tokens=self._max_tokens, temperature=0.0, seed=seed)
        )
        return Utterance(text=completion.text.strip(), cost=completion.cost("vlm"))
