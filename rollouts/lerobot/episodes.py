"""A world's episodes as LeRobot steps them."""

from __future__ import annotations

import sys
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...envs import Array, DeclaresConventions, EpisodeId, Observation, World, camera_names
from ...envs.observations import IMAGES, STATE, TASK
from ...errors import ConfigError
from .exchange import SEED, seed_to_array


class EpisodeEnv(gym.Env[dict[str, Any], Array]):
    """Plays a task's episodes one after the other, as ``thinktwice rollout`` would.

    A reset begins the next episode, whatever seed LeRobot gives: an episode's own seed decides it.  Of a batch of n
    environments, number i plays the episodes i, i + n, i + 2n, …

    Observations: ``pixels`` (``uint8[H, W, 3]`` for each camera, upright and not mirrored), ``agent_pos``
    (``float32[S]``) and `exchange.SEED`.  Actions, rewards and the two endings are the world's own.

    Args:
        world: the episodes are `World.episodes`.
        task: of these episodes.
        seed: as ``--seed`` of ``thinktwice rollout``.
        first: the first episode that is played.
        stride: how many environments share the task.

    Raises:
        ConfigError: LeRobot cannot play the world; see `check_playable`.
    """

    def __init__(self, world: World, task: str, *, seed: int, first: int = 0, stride: int = 1) -> None:
        self._world, self._seed = world, seed
        self._next, self._stride = first, stride
        self._env = world.make()
        check_playable(self._env, world.name)
        self.task = task
        """LeRobot reads the task's name here."""
        self.task_description = ""
        """LeRobot reads the instruction here, after a reset."""
        self._max_episode_steps: int = getattr(self._env.unwrapped, "max_steps", sys.maxsize)
        rate = cast("DeclaresConventions", self._env.unwrapped).conventions.control_hz
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": round(rate or 1)}
        self.render_mode = "rgb_array"
        shown = cast("spaces.Dict", self._env.observation_space)
        parts: dict[str, spaces.Space[Any]] = {
            "pixels": spaces.Dict({name: shown[f"{IMAGES}{name}"] for name in camera_names(shown.spaces)}),
            SEED: spaces.Box(0, 0xFFFF, (len(seed_to_array(0)),), np.float32),
        }
        if STATE in shown.spaces:
            parts["agent_pos"] = shown[STATE]
        self.observation_space = spaces.Dict(parts)
        self.action_space = self._env.action_space
        self._picture: Array | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the next episode.

        Args:
            seed: LeRobot's, which decides nothing.
            options: LeRobot's own, likewise.

        Raises:
            IdentityError: the task has no more episodes.
        """
        del options
        super().reset(seed=seed)
        self._episode = self._find(self._next)
        self._next += self._stride
        observation, info = self._env.reset(seed=self._episode.seed, options=self._episode.options())
        self.task_description = str(observation.get(TASK, ""))
        return self._shown(observation), {"is_success": bool(info["is_success"])}

    def step(self, action: Array) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """One action; ``info`` holds ``is_success``."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        success = {"is_success": bool(info["is_success"])}
        return self._shown(observation), float(reward), bool(terminated), bool(truncated), success

    def render(self) -> Any:
        """The first camera's picture in the last observation: nothing is drawn twice."""
        return self._picture

    def close(self) -> None:
        """Free the world."""
        self._env.close()

    def _find(self, index: int) -> EpisodeId:
        return self._world.episodes(tasks=[self.task], count=index + 1, seed=self._seed)[index]

    def _shown(self, observation: Observation) -> dict[str, Any]:
        pixels = {name: observation[f"{IMAGES}{name}"] for name in camera_names(observation)}
        self._picture = next(iter(pixels.values()))
        shown: dict[str, Any] = {"pixels": pixels, SEED: seed_to_array(self._episode.seed)}
        if STATE in observation:
            shown["agent_pos"] = observation[STATE]
        return shown


def check_playable(env: gym.Env[Any, Any], name: str) -> None:
    """Raise `ConfigError` unless LeRobot can play an environment: actions are vectors, and a camera shows something."""
    if not isinstance(env.action_space, spaces.Box) or len(env.action_space.shape) != 1:
        raise ConfigError(
            f"LeRobot plays worlds whose actions are vectors of numbers; those of {name} are {env.action_space}. "
            f"Use: thinktwice rollout {name}"
        )
    shown = env.observation_space
    if not isinstance(shown, spaces.Dict) or not camera_names(shown.spaces):
        raise ConfigError(f"LeRobot films what it plays, and {name} shows no camera here. Give it one.")
