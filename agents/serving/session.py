"""One client's agent: a message in, a message out.  It knows no sockets."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from ...envs import Chunk, Conventions, Observation, check_chunk
from ...errors import ContractError
from ..agent import Agent
from ..policy import Policy
from .arrays import pack, unpack
from .keys import Keys
from .protocol import ACTIONS, EXTRA, TIMING, Answer, Ask, Draw, extra, plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
    """What a session needs to know of the world and the policy.

    Attributes:
        space: the world's actions.
        conventions: of the observations that the agent takes.
        keys: how they are named in a message.
        policy: proposes on request, where the agent is nothing but its reflex; else None.
        execute: how many actions of each chunk are sent; None for all.
        seed: of an agent that no client resets.
    """

    space: spaces.Space[Any]
    conventions: Conventions
    keys: Keys
    policy: Policy | None
    execute: int | None
    seed: int


class Session:
    """An agent of its own for one client.

    Args:
        agent: acts; nobody else uses it.
        served: what it acts in.

    Attributes:
        decisions: answers given.
        deliberated: how many of them were deliberated.
    """

    def __init__(self, agent: Agent, served: Served) -> None:
        self._agent, self._served = agent, served
        self.decisions = self.deliberated = 0
        agent.reset(seed=served.seed)

    def answer(self, frame: bytes | str) -> bytes:
        """Decide.

        Args:
            frame: a msgpack map: an observation, and optionally what `Ask` says.

        Returns:
            A msgpack map: ``actions`` (``float32[T, A]``, or a list), ``server_timing``, and what `Answer` says.

        Raises:
            ContractError: the request is no such map, its observation is not what is expected, or the agent's own
                decision has a wrong shape or is not finite.
        """
        if isinstance(frame, str):
            raise ContractError(f"a request is a binary frame with a msgpack map, got text: {frame[:80]!r}.")
        message = unpack(frame)
        ask = extra(message, Ask) or Ask()
        named = {key: value for key, value in cast("Mapping[Any, Any]", message).items() if key != EXTRA}
        observation = self._served.keys.receive(named, self._served.conventions)
        began = time.perf_counter()
        actions, answer = self._draw(observation, ask.propose) if ask.propose else self._decide(observation, ask.reset)
        timing = {"infer_ms": (time.perf_counter() - began) * 1e3}
        self.decisions += 1
        self.deliberated += answer.deliberated
        return pack({ACTIONS: actions, TIMING: timing, EXTRA: answer.model_dump()})

    def _decide(self, observation: Observation, reset: int | None) -> tuple[Any, Answer]:
        if reset is not None:
            self._agent.reset(seed=reset)
        decision = self._agent.act(observation)
        answer = Answer(
            deliberated=decision.mode == "deliberate",
            why=decision.why,
            doubt=None if decision.doubt is None else float(decision.doubt),
            candidates=len(decision.candidates),
            chosen=decision.chosen,
            cost=decision.cost.to_json(),
            notes=plain(decision.notes),
        )
        return self._checked(decision.chunk), answer

    def _draw(self, observation: Observation, draw: Draw) -> tuple[Any, Answer]:
        policy = self._served.policy
        if policy is None:
            raise ContractError("the served agent decides by itself and proposes no candidates. Leave 'propose' out.")
        proposal = policy.propose(observation, draw.n, seed=draw.seed)
        chunks = [self._checked(chunk[: self._served.execute]) for chunk in proposal.chunks]
        answer = Answer(
            cost=proposal.cost.to_json(),
            notes=plain(proposal.notes),
            chunks=np.stack(chunks) if isinstance(self._served.space, spaces.Box) else chunks,
            features={name: np.asarray(value) for name, value in proposal.features.items()},
        )
        return chunks[0], answer

    def _checked(self, chunk: Chunk) -> Any:
        check_chunk(chunk, self._served.space)
        return np.asarray(chunk, np.float32) if isinstance(self._served.space, spaces.Box) else list(chunk)
