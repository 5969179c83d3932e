"""What a run is asked to do, and the plan that follows from it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from ..agents.catalog import agent_entry
from ..envs import EpisodeId, World, world_entry
from ..errors import ConfigError, ContractError, UsageError, choices

type Videos = Literal["none", "failures", "all"]

OPERATIONAL = ("workers", "timeout", "build_timeout", "max_tries", "video")
"""Settings that change no record, so that a resumed run may change them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything about a run.

    Attributes:
        world: its name, such as ``"libero_object"``.
        out: the run folder.
        tasks: ``"all"``, or places in the world's list and names: ``"0,2,5-7"``, or a sequence of ints and names.
        episodes: per task.
        seed: from which the world derives every episode's own.
        agent: its name.
        world_options: an instance of the world's options, or a mapping of them; None for the defaults.
        agent_options: the same for the agent.
        threads: threads of the numeric libraries in each worker.  Part of what is recorded, because it changes the
            last bits of a matrix product.
        workers: processes that play at once.
        timeout: seconds that one attempt at an episode may take before it counts as hung.
        build_timeout: the same for building the world and the agent.
        max_tries: how often an episode is tried when its worker dies or hangs.
        video: which episodes get a video.
        resume: continue the run in `out`.
    """

    world: str
    out: Path
    tasks: str | Sequence[int | str] = "all"
    episodes: int = 10
    seed: int = 0
    agent: str = "reflex"
    world_options: Any = None
    agent_options: Any = None
    threads: int = 1
    workers: int = 1
    timeout: float = 1800.0
    build_timeout: float = 600.0
    max_tries: int = 3
    video: Videos = "none"
    resume: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A configuration that was checked, with its world opened.

    Attributes:
        config: the configuration; its options are instances now.
        world: small; it pickles.
        episodes: all that the run shall have, in order.
    """

    config: RunConfig
    world: World
    episodes: tuple[EpisodeId, ...]

    def recorded_config(self) -> dict[str, Any]:
        """The part of the configuration that decides what is recorded, as plain data."""
        config = self.config
        return {
            "world": config.world,
            "tasks": list(dict.fromkeys(episode.task for episode in self.episodes)),
            "episodes": config.episodes,
            "seed": config.seed,
            "agent": config.agent,
            "threads": config.threads,
            "world_options": plain(dataclasses.asdict(config.world_options)),
            "agent_options": plain(dataclasses.asdict(config.agent_options)),
        }


def make_plan(config: RunConfig) -> Plan:
    """Check a configuration and open its world.

    Raises:
        UsageError: a name, number or task that makes no sense.
        IdentityError: a task or init state that the world does not have.
    """
    for name, least in (("episodes", 1), ("workers", 1), ("threads", 1), ("max_tries", 1)):
        if getattr(config, name) < least:
            raise ConfigError(f"{name} must be at least {least}, got {getattr(config, name)}.")
    for name in ("timeout", "build_timeout"):
        if not getattr(config, name) > 0:
            raise ConfigError(f"{name} must be more than 0 seconds, got {getattr(config, name)}.")
    options_class, open_world = world_entry(config.world).load()
    agent_class, _ = agent_entry(config.agent).load()
    config = dataclasses.replace(
        config,
        world_options=as_options(config.world_options, options_class, f"world {config.world}"),
        agent_options=as_options(config.agent_options, agent_class, f"agent {config.agent}"),
    )
    world = open_world(config.world, config.world_options)
    tasks = select_tasks(config.tasks, world.tasks())
    episodes = tuple(world.episodes(tasks=tasks, count=config.episodes, seed=config.seed))
    if len(set(episodes)) != len(episodes):
        raise ContractError(f"world {config.world} lists an episode twice, so its records could not be told apart.")
    return Plan(config=config, world=world, episodes=episodes)


def as_options(given: Any, options: type[Any], whose: str) -> Any:
    """An instance of an options dataclass from an instance, a mapping, or None for the defaults.

    Raises:
        ConfigError: an unknown name, a value of a wrong type, or an instance of another class.
    """
    if isinstance(given, options):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"the options of {whose} must be {options.__name__} or a mapping, got {given!r}.")
    values = dict(cast("Mapping[str, Any]", given or {}))
    names = [field.name for field in dataclasses.fields(options)]
    for name in values:
        if name not in names:
            raise ConfigError(f"{whose} has no option {name!r}. {choices(name, names)}")
    try:
        return TypeAdapter(options).validate_python(values)
    except ValidationError as error:
        listed = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}, got {e['input']!r}" for e in error.errors())
        raise ConfigError(f"the options of {whose} are wrong: {listed}.") from error


def select_tasks(wanted: str | Sequence[int | str], tasks: Sequence[str]) -> list[str]:
    """The tasks that are meant, in the order given.

    Args:
        wanted: ``"all"``; or places (from 0), ranges of places and names, as one string with commas or as a sequence.
        tasks: every task of the world.

    Raises:
        UsageError: a place or a name does not exist, or a task is named twice.
    """
    parts = [part.strip() for part in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    if parts == ["all"]:
        return list(tasks)
    selected = [task for part in parts for task in _select(part, tasks)]
    twice = [task for task in dict.fromkeys(selected) if selected.count(task) > 1]
    if twice:
        raise UsageError(f"task {twice[0]!r} is named twice in {wanted!r}.")
    if not selected:
        raise UsageError("no task is named. Give places from 0, such as 0,2,5-7, or all.")
    return selected


def _select(part: int | str, tasks: Sequence[str]) -> list[str]:
    if isinstance(part, str) and part in tasks:
        return [part]
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(part))
    if not found:
        raise UsageError(f"there is no task {part!r}. {choices(part, tasks)} Or give places from 0, such as 0,2,5-7.")
    first, last = int(found[1]), int(found[2] or found[1])
    if last >= len(tasks) or first > last:
        raise UsageError(f"there is no task {part}: this world has tasks 0 to {len(tasks) - 1}.")
    return list(tasks[first : last + 1])


def plain(value: Any) -> Any:
    """The value as JSON would give it back: lists for tuples, strings for paths."""
    return json.loads(json.dumps(value, default=str))
