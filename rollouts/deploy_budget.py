"""A compute budget per decision: deliberation that would be late is not waited for."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

from ..agents import Agent, Decision
from ..envs import Observation
from ..errors import ConfigError, ContractError


class BudgetedAgent:
    """Lets an agent deliberate for a while, and acts by reflex when it is not done in time.

    The late decision is thrown away when it comes: it was made for a world that has moved on.  While the agent is still
    busy with it, later decisions are reflexes too.

    Args:
        agent: deliberates, in a thread of its own.
        reflex: decides at once when the agent is late.
        seconds: how long the agent may take.

    Raises:
        ConfigError: ``seconds`` is not positive.
    """

    def __init__(self, agent: Agent, reflex: Agent, *, seconds: float) -> None:
        if not seconds > 0:
            raise ConfigError(f"a decision's budget must be more than 0 s, got {seconds}.")
        self._agent, self._reflex, self._seconds = agent, reflex, seconds
        self._busy: _Thinking | None = None

    def reset(self, *, seed: int) -> None:
        """Begin an episode; a decision that is still being made is waited for, because the agent's state is in use."""
        if self._busy is not None:
            self._busy.join()
            self._busy = None
        self._agent.reset(seed=seed)
        self._reflex.reset(seed=seed)

    def act(self, observation: Observation) -> Decision:
        """The agent's decision if it comes in time, else the reflex with the reason in ``notes["late"]``."""
        began = time.perf_counter()
        if self._busy is not None and not self._busy.is_alive():
            self._busy = None
        if self._busy is None:
            self._busy = _Thinking(self._agent, observation)
            self._busy.start()
            self._busy.join(self._seconds)
            if not self._busy.is_alive():
                thought, self._busy = self._busy, None
                return thought.result()
            why = f"deliberation took longer than {self._seconds * 1e3:.0f} ms"
        else:
            why = "deliberation on an earlier look is still going on"
        decision = self._reflex.act(observation)
        waited = time.perf_counter() - began
        notes = {**decision.notes, "late": why, "late_seconds": round(waited, 4)}
        return dataclasses.replace(decision, mode="reflex", why=f"reflex: {why}", notes=notes)

    def describe(self) -> dict[str, Any]:
        """The agent's own description, and the budget."""
        return {**self._agent.describe(), "budget_seconds": self._seconds}


class _Thinking(threading.Thread):
    def __init__(self, agent: Agent, observation: Observation) -> None:
        super().__init__(name="deliberation", daemon=True)
        self._agent, self._observation = agent, observation
        self._decision: Decision | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._decision = self._agent.act(self._observation)
        except Exception as error:  # noqa: BLE001  # raised again where the decision is asked for
            self._error = error

    def result(self) -> Decision:
        if self._decision is None:
            raise self._error or ContractError("the agent decided nothing")
        return self._decision
