"""The reasoner behind an OpenAI-compatible multimodal model: the same three questions, asked in words and images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from ..envs import Array
from ..envs.rooms.furniture import FURNITURE
from ..envs.rooms.kinds import COLOURS, MATERIALS
from ..envs.rooms.layout import FLOORS
from ..envs.rooms.objects import OBJECTS
from ..envs.rooms.queries import Query
from ..errors import UsageError
from .llm import ChatModel, Message, Request, ask_structured
from .reasoner import Facts, Option, Reply, Verdict

_SYSTEM = (
    "You guide a robot that searches an unknown house for one object and segments it. "
    "Answer with one JSON object of the given schema and nothing else."
)


class MeaningAnswer(BaseModel):
    """What an expression means."""

    kinds: list[str] = Field(description="the object kinds that may be meant, from the vocabulary")
    colour: str = Field("", description="its colour, or empty")
    material: str = Field("", description="its material, or empty")
    size: Literal["", "small", "medium", "large"] = ""
    room: str = Field("", description="the room it is said to be in, or empty")
    relation: Literal["", "on", "in", "under", "beside"] = ""
    support: str = Field("", description="the furniture of that relation, or empty")
    place: int = Field(0, ge=0, le=9, description="its place counted from the left, or 0")
    why: str = Field(max_length=400)


class RankingAnswer(BaseModel):
    """A value per option."""

    values: list[float] = Field(description="from 0 to 10, one per option in order; larger is better")
    why: str = Field(max_length=400)


class VerdictAnswer(BaseModel):
    """Whether a candidate is meant."""

    verdict: Literal["accept", "reject", "unsure"]
    why: str = Field(max_length=400)


class PromptedLesaReasoner:
    """Asks a chat model.

    Args:
        model: sees images; any `ChatModel`.
        tries: answers to one question before it is an error.
        seed: of the model's sampler.
    """

    def __init__(self, model: ChatModel, *, tries: int = 3, seed: int = 0) -> None:
        self.name = f"mllm:{model.name}"
        self._model, self._tries, self._seed = model, tries, seed

    def understand(self, expression: str) -> Reply[Query]:
        """What the expression means.

        Raises:
            UsageError: the expression is empty, or the model finds nothing of the vocabulary meant.
            ModelError: no answer passed.
        """
        if not expression.strip():
            raise UsageError('the expression is empty. Say what to find, such as "the red mug on the desk".')
        text = (
            f"The person says: {expression!r}.\n"
            f"Object kinds: {', '.join(OBJECTS)}.\nColours: {', '.join(COLOURS)}.\nMaterials: {', '.join(MATERIALS)}.\n"
            f"Rooms: {', '.join(FLOORS)}.\nFurniture: {', '.join(FURNITURE)}.\n"
            "Which kinds are meant, and what must hold? Leave empty what was not said. "
            "An empty list of kinds says that nothing of the vocabulary is meant."
        )
        result = ask_structured(
            self._model, self._request(text, None), MeaningAnswer, tries=self._tries, check=_check_meaning
        )
        answer = result.answer
        if not answer.kinds:
            raise UsageError(f"the model finds no known object in {expression!r}: {answer.why}")
        goal = Query(
            kinds=tuple(answer.kinds),
            colour=answer.colour,
            material=answer.material,
            size=answer.size,
            room=answer.room,
            relation=answer.relation,
            support=answer.support,
            place=answer.place,
        )
        return Reply(value=goal, why=answer.why, cost=result.cost)

    def rank(self, expression: str, goal: Query, options: Sequence[Option], image: Array | None) -> Reply[list[float]]:
        """The model's value of each option.

        Raises:
            ModelError: no answer passed.
        """
        listed = "\n".join(f"{i}. {option.name} ({option.distance:.1f} m away)" for i, option in enumerate(options, 1))
        text = f"The person says: {expression!r} (sought: {', '.join(goal.kinds)}).\nOptions:\n{listed}\nValue each."
        count = len(options)

        def check(answer: RankingAnswer) -> str | None:
            return None if len(answer.values) == count else f"there are {count} options, not {len(answer.values)}"

        result = ask_structured(self._model, self._request(text, image), RankingAnswer, tries=self._tries, check=check)
        return Reply(value=list(result.answer.values), why=result.answer.why, cost=result.cost)

    def verify(self, expression: str, goal: Query, facts: Facts, image: Array | None) -> Reply[Verdict]:
        """The model's verdict.

        Raises:
            ModelError: no answer passed.
        """
        text = (
            f"The person says: {expression!r} (sought: {', '.join(goal.kinds)}).\n"
            f"The robot's detector and map say of a candidate: {facts.describe()}.\n"
            "Is it what was meant? Say unsure when a nearer look could tell."
        )
        result = ask_structured(self._model, self._request(text, image), VerdictAnswer, tries=self._tries)
        return Reply(value=result.answer.verdict, why=result.answer.why, cost=result.cost)

    def _request(self, text: str, image: Array | None) -> Request:
        images = () if image is None else (image,)
        messages = (Message(role="system", text=_SYSTEM), Message(role="user", text=text, images=images))
        return Request(messages=messages, seed=self._seed)


def _check_meaning(answer: MeaningAnswer) -> str | None:
    unknown = [kind for kind in answer.kinds if kind not in OBJECTS]
    if unknown:
        return f"these kinds are not in the vocabulary: {', '.join(unknown)}"
    for value, known in ((answer.colour, COLOURS), (answer.material, MATERIALS), (answer.room, FLOORS)):
        if value and value not in known:
            return f"{value!r} is none of: {', '.join(known)}"
    if answer.support and answer.support not in FURNITURE:
        return f"{answer.support!r} is no furniture of the list"
    return None
