"""Any agent of this library as LeRobot calls a policy: one action per environment and step.

Each environment of a batch has an agent of its own, all of them over one copy of the policy's weights.  An agent
decides when its last chunk is used up, sees what it would see in ``thinktwice rollout``, and, in our own environment,
begins each episode with that episode's seed: the actions are the same ones.
"""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from lerobot.policies.pretrained import PreTrainedPolicy
from lerobot.utils.constants import OBS_IMAGES, OBS_STATE
from torch import Tensor

from ...agents import Agent
from ...agents.catalog import agent_entry, sharing
from ...agents.policies.lerobot_spec import CameraSource, Declaration
from ...agents.policy import FollowsEpisodes, Policy
from ...agents.serving.host import privileged_parts
from ...envs import Array, Conventions, DeclaresConventions, Observation, check_compatible, derive_seed, world_entry
from ...envs.observations import IMAGES, STATE, TASK
from ...errors import ConfigError, ConventionError, UsageError
from ..config import RunConfig, make_plan
from .configuration_thinktwice import ThinktwiceConfig
from .exchange import CONVENTIONS, SEED, array_to_seed
from .options import read_options

_SEED = f"observation.{SEED}"


@dataclasses.dataclass(kw_only=True)
class _Row:
    """One environment of the batch: its agent, and what is left of the agent's last chunk."""

    agent: Agent
    pending: deque[Array] = dataclasses.field(default_factory=deque[Array])


