"""The text oracle: the world's own text in the place of a vision-language model."""

from __future__ import annotations

from typing import Any

from ...cost import Cost
from ...envs import Observation
from ...errors import ContractError
from ...perception.llm import Utterance


class TextOracle:
    """A `Perceiver` that repeats what the world says: privileged, because the text lists everything."""

    @property
    def name(self) -> str:
        """That it is an oracle."""
        return "text oracle"

    @property
    def parallel(self) -> int:
        """One: there is nothing to wait for."""
        return 1

    def describe_scene(self, observation: Observation, *, seed: int) -> Utterance:
        """The text.

        Raises:
            ContractError: the observation has none.
        """
        del seed
        if "text" not in observation:
            raise ContractError(f"the text oracle needs a text world; the observation has {sorted(observation)}.")
        return Utterance(text=str(observation["text"]), cost=Cost())

    def answer(self, observation: Observation, question: str, *, seed: int) -> Utterance:
        """The text again: it already says everything."""
        del question
        return self.describe_scene(observation, seed=seed)

    def describe(self) -> dict[str, Any]:
        """That it is an oracle."""
        return {"perceiver": "oracle"}
