"""What a run is asked to do, and the plan that follows from it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ..agents.catalog import DEFAULT_POLICIES, agent_entry, check_policy_value, trained
from ..envs import EpisodeId, World, world_entry
from ..errors import ConfigError, ContractError, UsageError, choices
from . import machine
from .batching.sharing import Batching, SharedPolicy, default_workers, share

type Videos = Literal["none", "failures", "all"]

OPERATIONAL = ("workers", "batching", "engine", "address", "timeout", "build_timeout", "max_tries", "video", "report")
"""Settings that change no record, so that a resumed run may change them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of the run."""

    out: Path
    """The run folder: a new one, or with --resume the one to continue."""
    tasks: str = "all"
    """'all', or places in the world's list (from 0), ranges and names, such as 0,2,5-7."""
    episodes: int = 10
    """Episodes per task."""
    seed: int = 0
    """From which the world derives every episode's own seed."""
    agent: str = "reflex"
    """Its name; each agent has its own options."""
    workers: int = 0
    """Processes that play at once; the records do not depend on it. 0: as many as cores and memory allow."""
    batching: Batching = "auto"
    """on: one process per device holds the policy and proposes for several workers in one pass. off: every worker
    holds it. auto: on where it computes on a GPU for several workers."""
    threads: int = 1
    """Threads of the numeric libraries per worker; recorded, because it changes a matrix product's last bits."""
    engine: Literal["local", "ray"] = "local"
    """Where the workers are: processes of this machine, or actors of a Ray cluster."""
    address: str | None = None
    """With --engine ray: HOST:PORT of the cluster's head, or auto; not given: a cluster is started on this machine."""
    timeout: float = 1800.0
    """Seconds that one attempt at an episode may take before it counts as hung."""
    build_timeout: float = 600.0
    """The same for building the world and the agent."""
    max_tries: int = 3
    """How often an episode is tried when its worker dies or hangs, before it is recorded as an error."""
    video: Videos = "none"
    """Which episodes get a video."""
    report: bool = True
    """Write report.html at the end."""
    resume: bool = False
    """Continue the run in --out."""
    retry_errors: bool = False
    """With --resume: play the episodes again that ended in an error."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig(RunOptions):
    """Everything about a run.

    Attributes:
        world: its name, such as ``"libero_object"``.
        world_options: an instance of the world's options, or a mapping of them; None for the defaults.
        agent_options: the same for the agent.
    """

    world: str
    world_options: Any = None
    agent_options: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A configuration that was checked, with its world opened.

    Attributes:
        config: the configuration; its options are instances now, and it says how many workers there are.
        world: small; it pickles.
        episodes: all that the run shall have, in order.
        shared: the policy that is held outside the workers; None when each holds its own.
    """

    config: RunConfig
    world: World
    episodes: tuple[EpisodeId, ...]
    shared: SharedPolicy | None = None

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
    _check_run(config)
    options_class, open_world = world_entry(config.world).load()
    agent_class, _ = agent_entry(config.agent).load()
    config = dataclasses.replace(
        config,
        world_options=as_options(config.world_options, options_class, f"world {config.world}"),
        agent_options=as_options(config.agent_options, agent_class, f"agent {config.agent}"),
    )
    world = open_world(config.world, config.world_options)
    settled = with_trained_settings(config, world)
    if settled.world_options != config.world_options:
        world = open_world(config.world, settled.world_options)
    config = settled
    tasks = select_tasks(config.tasks, world.tasks())
    episodes = tuple(world.episodes(tasks=tasks, count=config.episodes, seed=config.seed))
    if len(set(episodes)) != len(episodes):
        raise ContractError(f"world {config.world} lists an episode twice, so its records could not be told apart.")
    config = dataclasses.replace(config, workers=config.workers or default_workers(len(episodes)))
    options, shared = share(
        config.batching, config.agent, config.agent_options, workers=config.workers, gpus=partial(_gpus, config)
    )
    config = dataclasses.replace(config, agent_options=options)
    return Plan(config=config, world=world, episodes=episodes, shared=shared)


def _check_run(config: RunConfig) -> None:
    for name, least in (("episodes", 1), ("workers", 0), ("threads", 1), ("max_tries", 1)):
        if getattr(config, name) < least:
            raise ConfigError(f"{name} must be at least {least}, got {getattr(config, name)}.")
    for name in ("timeout", "build_timeout"):
        if not getattr(config, name) > 0:
            raise ConfigError(f"{name} must be more than 0 seconds, got {getattr(config, name)}.")
    if config.engine == "ray" and not config.workers:
        raise ConfigError(
            "--engine ray needs --workers N, at least 1: how many at most; as many play at once as the cluster has "
            "CPUs for."
        )
    if config.address is not None and config.engine != "ray":
        raise ConfigError(
            f"--address {config.address} is of a Ray cluster, and --engine is {config.engine}. Add --engine ray, or "
            "leave --address out."
        )
    if config.retry_errors and not config.resume:
        raise ConfigError(
            "--retry-errors (retry_errors) needs --resume (resume): a new run has no errors yet. Add it, or leave "
            "--retry-errors out."
        )
    if config.seed < 0:
        raise ConfigError(f"seed must not be negative, got {config.seed}.")


