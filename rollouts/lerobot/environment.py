"""``lerobot-eval --env.type=thinktwice``: our worlds by LeRobot's registry of environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import gymnasium as gym
from gymnasium import spaces
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs import EnvConfig
from lerobot.envs.utils import (
    _LazyAsyncVectorEnv,  # pyright: ignore[reportPrivateUsage]  see `_together`
    freeze_after_episode_end,
)
from lerobot.processor import PolicyProcessorPipeline
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE

from ...envs import Conventions, DeclaresConventions, World, world_entry
from ..config import select_tasks
from .episodes import EpisodeEnv, check_playable
from .exchange import ConventionsStep
from .options import read_options

_STATE = "agent_pos"
"""LeRobot's own name of a state that an environment gives; a policy sees it as ``observation.state``."""


@EnvConfig.register_subclass("thinktwice")
@dataclass
class ThinktwiceEnv(EnvConfig):
    """One of our worlds in LeRobot, which requires a mutable dataclass here.

    Attributes:
        task: the world, such as ``libero_object``.
        options: the world's options as `thinktwice rollout` takes them, such as ``--rendering fast --height 128``.
        tasks: which of its tasks: ``all``, or places in its list and ranges, such as ``0,2,5-7``.
        seed: from which every episode's own seed is derived; LeRobot's own seed decides nothing here.
        fps: the world's control rate; what is given is replaced.
    """

    task: str | None = "libero_object"
    options: str = ""
    tasks: str = "all"
    seed: int = 0
    features: dict[str, PolicyFeature] = field(default_factory=dict[str, PolicyFeature])
    features_map: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Ask the world what it shows.

        Raises:
            UsageError: there is no such world or option.
            ConfigError: LeRobot cannot play this world.
        """
        env = self._open().make()
        check_playable(env, str(self.task))
        conventions = cast("DeclaresConventions", env.unwrapped).conventions
        action, shown = cast("spaces.Box", env.action_space), cast("spaces.Dict", env.observation_space)
        found: dict[str, tuple[str, FeatureType, tuple[int, ...]]] = {
            ACTION: (ACTION, FeatureType.ACTION, action.shape)
        }
        for camera in conventions.cameras:
            name = f"{OBS_IMAGES}.{camera.name}"
            found[name] = (name, FeatureType.VISUAL, (camera.height, camera.width, 3))
        if "state" in shown.spaces:
            found[_STATE] = (OBS_STATE, FeatureType.STATE, cast("tuple[int, ...]", shown["state"].shape))
        env.close()
        self.fps = round(conventions.control_hz or 1)
        self.features = {key: PolicyFeature(type=kind, shape=shape) for key, (_, kind, shape) in found.items()}
        self.features_map = {key: name for key, (name, _, _) in found.items()}
        self._conventions = conventions

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Nothing: `create_envs` builds the environments itself."""
        return {}

    @property
    def conventions(self) -> Conventions:
        """What the numbers mean."""
        return self._conventions

    def create_envs(self, n_envs: int, use_async_envs: bool = False) -> dict[str, dict[int, gym.vector.VectorEnv]]:
        """The environments by world and by the task's place in it; nothing is simulated before their first reset."""
        world = self._open()
        places = {task: place for place, task in enumerate(world.tasks())}
        made: dict[int, Any] = {}
        for task in select_tasks(self.tasks, world.tasks()):
            plays = [
                partial(EpisodeEnv, world, task, seed=self.seed, first=first, stride=n_envs) for first in range(n_envs)
            ]
            made[places[task]] = _together(plays, use_async=use_async_envs and n_envs > 1)
        return {str(self.task): made}

    def get_env_processors(self) -> tuple[Any, Any]:
        """The world's conventions, for our own policy; nothing else has to be changed."""
        return (
            PolicyProcessorPipeline(steps=[ConventionsStep(conventions=self._conventions)]),
            PolicyProcessorPipeline(steps=[]),
        )

    def _open(self) -> World:
        options, open_world = world_entry(str(self.task)).load()
        return open_world(str(self.task), read_options(self.options, options, flag="--env.options"))


def _together(plays: list[Callable[[], EpisodeEnv]], *, use_async: bool) -> Any:
    """One vector environment, as LeRobot builds its own LIBERO: an episode that has ended rests until all have.

    LeRobot's own lazy one is private, yet `lerobot-eval` treats it in a special way (it starts the next task's
    processes while the last one's end), so it is used as it is; LeRobot's version is pinned.
    """
    if use_async:
        return _LazyAsyncVectorEnv(plays)
    return gym.vector.SyncVectorEnv(
        [freeze_after_episode_end(play) for play in plays], autoreset_mode=gym.vector.AutoresetMode.NEXT_STEP
    )
