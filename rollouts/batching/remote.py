"""A policy that another process holds, behind the policy's own contract: nothing above it knows the difference."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from ...agents.policy import Policy, Proposal
from ...cost import Cost
from ...envs import Array, Conventions, Observation
from .line import EXTRAS, About, Call, Line, Method, Unbuilt

QUEUE = "queue"
"""The ledger's stage for waiting: for others' turns, and for the way there and back."""


class RemotePolicy:
    """Asks whoever holds the policy.

    Args:
        line: to it.
        about: what it said of the policy.
    """

    def __init__(self, line: Line, about: About) -> None:
        self.name = about.name
        self.conventions: Conventions | None = about.conventions
        self._line, self._about = line, about

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """What the policy itself proposes; its ledger has the waiting as the stage ``queue``.

        Raises:
            Exception: whatever the policy raised.
            PolicyLost: its process ended.
        """
        return self._proposal("propose", observation=dict(observation), n=n, seed=seed)

    def describe(self) -> dict[str, Any]:
        """The policy's own description."""
        return self._about.described

    def _proposal(self, method: Method, **arguments: Any) -> Proposal:
        began = time.perf_counter()
        proposal: Proposal = self._call(method, **arguments)
        waited = time.perf_counter() - began - sum(proposal.cost.seconds.values())
        return dataclasses.replace(proposal, cost=proposal.cost + Cost(seconds={QUEUE: max(0.0, waited)}))

    def _call(self, method: Method, **arguments: Any) -> Any:
        answer = self._line.ask(Call(method=method, arguments=arguments))
        if answer.error is not None:
            raise answer.error
        return answer.value


class RemoteFlowPolicy(RemotePolicy):
    """The same for a policy that extends proposals and shows its velocity field."""

    def extend(self, proposal: Proposal, n: int, *, seed: int) -> Proposal:
        """More candidates for a proposal; see `thinktwice.agents.policies.bundled.BundledPolicy.extend`."""
        return self._proposal("extend", proposal=proposal, n=n, seed=seed)

    def velocity(self, proposal: Proposal, chunks: Array, time: float) -> Array:
        """``float32[N, T, A]``; see `thinktwice.agents.policies.bundled.BundledPolicy.velocity`."""
        return self._call("velocity", proposal=proposal, chunks=chunks, time=time)


def remote_policy(line: Line) -> Policy:
    """The policy at the other end of a line.

    Raises:
        ThinkTwiceError: it cannot be built.
        PolicyLost: nobody holds it.
    """
    about = line.about()
    if isinstance(about, Unbuilt):
        raise about.error
    return RemoteFlowPolicy(line, about) if about.extras == EXTRAS else RemotePolicy(line, about)