def _gpus(config: RunConfig) -> tuple[str, ...]:
    if config.engine == "ray":
        from .engines.cluster import gpus

        return gpus(config.address)
    return machine.gpus()


def with_trained_settings(config: RunConfig, world: World) -> RunConfig:
    """The options that were not given, as the policy was trained.

    Without ``policy``, the world's default one acts.  Its checkpoint says how much of a chunk it executes, and the
    world shows what it was trained to see, as far as the world's options leave that open.

    Args:
        config: its options are instances.
        world: opened with them.

    Raises:
        UsageError: no policy has the name that is given, or what stands after the colon makes no sense.
        WeightsError: its checkpoint is missing or cannot be read.
    """
    if not hasattr(config.agent_options, "policy"):
        return config
    policy = config.agent_options.policy or DEFAULT_POLICIES.get(_identity(world))
    if policy is None:
        return config
    check_policy_value(policy)
    settings = trained(policy)
    agent_options = dataclasses.replace(config.agent_options, policy=policy)
    if settings and getattr(agent_options, "execute", 0) is None:
        agent_options = dataclasses.replace(agent_options, execute=settings.execute)
    world_options = config.world_options
    if hasattr(world_options, "seen_by"):
        world_options = world_options.seen_by(settings.conventions if settings else None)
    return dataclasses.replace(config, agent_options=agent_options, world_options=world_options)


def _identity(world: World) -> str:
    """The name of a world's environment, as its episodes say it."""
    return world.episodes(tasks=list(world.tasks())[:1], count=1, seed=0)[0].world


def as_options(given: Any, options: type[Any], whose: str) -> Any:
    """An instance of an options dataclass from an instance, a mapping, or None for the defaults.

    Raises:
        ConfigError: an unknown name, a value of a wrong type, or an instance of another class.
    """
    if isinstance(given, options):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"the options of {whose} must be {options.__name__} or a mapping, got {given!r}.")
    values = check_values(cast("Mapping[str, Any]", given or {}), options, whose)
    try:
        return options(**values)
    except TypeError as error:
        raise ConfigError(f"the options of {whose} are incomplete: {error}.") from error


def check_values(values: Mapping[str, Any], options: type[Any], whose: str) -> dict[str, Any]:
    """The values by their fields' types: what a YAML file may say for each field of an options dataclass.

    Raises:
        ConfigError: an unknown name or a value of a wrong type.
    """
    hints = get_type_hints(options)
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            raise ConfigError(f"{whose} has no option {name!r}. {choices(name, hints)}")
        try:
            # As JSON, so that lists become tuples and strings paths, while "5" stays no number.
            checked[name] = TypeAdapter(hints[name]).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise ConfigError(
                f"option {name} of {whose} is wrong: {error.errors()[0]['msg']}, got {value!r}."
            ) from error
    return checked


def select_tasks(wanted: str, tasks: Sequence[str]) -> list[str]:
    """The tasks that are meant, in the order given.

    Args:
        wanted: ``"all"``; or places (from 0), ranges of places and names, with commas between them.
        tasks: every task of the world.

    Raises:
        UsageError: a place or a name does not exist, or a task is named twice.
    """
    if wanted == "all":
        return list(tasks)
    selected = [task for part in wanted.split(",") for task in _select(part.strip(), tasks)]
    twice = [task for task in dict.fromkeys(selected) if selected.count(task) > 1]
    if twice:
        raise UsageError(f"task {twice[0]!r} is named twice in {wanted!r}.")
    return selected


def _select(part: str, tasks: Sequence[str]) -> list[str]:
    if part in tasks:
        return [part]
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if not found:
        raise UsageError(f"there is no task {part!r}. {choices(part, tasks)} Or give places from 0, such as 0,2,5-7.")
    first, last = int(found[1]), int(found[2] or found[1])
    if last >= len(tasks) or first > last:
        raise UsageError(f"there is no task {part}: this world has tasks 0 to {len(tasks) - 1}.")
    return list(tasks[first : last + 1])


def plain(value: Any) -> Any:
    """The value as JSON would give it back: lists for tuples, strings for paths."""
    return json.loads(json.dumps(value, default=str))
