"""One episode as a stream of steps: everything else is a fold over it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..agents import Agent, Decision
from ..envs import Array, Chunk, EpisodeId, Observation
from ..errors import ContractError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """One decision and what came of it.

    Attributes:
        index: the decision's place in the episode, from 0.
        observation: what the agent saw when it decided.
        decision: what it decided.
        executed: the actions that were really executed: the chunk, or its beginning when the episode ended.
        rewards: ``float32[len(executed)]``.
        terminated: the world ended the episode (success, or a failure that cannot be undone).
        truncated: the step cap ended it.
        success: whether the task is solved at the end of this step.
        infos: the world's ``info`` after each executed action.
        next_observation: what the agent will see next.
        seconds: wall seconds: ``{"act": …, "world": …}``.
    """

    index: int
    observation: Observation
    decision: Decision
    executed: Chunk
    rewards: Array
    terminated: bool
    truncated: bool
    success: bool
    infos: tuple[Mapping[str, Any], ...]
    next_observation: Observation
    seconds: Mapping[str, float]


def rollout(env: gym.Env[Any, Any], agent: Agent, episode: EpisodeId) -> Iterator[Step]:
    """Play one episode, yielding a `Step` per decision.

    Args:
        env: a world wrapped in `thinktwice.envs.MultiStep`.
        agent: acts; it is reset with the episode's seed.
        episode: which episode to play.

    Raises:
        ContractError: the world reports no ``is_success``, or executed nothing.
        WorldError: the simulator failed; the episode is an error and no failure.
    """
    observation, _ = env.reset(seed=episode.seed, options=episode.options())
    agent.reset(seed=episode.seed)
    index, ended = 0, False
    while not ended:
        began = time.perf_counter()
        decision = agent.act(observation)
        acted = time.perf_counter()
        following, _, terminated, truncated, info = env.step(decision.chunk)
        stepped = time.perf_counter()
        inner = info.get("steps")
        if not inner or "is_success" not in info:
            raise ContractError(
                f"{env} must be wrapped in MultiStep and report info['is_success'] at every step; "
                f"it gave {sorted(info)}."
            )
        ended = bool(terminated or truncated)
        yield Step(
            index=index,
            observation=observation,
            decision=decision,
            executed=decision.chunk[: len(inner)],
            rewards=np.array([entry["reward"] for entry in inner], np.float32),
            terminated=bool(terminated),
            truncated=bool(truncated),
            success=bool(info["is_success"]),
            infos=tuple(entry["info"] for entry in inner),
            next_observation=following,
            seconds={"act": acted - began, "world": stepped - acted},
        )
        observation, index = following, index + 1
