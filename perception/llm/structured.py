"""Answers by schema: asked for, checked strictly, asked for again with the reason, and never guessed.

An answer may be wrapped in a thinking block and in one fence of code, because models are trained to do both.
Beyond that it must be exactly one JSON object of the schema.  Taking the nearest valid action for an invalid answer
would make a model look better, or worse, than it is.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from ...cost import Cost
from ...errors import ModelError
from .contract import ChatModel, Message, Request

_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(?P<inside>.*?)\n?\s*```\s*\Z", re.DOTALL)
_RETRY_TEMPERATURE = 0.5
_SHOWN = 400
"""Characters of a rejected answer that an error shows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Structured[Answer: BaseModel]:
    """A checked answer and what it took.

    Attributes:
        answer: the first that passed.
        exchanges: every try as plain data: the request's last message, the answer, why it was rejected.
        cost: of all tries.
    """

    answer: Answer
    exchanges: tuple[dict[str, Any], ...]
    cost: Cost


class AnswerRejected(ModelError):
    """No answer passed within the tries.

    Args:
        message: what was asked, how often, and why the last answer was rejected.
        exchanges: every try, as in `Structured`.
        cost: of all tries.
    """

    def __init__(self, message: str, *, exchanges: Sequence[dict[str, Any]], cost: Cost) -> None:
        super().__init__(message)
        self.exchanges, self.cost = tuple(exchanges), cost


def ask_structured[Answer: BaseModel](
    model: ChatModel,
    request: Request,
    schema: type[Answer],
    *,
    tries: int,
    check: Callable[[Answer], str | None] | None = None,
    allowed: Mapping[str, Sequence[str]] | None = None,
) -> Structured[Answer]:
    """Ask for an answer by schema until one passes.

    Args:
        model: whom.
        request: what; its schema is set from ``schema``.
        schema: what the answer must be.
        tries: how often at most, the first included.
        check: says what is wrong with an answer that follows the schema, or None when nothing is.
        allowed: the values that a field of text may have.  They go into the schema that the endpoint gets, which a
            grammar-constrained server cannot leave; ``check`` must still check them, for other servers.

    Raises:
        AnswerRejected: no answer passed.
        RequestFailed: the endpoint gave none.
    """
    messages = list(request.messages)
    exchanges: list[dict[str, Any]] = []
    cost = Cost()
    reason = ""
    for attempt in range(1, tries + 1):
        # A try with the same seed, or a greedy one, would be answered as before.
        asked = dataclasses.replace(
            request,
            messages=messages,
            schema=_narrowed(schema, allowed or {}),
            seed=request.seed + attempt - 1,
            temperature=request.temperature if attempt == 1 else max(request.temperature, _RETRY_TEMPERATURE),
        )
        completion = model.complete(asked)
        cost = cost + completion.cost("llm")
        answer, reason = parse_answer(completion.text, schema)
        if completion.finish == "length" and answer is None:
            reason = f"it was cut off after {request.max_tokens} tokens: {reason}"
        if answer is not None and check is not None:
            reason = check(answer) or ""
        exchanges.append(
            {
                "prompt": messages[-1].text,
                "answer": completion.text,
                "rejected": reason,
                "prompt_tokens": completion.prompt_tokens,
                "completion_tokens": completion.completion_tokens,
                "retries": completion.retries,
                "cached": completion.cached,
            }
        )
        if answer is not None and not reason:
            return Structured(answer=answer, exchanges=tuple(exchanges), cost=cost)
        messages += [
            Message(role="assistant", text=completion.text or "(nothing)"),
            Message(role="user", text=f"That answer cannot be used: {reason} Answer again, with the JSON object only."),
        ]
    raise AnswerRejected(
        f"{model.name} gave no usable {schema.__name__} in {tries} tries. The last was rejected because {reason}",
        exchanges=exchanges,
        cost=cost,
    )


def _narrowed(schema: type[BaseModel], allowed: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    found = schema.model_json_schema()
    for field, values in allowed.items():
        found["properties"][field]["enum"] = list(values)
    return found


def parse_answer[Answer: BaseModel](text: str, schema: type[Answer]) -> tuple[Answer | None, str]:
    """The answer in a text, or None and why it cannot be used."""
    bare = _THINKING.sub("", text, count=1).strip()
    fence = _FENCE.match(bare)
    bare = fence["inside"].strip() if fence else bare
    if not bare:
        return None, "it is empty."
    shown = bare if len(bare) <= _SHOWN else bare[:_SHOWN] + "…"
    try:
        data = json.loads(bare, object_pairs_hook=_without_repeats)
    except ValueError as error:
        return None, f"it is not one JSON object ({error}): {shown!r}."
    if not isinstance(data, dict):
        return None, f"it is a {type(data).__name__}, not one JSON object: {shown!r}."
    try:
        return schema.model_validate(data, strict=True), ""
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the object"
        return None, f"{where}: {first['msg']} in {shown!r}."


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"a key stands twice among {names}")
    return dict(pairs)
