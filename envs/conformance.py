"""What every world must do, as one function that a test calls: ``check_world(world)``."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from ..errors import ContractError, ThinkTwiceError, require
from .conventions import Conventions
from .episodes import EpisodeId
from .multistep import MultiStep
from .observations import STATE, Observation, camera_names, check_observation
from .worlds import DeclaresConventions, Holds, SavesState, World


def check_world(world: World, *, steps: int = 3) -> None:
    """Raise `ContractError`, saying what is broken, unless the world keeps the contract.

    It makes one environment, plays a few steps of up to two episodes and closes it.

    Args:
        world: the world; it must have at least one task.
        steps: how many decisions to play of each episode.
    """
    episodes = _check_catalogue(world)
    env = world.make()
    try:
        conventions = _conventions(env)
        check_env(env.unwrapped, skip_render_check=True)
        stepper = MultiStep(env)
        first = _play(stepper, episodes[0], steps, conventions)
        _play(stepper, episodes[-1], steps, conventions)
        again = _play(stepper, episodes[0], steps, conventions)
        for index, (ours, theirs) in enumerate(zip(first, again, strict=True)):
            _same(ours, theirs, f"observation {index} of {episodes[0].key} depends on what was played before")
        _check_bad_calls(stepper, episodes[0])
        _check_restoring(stepper, episodes[0])
    finally:
        env.close()


def _check_catalogue(world: World) -> list[EpisodeId]:
    tasks = list(world.tasks())
    require(bool(tasks) and len(set(tasks)) == len(tasks), f"{world.name} must list tasks, each once; got {tasks}")
    copy = cast("World", pickle.loads(pickle.dumps(world)))  # noqa: S301  our own bytes
    chosen = tasks[:2]
    episodes = world.episodes(tasks=chosen, count=2, seed=0)
    require(
        episodes == copy.episodes(tasks=chosen, count=2, seed=0), f"{world.name}.episodes must repeat after pickling"
    )
    require(len(episodes) == 2 * len(chosen), f"{world.name}.episodes gave {len(episodes)}, not 2 of each task")
    require(len({episode.key for episode in episodes}) == len(episodes), f"{world.name} gave an episode twice")
    try:
        world.episodes(tasks=["no such task"], count=1, seed=0)
    except ThinkTwiceError:
        return episodes
    raise ContractError(f"{world.name}.episodes accepted a task that does not exist.")


def _conventions(env: gym.Env[Any, Any]) -> Conventions:
    base = env.unwrapped
    if not isinstance(base, DeclaresConventions):
        raise ContractError(f"{base} must have a property `conventions`.")
    return base.conventions


def _play(env: MultiStep, episode: EpisodeId, steps: int, conventions: Conventions) -> list[Observation]:
    """The observations of a short random episode, each checked."""
    observation, _ = env.reset(seed=episode.seed, options=episode.options())
    observations = [cast("Observation", observation)]
    inner = env.env.action_space
    for index in range(steps):
        inner.seed(index)
        chunk = _chunk(inner, observations[-1])
        observation, reward, terminated, truncated, info = env.step(chunk)
        require(np.isfinite(reward), f"the reward {reward} is not finite")
        for entry in info["steps"]:
            require(
                isinstance(entry["info"].get("is_success"), bool | np.bool_),
                f"info['is_success'] must be a bool at every step, got {entry['info'].get('is_success')!r}",
            )
        observations.append(cast("Observation", observation))
        if terminated or truncated:
            break
    for seen in observations:
        check_observation(seen)
        _check_against(seen, conventions)
        require(env.observation_space.contains(seen), "an observation is outside the observation space")
    return observations


def _chunk(space: spaces.Space[Any], observation: Observation) -> list[Any]:
    """Two random actions, from the offered choices where the world offers any."""
    offered = observation.get("choices")
    return [offered[0]] if offered else [space.sample(), space.sample()]


def _check_against(observation: Observation, conventions: Conventions) -> None:
    declared = {camera.name: (camera.height, camera.width) for camera in conventions.cameras}
    shown = {name: observation[f"images.{name}"].shape[:2] for name in camera_names(observation)}
    require(declared == shown, f"cameras are declared as {declared} and shown as {shown}")
    if conventions.state:
        size = sum(dim.size for dim in conventions.state)
        require(
            observation[STATE].shape == (size,), f"state is declared with {size} entries: {observation[STATE].shape}"
        )


def _check_bad_calls(env: MultiStep, episode: EpisodeId) -> None:
    env.reset(seed=episode.seed, options=episode.options())
    space = env.env.action_space
    bad: list[Any] = [[]]
    if isinstance(space, spaces.Box):
        bad += [np.full((1, *space.shape), np.nan, np.float32), np.zeros((1, 1 + space.shape[0]), np.float32)]
    for chunk in bad:
        try:
            env.step(chunk)
        except ContractError:
            continue
        raise ContractError(f"the world executed the impossible chunk {chunk!r} instead of raising ContractError.")
    try:
        env.reset(seed=episode.seed, options={"task": "no such task", "init_state": None})
    except ThinkTwiceError:
        return
    raise ContractError("reset accepted a task that does not exist.")


def _check_restoring(env: MultiStep, episode: EpisodeId) -> None:
    base = env.unwrapped
    observation, _ = env.reset(seed=episode.seed, options=episode.options())
    if isinstance(base, Holds):
        action = base.hold_action()
        require(env.env.action_space.contains(action), f"hold_action gave {action!r}, outside the action space")
    if not isinstance(base, SavesState):
        return
    saved = env.save_state()
    chunk = _chunk(env.env.action_space, observation)
    before = env.step(chunk)[0]
    env.restore_state(saved)
    _same(before, env.step(chunk)[0], "after restore_state the same actions lead elsewhere")


def _same(ours: Mapping[str, Any], theirs: Mapping[str, Any], message: str) -> None:
    for key in ours.keys() | theirs.keys():
        equal = np.array_equal(ours[key], theirs[key]) if key in ours and key in theirs else False
        require(equal, f"{message} (key {key!r})")
