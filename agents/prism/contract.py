"""The pieces of PRISM's loop: what the reasoner is shown, what it says, and who may be one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from ...cost import Cost

type Line = Annotated[str, Field(max_length=160)]
"""A short text: limits stand in the schema, so that a small model under a grammar comes to an end."""


class Critique(BaseModel):
    """What the reasoner thinks of what it knows.  The schema is what a language model must answer with."""

    model_config = ConfigDict(extra="forbid")

    sufficient: bool = Field(description="whether enough is known to choose the next action")
    missing: list[Line] = Field(max_length=6, description="what is not known and matters for the goal")
    questions: list[Line] = Field(
        max_length=6, description="questions about the image that would tell it; empty when sufficient"
    )


class Summary(BaseModel):
    """A compact description."""

    model_config = ConfigDict(extra="forbid")

    summary: str = Field(
        min_length=1, max_length=600, description="what matters for the goal, in at most three sentences"
    )


class Choice(BaseModel):
    """The next action."""

    model_config = ConfigDict(extra="forbid")

    action: str = Field(description="one of the admissible actions, copied exactly")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Memory:
    """One past decision.

    Attributes:
        summary: what the agent then took the scene to be.
        action: what it did.
        feedback: what the world said to that.
    """

    summary: str
    action: str
    feedback: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Situation:
    """Everything that the reasoner may know.

    Attributes:
        task: the instruction.
        feedback: what the world said last, as far as the agent may read it.
        choices: the admissible actions.
        memory: past decisions, oldest first.
        description: the perceiver's, goal-agnostic.
        answers: questions asked about this scene and their answers, in order.
        summary: the synthesis, once there is one.
    """

    task: str
    feedback: str
    choices: tuple[str, ...]
    memory: tuple[Memory, ...]
    description: str
    answers: tuple[tuple[str, str], ...] = ()
    summary: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Said[Value]:
    """What a reasoner said.

    Attributes:
        value: the usable answer.
        exchanges: every try as plain data, for the trace.
        cost: of all tries.
    """

    value: Value
    exchanges: Sequence[dict[str, Any]]
    cost: Cost


@runtime_checkable
class Reasoner(Protocol):
    """Decides from words.  Pure given its arguments."""

    @property
    def name(self) -> str:
        """What a record calls it."""
        ...

    def critique(self, situation: Situation, *, questions: int, seed: int) -> Said[Critique]:
        """Whether enough is known, and otherwise at most ``questions`` questions.

        Raises:
            ModelError: no usable answer within the tries.
        """
        ...

    def synthesise(self, situation: Situation, *, seed: int) -> Said[str]:
        """A compact description of the scene for this goal."""
        ...

    def decide(self, situation: Situation, *, seed: int) -> Said[str]:
        """One of the situation's choices, exactly.

        Raises:
            ModelError: no admissible answer within the tries.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record."""
        ...
