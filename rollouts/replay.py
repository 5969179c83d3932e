"""Play a recorded episode again, action by action, and make sure that it is the same episode."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import gymnasium as gym
import numpy as np

from ..envs import Action, Array, Observation, SavesState
from ..envs.observations import STATE
from ..errors import RecordError, UsageError
from .traces import Trace


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frame:
    """One action of a replayed episode and what was seen around it.

    Attributes:
        index: the action's place in the episode, from 0.
        observation: before the action.
        action: as it was executed.
        reward: after the action.
        success: whether the task was solved after it.
        ended: whether it was the episode's last action.
        next_observation: after the action.
    """

    index: int
    observation: Observation
    action: Action
    reward: float
    success: bool
    ended: bool
    next_observation: Observation


def replay(env: gym.Env[Any, Any], trace: Trace) -> Iterator[Frame]:
    """Replay a finished episode in its own world, yielding a frame per action.

    Every action's reward and success, the state at every decision, and the end are compared with the record for
    exact equality: a replay that drifts would give frames that do not belong to the actions.

    Args:
        env: the unwrapped world, or one that shows it with other cameras.
        trace: what was executed.

    Raises:
        UsageError: the world is no simulation that can be put back exactly; a real robot must not move again.
        RecordError: the replay differs from the record; the message says where and by how much.
        WorldError: the simulator failed.
    """
    if not isinstance(env.unwrapped, SavesState):
        raise UsageError(f"{env.unwrapped} cannot be replayed: it is no simulation that can be put back exactly.")
    episode = trace.episode
    looks = (
        dict(zip(accumulate((d.executed for d in trace.decisions), initial=0), trace.states, strict=True))
        if (trace.states is not None)
        else {}
    )
    observation, _ = env.reset(seed=episode.seed, options=episode.options())
    _check_state(observation, looks.get(0), trace, 0)
    last = len(trace.actions) - 1
    for index, action in enumerate(trace.actions):
        following, reward, terminated, truncated, info = env.step(action)
        success, ended = bool(info["is_success"]), bool(terminated or truncated)
        _check("reward", np.float32(reward), trace.rewards[index], trace, index)
        _check("success", success, bool(trace.success[index]), trace, index)
        _check("end of the episode", ended, index == last, trace, index)
        _check_state(following, looks.get(index + 1), trace, index + 1)
        yield Frame(
            index=index,
            observation=observation,
            action=action,
            reward=float(reward),
            success=success,
            ended=ended,
            next_observation=following,
        )
        observation = following


def _check(what: str, now: Any, recorded: Any, trace: Trace, index: int) -> None:
    if now != recorded:
        raise RecordError(_differs(trace, f"action {index}", f"the {what} is {now}, recorded as {recorded}"))


def _check_state(observation: Observation, recorded: Array | None, trace: Trace, executed: int) -> None:
    if recorded is None:
        return
    now = np.asarray(observation[STATE])
    if np.array_equal(now, recorded):
        return
    if now.shape != recorded.shape:
        what = f"the state has shape {list(now.shape)}, recorded as {list(recorded.shape)}"
    else:
        at = int(np.argmax(now != recorded))
        what = f"state[{at}] is {now[at]!r}, recorded as {recorded[at]!r}"
    raise RecordError(_differs(trace, f"{executed} actions", what))


def _differs(trace: Trace, where: str, what: str) -> str:
    return (
        f"replaying episode {trace.episode.key} differs from its record after {where} of {len(trace.actions)}: {what}. "
        "Replay with the versions and the platform that the run's run.yaml names."
    )
