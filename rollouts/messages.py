"""What drivers and workers say to each other, whatever engine carries it."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

from ..envs import EpisodeId, World
from ..errors import ContractError, ThinkTwiceError, WorldError
from .batching.line import Address
from .records import AttemptRecord, EpisodeRecord


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker needs to begin.

    Attributes:
        world: opened in the driver; `World.make` is called in the worker.
        agent: the agent's name in the catalogue.
        agent_options: an instance of its options.
        folder: traces are written to a folder in it.
        parent: the process that this one shall not outlive; None where somebody else takes care of that.
        policies: where to ask for the policies that another process holds, by their ``--policy`` values.
    """

    world: World
    agent: str
    agent_options: Any
    folder: Path
    parent: int | None = None
    policies: dict[str, Address] = dataclasses.field(default_factory=dict[str, Address])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Assignment:
    """One episode to play, and which try it is."""

    episode: EpisodeId
    attempt: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ready:
    """The world and the agent are built.

    Attributes:
        agent: `Agent.describe`.
        conventions: the world's conventions as plain data.
    """

    agent: dict[str, Any]
    conventions: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stopped:
    """The worker cannot go on: nothing was built, or a trace could not be written.

    Attributes:
        error: the exception where another try cannot help (the call is wrong, the disk is full), else None.
        report: the traceback.
    """

    error: ThinkTwiceError | None
    report: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unserved:
    """The process that holds the policy went away while this worker waited for it; the worker leaves."""

    report: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attempted:
    """An attempt came to an end in the worker.  After an exception the worker leaves.

    Attributes:
        record: the episode's record.
        attempt: the attempt's.
    """

    record: EpisodeRecord
    attempt: AttemptRecord


def pickled(setup: Setup) -> bytes:
    """The setup as it is sent.

    Raises:
        ContractError: the world does not pickle.
    """
    try:
        return pickle.dumps(setup)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ContractError(
            f"world {setup.world.name} cannot be sent to a worker process: {error}. A world must pickle; what it "
            "simulates is made in `make`."
        ) from error


def portable(error: Exception) -> ThinkTwiceError | None:
    """The error when it says that the call is wrong and survives being sent."""
    if not isinstance(error, ThinkTwiceError) or isinstance(error, WorldError):
        return None
    return error if survives(error) else ThinkTwiceError(one_line(error))


def survives(error: Exception) -> bool:
    """Whether the error can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - its own bytes
    except (pickle.PickleError, TypeError, AttributeError):
        return False
    return True


def one_line(error: Exception) -> str:
    """The kind of error and what it says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__
