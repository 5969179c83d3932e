"""Play one episode and fold its steps into the record and the trace."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..agents import Agent
from ..cost import Cost
from ..envs import Array, EpisodeId
from ..envs.observations import STATE, TASK, TEXT
from ..errors import ContractError
from .episode import Step, rollout
from .records import EpisodeRecord
from .traces import Trace, TracedDecision


@dataclasses.dataclass(kw_only=True)
class Recording:
    """An episode so far.  It can be read at any moment, also after the episode broke.

    Attributes:
        episode: which episode.
        decisions: what was decided, without the observations' images.
    """

    episode: EpisodeId
    decisions: list[TracedDecision] = dataclasses.field(default_factory=list[TracedDecision])
    _executed: list[Array] = dataclasses.field(default_factory=list[Array])
    _rewards: list[Array] = dataclasses.field(default_factory=list[Array])
    _success: list[bool] = dataclasses.field(default_factory=list[bool])
    _states: list[Array] = dataclasses.field(default_factory=list[Array])
    _instruction: str = ""
    _last: Step | None = None

    def add(self, step: Step) -> None:
        """Fold one step in.

        Raises:
            ContractError: the world does not report ``is_success`` after every action.
        """
        silent = [sorted(info) for info in step.infos if "is_success" not in info]
        if silent:
            raise ContractError(f"the world must report info['is_success'] at every step; it gave {silent[0]}.")
        if not self.decisions:
            self._instruction = str(step.observation.get(TASK, ""))
        if STATE in step.observation:
            seen = [step.next_observation] if self._states else [step.observation, step.next_observation]
            self._states += [np.array(observation[STATE]) for observation in seen]
        self._executed.append(np.array(step.executed))
        self._rewards.append(step.rewards)
        self._success += [bool(info["is_success"]) for info in step.infos]
        self.decisions.append(_traced(step))
        self._last = step

    def trace(self) -> Trace | None:
        """The trace so far, or None when nothing was executed."""
        if self._last is None:
            return None
        return Trace(
            episode=self.episode,
            instruction=self._instruction,
            actions=np.concatenate(self._executed),
            rewards=np.concatenate(self._rewards),
            success=np.array(self._success),
            states=np.stack(self._states) if self._states else None,
            decisions=tuple(self.decisions),
            final_text=self._last.next_observation.get(TEXT),
        )

    def record(self, *, error: str | None = None) -> EpisodeRecord:
        """The episode's record.

        Args:
            error: what broke it, in one line; None when it was played to its end.

        Raises:
            ContractError: a metric of the world is not a finite number.
        """
        trace, last = self.trace(), self._last
        if trace is None or last is None:
            return EpisodeRecord(episode=self.episode, status="error", error=error or "nothing was executed")
        status = "error" if error else "success" if last.success else "failure"
        return EpisodeRecord(
            episode=self.episode,
            status=status,
            success_at_end=last.success,
            success_once=any(self._success),
            steps=len(trace.actions),
            decisions=len(self.decisions),
            deliberated=sum(decision.mode == "deliberate" for decision in self.decisions),
            episode_return=float(trace.rewards.sum(dtype=np.float64)),
            terminated=last.terminated,
            truncated=last.truncated,
            cost=Cost.total(decision.cost for decision in self.decisions),
            metrics={} if error else _metrics(last.infos[-1].get("metrics", {})),
            trajectory=trace.digest(),
            error=error,
        )

    def latency(self) -> dict[str, list[float]]:
        """Seconds of each decision by stage, as `AttemptRecord.latency` holds them."""
        stages: dict[str, list[float]] = {}
        for decision in self.decisions:
            spent = {f"act.{stage}": seconds for stage, seconds in decision.cost.seconds.items()}
            for stage, seconds in {**decision.seconds, **spent}.items():
                stages.setdefault(stage, []).append(round(float(seconds), 6))
        return stages


def _traced(step: Step) -> TracedDecision:
    decision = step.decision
    return TracedDecision(
        index=step.index,
        mode=decision.mode,
        why=decision.why,
        doubt=decision.doubt,
        chunk=decision.chunk,
        executed=len(step.executed),
        candidates=decision.candidates if len(decision.candidates) else [],
        chosen=decision.chosen,
        preferences=decision.preferences,
        cost=decision.cost,
        seconds=step.seconds,
        text=step.observation.get(TEXT),
        notes=decision.notes,
    )


def play(env: gym.Env[Any, Any], agent: Agent, recording: Recording) -> dict[str, float]:
    """Play the recording's episode to its end.

    Args:
        env: a world wrapped in `thinktwice.envs.MultiStep`.
        agent: acts.
        recording: an empty one; it holds what was played also when this raises.

    Returns:
        Wall seconds: ``reset``, ``act``, ``world``.
    """
    seconds = {"reset": 0.0, "act": 0.0, "world": 0.0}
    began = time.perf_counter()
    for step in rollout(env, agent, recording.episode):
        if step.index == 0:
            seconds["reset"] = time.perf_counter() - began - sum(step.seconds.values())
        for stage, spent in step.seconds.items():
            seconds[stage] += spent
        recording.add(step)
    return seconds


def _metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
    result = {str(name): float(value) for name, value in sorted(metrics.items())}
    bad = [name for name, value in result.items() if not math.isfinite(value)]
    if bad:
        raise ContractError(f"the world's metrics {bad} are not finite; leave a metric out where it is undefined.")
    return result
