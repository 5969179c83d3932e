"""A language model as the reasoner: prompts in, checked JSON out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ...errors import choices as suggestions
from ...perception.llm import ChatModel, Message, Request, Structured, ask_structured
from ...perception.llm.prompting import fill_prompt
from .contract import Choice, Critique, Said, Situation, Summary


class PromptedReasoner:
    """See `Reasoner`.

    Args:
        model: the language model.
        tries: answers per question, the first included, before the episode ends in an error.
        prompts: a folder with own versions of the prompts, or None.
        max_tokens: the longest answer.
    """

    def __init__(self, model: ChatModel, *, tries: int, prompts: Path | None = None, max_tokens: int = 384) -> None:
        self._model, self._tries, self._prompts, self._max_tokens = model, tries, prompts, max_tokens

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    def critique(self, situation: Situation, *, questions: int, seed: int) -> Said[Critique]:
        """See `Reasoner.critique`."""

        def check(critique: Critique) -> str | None:
            if not critique.sufficient and not critique.questions:
                return "it says that something is missing and asks nothing."
            if len(critique.questions) > questions:
                return f"it asks {len(critique.questions)} questions, more than {questions}."
            return None

        found = self._ask("critique", situation, Critique, seed=seed, check=check, questions=questions)
        return Said(value=found.answer, exchanges=found.exchanges, cost=found.cost)

    def synthesise(self, situation: Situation, *, seed: int) -> Said[str]:
        """See `Reasoner.synthesise`."""
        found = self._ask("synthesise", situation, Summary, seed=seed)
        return Said(value=found.answer.summary, exchanges=found.exchanges, cost=found.cost)

    def decide(self, situation: Situation, *, seed: int) -> Said[str]:
        """See `Reasoner.decide`."""

        def check(choice: Choice) -> str | None:
            if choice.action in situation.choices:
                return None
            return f"{choice.action!r} is not admissible. {suggestions(choice.action, situation.choices, limit=40)}"

        allowed = {"action": situation.choices}
        found = self._ask(
            "decide", situation, Choice, seed=seed, check=check, allowed=allowed, summary=situation.summary
        )
        return Said(value=found.answer.action, exchanges=found.exchanges, cost=found.cost)

    def describe(self) -> dict[str, Any]:
        """The model, its tries, and whether its prompts are the user's own."""
        own = None if self._prompts is None else str(self._prompts)
        return {"reasoner": "prompted", "tries": self._tries, "prompts": own, "model": self._model.describe()}

    def _ask[Answer: BaseModel](
        self,
        prompt: str,
        situation: Situation,
        schema: type[Answer],
        *,
        seed: int,
        check: Callable[[Answer], str | None] | None = None,
        allowed: Mapping[str, Sequence[str]] | None = None,
        **fields: object,
    ) -> Structured[Answer]:
        body = self._fill(prompt, situation=self._situation(situation), **fields)
        messages = (
            Message(role="system", text=self._fill("system", task=situation.task)),
            Message(role="user", text=body),
        )
        request = Request(messages=messages, max_tokens=self._max_tokens, seed=seed)
        return ask_structured(self._model, request, schema, tries=self._tries, check=check, allowed=allowed)

    def _situation(self, situation: Situation) -> str:
        past = [f"- {memory.summary} | {memory.action} | {memory.feedback}" for memory in situation.memory]
        answers = [f"Asked: {question} Answer: {answer}" for question, answer in situation.answers]
        return self._fill(
            "situation",
            memory="\n".join(past) or "(nothing yet)",
            feedback=situation.feedback,
            description=situation.description,
            answers="\n".join(answers),
            choices="\n".join(f"- {choice}" for choice in situation.choices),
        )

    def _fill(self, name: str, **fields: object) -> str:
        return fill_prompt(__package__ or "", name, self._prompts, **fields)
