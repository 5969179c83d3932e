"""Execute a chunk of actions between two looks."""

from __future__ import annotations

from typing import Any, Protocol, SupportsFloat, runtime_checkable

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ..errors import ContractError
from .chunks import Chunk, check_chunk
from .observations import Observation
from .worlds import SavesState


@runtime_checkable
class SkipsObservations(Protocol):
    """A world that can step without rendering, because nobody will look."""

    def step_blind(self, action: Any) -> tuple[SupportsFloat, bool, bool, dict[str, Any]]:
        """As ``step``, without the observation."""
        ...

    def observe(self) -> Observation:
        """The observation of the present moment."""
        ...


class MultiStep(gym.Wrapper[Any, Any, Any, Any]):
    """Steps a chunk instead of one action, and renders only the observation after its last one.

    Cameras cost far more than physics in LIBERO, and an agent that executes 8 actions per decision looks
    once in 8 steps; skipping the other frames changes no pixel that it sees.

    ``step(chunk)`` stops early when the world terminates or truncates.  The reward is the sum over the
    chunk.  ``info`` is that of the last inner step, and ``info["steps"]`` has one entry per executed
    action: ``{"action", "reward", "terminated", "truncated", "info"}``.

    Args:
        env: an ordinary gymnasium environment.
        every_step: render every inner observation too and put it into its entry as ``"observation"``,
            for recording data sets.
    """

    def __init__(self, env: gym.Env[Any, Any], *, every_step: bool = False) -> None:
        super().__init__(env)
        self.action_space = spaces.Sequence(env.action_space, stack=isinstance(env.action_space, spaces.Box))
        self._every_step = every_step
        self._ended = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As the inner environment's."""
        self._ended = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Chunk) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Execute the chunk's actions in order until it or the episode ends.

        Raises:
            ContractError: the chunk is empty, of a wrong shape or not finite, or the episode has ended.
        """
        if self._ended:
            raise ContractError("step was called after the episode ended; call reset first.")
        check_chunk(action, self.env.action_space)
        base = self.env.unwrapped
        blind = base if isinstance(base, SkipsObservations) and self.env is base and not self._every_step else None
        total, steps = 0.0, list[dict[str, Any]]()
        observation: Any = None
        terminated = truncated = False
        info: dict[str, Any] = {}
        for inner in action:
            if blind is not None:
                reward, terminated, truncated, info = blind.step_blind(inner)
            else:
                observation, reward, terminated, truncated, info = self.env.step(inner)
            total += float(reward)
            entry: dict[str, Any] = {
                "action": np.array(inner) if isinstance(inner, np.ndarray) else inner,
                "reward": float(reward),
                "terminated": terminated,
                "truncated": truncated,
                "info": info,
            }
            if self._every_step:
                entry["observation"] = observation
            steps.append(entry)
            if terminated or truncated:
                self._ended = True
                break
        if blind is not None:
            observation = blind.observe()
        return observation, total, terminated, truncated, {**info, "steps": steps}

    def save_state(self) -> tuple[Any, bool]:
        """The world's state, and whether its episode has ended; a copy that later steps do not change.

        Raises:
            ContractError: the world cannot be saved.
        """
        return self._restorable().save_state(), self._ended

    def restore_state(self, state: tuple[Any, bool]) -> None:
        """Put the world back, also from beyond the end of the episode.

        Raises:
            ContractError: the world cannot be restored.
        """
        inner, ended = state
        self._restorable().restore_state(inner)
        self._ended = ended

    def _restorable(self) -> SavesState:
        base = self.env.unwrapped
        if not isinstance(base, SavesState):
            raise ContractError(f"{base} cannot be saved and restored: it has no save_state and restore_state.")
        return base
