"""What both sides say beside openpi's own protocol, under one extra key, which other openpi programs ignore.

openpi's protocol: the server sends a map of metadata when a client connects; each request is a map with an observation,
each answer a map with ``actions``; an error is a text frame with the traceback, after which the server hangs up.

| message | under ``"thinktwice"`` |
| --- | --- |
| metadata | `About` |
| request | `Ask`; without it the served agent goes on with its episode |
| answer | `Answer` |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import ContractError

EXTRA = "thinktwice"
"""The key of everything that openpi does not know."""
ACTIONS = "actions"
TIMING = "server_timing"
"""openpi's key of ``{"infer_ms": …}``."""
MAX_BYTES = 32 * 2**20
"""Of one message, ten images of a megapixel; a larger one closes the connection."""


class About(BaseModel):
    """What is served.

    Attributes:
        protocol: of these messages.
        version: of thinktwice on the server.
        world: which world's observations it expects.
        conventions: of the observations and actions, as `thinktwice.envs.Conventions.to_json` gives them.
        keys: how observations are named (`thinktwice.agents.serving.KEYS`).
        agent: `Agent.describe` of what is served.
        proposes: it answers `Draw`: any number of candidates for any seed, without state.
        warm: it has decided once already.
    """

    model_config = ConfigDict(frozen=True)

    protocol: Literal[1] = 1
    version: str
    world: str
    conventions: dict[str, Any]
    keys: str
    agent: dict[str, Any]
    proposes: bool
    warm: bool


class Draw(BaseModel):
    """A request for candidates: `Policy.propose` of the served policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int = Field(ge=1)
    seed: int


class Ask(BaseModel):
    """What a client may ask for beside the next actions.

    Attributes:
        reset: an episode begins with this observation: reset the agent with this seed first.
        propose: candidates instead of the agent's decision.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reset: int | None = None
    propose: Draw | None = None


class Answer(BaseModel):
    """How the actions were decided.

    A decision holds no arrays: openpi-client's ``ActionChunkBroker`` takes every array of an answer for a chunk.

    Attributes:
        deliberated: the agent deliberated.
        why: its reason in a sentence.
        doubt: the gate's measure, or None when no gate looked.
        candidates: how many it chose among; 0 when there was no choice.
        chosen: the place of the chosen one, or None.
        cost: the ledger, as `thinktwice.Cost.to_json` gives it: counts, and seconds by stage.
        notes: the decision's or the proposal's notes, as plain data.
        chunks: the answer to `Draw`: ``float32[N, T, A]``, or N lists of discrete or text actions.
        features: the answer to `Draw`: the policy's features, for critics.
    """

    model_config = ConfigDict(frozen=True)

    deliberated: bool = False
    why: str = ""
    doubt: float | None = None
    candidates: int = 0
    chosen: int | None = None
    cost: dict[str, Any] = Field(default_factory=dict[str, Any])
    notes: dict[str, Any] = Field(default_factory=dict[str, Any])
    chunks: Any = None
    features: dict[str, Any] = Field(default_factory=dict[str, Any])


def extra[Part: BaseModel](message: Any, kind: type[Part]) -> Part | None:
    """The part of a message under our key, or None where there is none.

    Raises:
        ContractError: the message is no map, or the part is not of its kind.
    """
    if not isinstance(message, Mapping):
        raise ContractError(f"a message must be a map, got {type(message).__name__}.")
    part = cast("Mapping[Any, Any]", message).get(EXTRA)
    if part is None:
        return None
    try:
        return kind.model_validate(part)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ContractError(
            f"the part {EXTRA!r} of a message is no {kind.__name__}: {place}: {first['msg']}."
        ) from error


def plain(value: Any) -> Any:
    """Notes as maps with text keys, lists, text, numbers and None; arrays become lists, anything else its text."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {str(name): plain(entry) for name, entry in entries}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in cast("list[Any]", value)]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
