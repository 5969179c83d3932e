"""The holder's work: build the policy, and answer the questions that have come in."""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Sequence

from ...agents.catalog import build_policy
from ...agents.policy import Look, Policy, ProposesTogether
from ...envs import World
from ...errors import ThinkTwiceError
from ..messages import one_line, portable, survives
from .line import EXTRAS, About, Answer, Call, Unbuilt


@dataclasses.dataclass(kw_only=True)
class Holder:
    """A built policy and an account of what it did.

    Attributes:
        policy: answers.
        sound: False once it raised what no policy raises on purpose: then nobody knows its state, and its process
            should be replaced.
        proposals: how many were asked for.
        calls: in how many calls of the policy.
    """

    policy: Policy
    sound: bool = True
    proposals: int = 0
    calls: int = 0

    def about(self) -> About:
        """What is told to workers."""
        return About(
            name=self.policy.name,
            conventions=self.policy.conventions,
            described=self.policy.describe(),
            extras=tuple(name for name in EXTRAS if hasattr(self.policy, name)),
        )

    def answer(self, calls: Sequence[Call]) -> list[Answer]:
        """An answer for each call, proposals together where the policy can."""
        proposing = [place for place, call in enumerate(calls) if call.method == "propose"]
        answers: dict[int, Answer] = {}
        if len(proposing) > 1 and isinstance(self.policy, ProposesTogether):
            looks = [Look(**calls[place].arguments) for place in proposing]
            try:
                together = self.policy.propose_many(looks)
            except Exception as error:  # noqa: BLE001  asked one by one, each gets its own answer
                sys.stderr.write(f"asking one by one, because together they gave {one_line(error)}\n")
            else:
                self.proposals, self.calls = self.proposals + len(looks), self.calls + 1
                answers = {place: Answer(value=proposal) for place, proposal in zip(proposing, together, strict=True)}
        return [answers[place] if place in answers else self._answer(call) for place, call in enumerate(calls)]

    def _answer(self, call: Call) -> Answer:
        if call.method == "propose":
            self.proposals, self.calls = self.proposals + 1, self.calls + 1
        try:
            return Answer(value=getattr(self.policy, call.method)(**call.arguments))
        except Exception as error:  # noqa: BLE001  whatever a policy raises is the worker's to handle
            sys.stderr.write(traceback.format_exc())
            self.sound = self.sound and isinstance(error, ThinkTwiceError)
            return Answer(error=error if survives(error) else RuntimeError(one_line(error)))


def hold(world: World, spec: str) -> Holder | Unbuilt:
    """Build the policy of a ``--policy`` value for a world; nothing is simulated.

    Raises:
        Exception: building failed, and another try may help.
    """
    env = world.make()
    try:
        return Holder(policy=build_policy(spec, env))
    except Exception as error:
        wrong = portable(error)
        if wrong is None:
            raise
        return Unbuilt(error=wrong)
    finally:
        env.close()
