"""The interface of what plays episodes: processes of this machine, or actors of a Ray cluster."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from ..envs import EpisodeId, World
from .batching.sharing import SharedPolicy
from .messages import Ready
from .schedule import Ended

ENGINES: Mapping[str, tuple[str, str]] = {
    "local": (".pool", "play_all"),
    "ray": (".engines.ray_pool", "play_all"),
}
"""Name, then module and function of an `Engine`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """How the episodes are played; nothing here changes what is recorded of them.

    Attributes:
        world: pickles; every worker makes its own environment of it.
        agent: the agent's name in the catalogue.
        agent_options: an instance of its options.
        folder: the run folder.
        workers: how many processes at most.
        threads: threads of the numeric libraries in each.
        timeout: seconds that one attempt at an episode may take.
        build_timeout: seconds that building the world and the agent may take.
        max_tries: how often an episode, or a build, is tried when the process dies or hangs.
        shared: the policy that is held outside the workers; None when each holds its own.
        address: of the cluster, for an engine that has one.
    """

    world: World
    agent: str
    agent_options: Any
    folder: Path
    workers: int
    threads: int
    timeout: float
    build_timeout: float
    max_tries: int
    shared: SharedPolicy | None = None
    address: str | None = None


class Engine(Protocol):
    """Plays episodes."""

    def __call__(self, episodes: Sequence[EpisodeId], options: PoolOptions) -> Generator[Ready | Ended]:
        """Play the episodes, yielding what happens.  Close the iterator to stop the workers at once.

        A worker's `Ready` is yielded before it is given its first episode, so that a caller can refuse it by closing.
        When an `Ended` with a record is yielded, the episode's trace lies in the run folder.

        Raises:
            ThinkTwiceError: the world or the agent cannot be built, because the call is wrong or, as `WorldError`,
                because it failed ``max_tries`` times in a row.
        """
        ...


def load_engine(name: str) -> Engine:
    """The engine of a name in `ENGINES`; imports its module."""
    module, function = ENGINES[name]
    return cast("Engine", getattr(importlib.import_module(module, __package__), function))