class ThinktwicePolicy(PreTrainedPolicy):
    """An agent behind LeRobot's interface.

    Args:
        config: which agent, and whose observations it is given; ``input_features`` are the environment's.
        kwargs: what LeRobot's factory hands to every policy; not needed here.

    Raises:
        UsageError: there is no such agent, world or option, or the agent cannot act here.
        ConventionError: the environment lacks an image or state that the agent needs, or shows it in another size.
    """

    config_class = ThinktwiceConfig  # pyright: ignore[reportAssignmentType]  LeRobot annotates it as None
    name = "thinktwice"  # pyright: ignore[reportAssignmentType]  LeRobot annotates it as None

    def __init__(self, config: ThinktwiceConfig, **kwargs: Any) -> None:  # noqa: ARG002  LeRobot's factory passes more
        super().__init__(config)
        self.config: ThinktwiceConfig = config
        self._cameras = _cameras(config.cameras)
        agent_class, self._build = agent_entry(config.agent).load()
        world_class, _ = world_entry(config.world).load()
        plan = make_plan(
            RunConfig(
                out=Path(),
                episodes=1,
                world=config.world,
                world_options=_sized(
                    read_options(config.world_options, world_class, flag="--policy.world_options"), config
                ),
                agent=config.agent,
                agent_options=read_options(config.options, agent_class, flag="--policy.options"),
            )
        )
        self._options = plan.config.agent_options
        self._env = plan.world.make()
        self._world: Conventions = cast("DeclaresConventions", self._env.unwrapped).conventions
        self._policies: dict[str, Policy] = {}
        self._rows: list[_Row] = []
        self._compared = False
        self._begun = 0
        self._fresh = True
        self._check(self._row(0).agent)

    def reset(self) -> None:
        """A rollout begins: every agent forgets the last one."""
        self._fresh = True

    def select_action(self, batch: dict[str, Any], **kwargs: Any) -> Tensor:  # noqa: ARG002  LeRobot passes noise
        """The next action of every environment.

        Args:
            batch: ``observation.images.<camera>`` ``float32[B, 3, H, W]`` in [0, 1], ``observation.state``
                ``float32[B, S]`` and ``task``, B instructions; and from our own environment what `exchange` says.
            kwargs: what LeRobot hands to some policies; not needed here.

        Returns:
            ``float32[B, A]`` in the world's units.

        Raises:
            ConventionError: our environment shows something else than the agent's world.
        """
        self._compare(batch.get(CONVENTIONS))
        looks = self._observations(batch)
        if self._fresh:
            self._begin(len(looks), batch.get(_SEED))
        for row, look in zip(self._rows, looks, strict=False):
            if not row.pending:
                row.pending.extend(np.asarray(row.agent.act(look).chunk, np.float32))
        actions = [self._rows[index].pending.popleft() for index in range(len(looks))]
        return torch.from_numpy(np.stack(actions))

    def predict_action_chunk(self, batch: dict[str, Any], **kwargs: Any) -> Tensor:
        """Refused: each agent decides how much of a chunk it executes, and keeps what is left.

        Raises:
            UsageError: always.
        """
        del batch, kwargs
        raise UsageError("an agent's chunks differ in length from environment to environment: call select_action.")

    def forward(self, batch: dict[str, Any]) -> tuple[Tensor, dict[str, Any] | None]:
        """Refused: LeRobot cannot train an agent.

        Raises:
            UsageError: always.
        """
        del batch
        raise UsageError("LeRobot cannot train an agent; train the policy it acts by (thinktwice train policy).")

    def get_optim_params(self) -> dict[str, Any]:
        """Nothing: it is not trained."""
        return {}

    def _row(self, index: int) -> _Row:
        while len(self._rows) <= index:
            with sharing(self._policies):
                self._rows.append(_Row(agent=self._build(self._options, self._env)))
        return self._rows[index]

    def _begin(self, count: int, seeds: Tensor | None) -> None:
        for index in range(count):
            row = self._row(index)
            row.pending.clear()
            if seeds is None:
                row.agent.reset(seed=derive_seed(self.config.seed, self._begun, index))
            else:
                row.agent.reset(seed=array_to_seed(seeds[index].cpu().numpy()))
        self._begun += 1
        self._fresh = False

    def _observations(self, batch: dict[str, Any]) -> list[Observation]:
        """What each agent sees, ``uint8[H, W, 3]`` again, and turned as its world shows it."""
        columns: dict[str, list[Any]] = {}
        for camera in self._world.cameras:
            name, source = self._source(camera.name)
            images: Tensor = batch[f"{OBS_IMAGES}.{name}"]
            flips = [
                *([2] if source.upright != camera.upright else []),
                *([3] if source.mirrored != camera.mirrored else []),
            ]
            # LeRobot divided bytes by 255: multiplying and rounding gives the same bytes.
            pixels = (images.flip(flips) * 255).round().to("cpu", torch.uint8)
            columns[f"{IMAGES}{camera.name}"] = list(pixels.permute(0, 2, 3, 1).contiguous().numpy())
        if self._world.state:
            columns[STATE] = list(batch[OBS_STATE].to("cpu", torch.float32).numpy())
        columns[TASK] = list(batch["task"])
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def _source(self, camera: str) -> tuple[str, CameraSource]:
        """The environment's name of one of the world's cameras, and how it shows it."""
        for name, source in self._cameras.items():
            if source.camera == camera:
                return name, source
        return camera, CameraSource(camera=camera)

    def _check(self, agent: Agent) -> None:
        privileged = list(privileged_parts(agent.describe()))
        if privileged:
            raise UsageError(
                f"{privileged[0]} is privileged: it reads the simulator, which LeRobot keeps in other processes. "
                f"Use: thinktwice rollout {self.config.world}"
            )
        if any(isinstance(policy, FollowsEpisodes) for policy in self._policies.values()):
            raise UsageError("this policy is on a server that follows one episode at a time: use thinktwice rollout.")
        self._check_features()

    def _check_features(self) -> None:
        """Raise `ConventionError`, naming all that the environment lacks or shows in another size."""
        given = {key: tuple(feature.shape) for key, feature in (self.config.input_features or {}).items()}
        wanted: dict[str, tuple[int, ...]] = {}
        for camera in self._world.cameras:
            wanted[f"{OBS_IMAGES}.{self._source(camera.name)[0]}"] = (3, camera.height, camera.width)
        if self._world.state and OBS_STATE in given:
            wanted[OBS_STATE] = (sum(dim.size for dim in self._world.state),)
        problems = [
            f"{key} {list(shape)}: the environment gives {list(given[key]) if key in given else 'none'}"
            for key, shape in wanted.items()
            if given.get(key) != shape
        ]
        if problems:
            listed = "\n  - ".join(problems)
            raise ConventionError(
                f"the agent {self.config.agent} needs what this environment does not show (sizes: "
                f"--policy.world_options, names: --policy.cameras):\n  - {listed}"
            )

    def _compare(self, declared: str | None) -> None:
        """Compare the conventions that our own environment declares with those of the agent's world, once."""
        if declared is None or self._compared:
            return
        check_compatible(
            Conventions.from_json(json.loads(declared)),
            self._world,
            world_name="the environment",
            policy_name=f"the agent {self.config.agent} for {self.config.world}",
        )
        self._compared = True


def _sized(options: Any, config: ThinktwiceConfig) -> Any:
    """The world's options with the environment's image size where they leave it open."""
    shapes = {tuple(f.shape) for key, f in (config.input_features or {}).items() if key.startswith(f"{OBS_IMAGES}.")}
    if len(shapes) != 1 or not hasattr(options, "height"):
        return options
    _, height, width = next(iter(shapes))
    found = {"height": height, "width": width}
    return dataclasses.replace(options, **{key: size for key, size in found.items() if getattr(options, key) is None})


def _cameras(text: str) -> dict[str, CameraSource]:
    """``image=agentview:mirrored,image2=wrist`` by the environment's names.

    Raises:
        ConfigError: it is written in another way.
    """
    pairs = [part.partition("=") for part in text.split(",") if part]
    try:
        return Declaration.model_validate({"cameras": {name: source for name, _, source in pairs}}).cameras
    except ValueError as error:
        raise ConfigError(
            f"--policy.cameras={text!r} must hold NAME=CAMERA or NAME=CAMERA:mirrored, with commas between: {error}"
        ) from error
