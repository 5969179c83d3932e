"""What plays a game: alfworld's own stack, or the compiled one that gives the same replies faster."""

from __future__ import annotations

import dataclasses
from typing import Literal, Protocol, runtime_checkable

from .facts import Fact
from .games import Game

type EngineName = Literal["compiled", "stock"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What a game says.

    Attributes:
        text: the feedback.
        commands: every admissible command, sorted.
        won: whether the goal holds.
        operator: the ground PDDL action that was executed, such as ``"gotolocation agent1 l0 l1 desk_1"``, or
            empty when the command was not admissible and nothing happened.
    """

    text: str
    commands: tuple[str, ...]
    won: bool
    operator: str = ""


@runtime_checkable
class Engine(Protocol):
    """Plays one game at a time."""

    def start(self, game: Game) -> Reply:
        """Begin a game."""
        ...

    def step(self, command: str) -> Reply:
        """Execute a command; an inadmissible one changes nothing and says ``"Nothing happens."``."""
        ...

    def facts(self, predicate: str) -> set[Fact]:
        """The facts of a lower-case predicate that hold now."""
        ...

    def name(self, entity: str) -> str:
        """What the game calls a lower-case PDDL object, such as ``"desk 1"``."""
        ...


def make_engine(name: EngineName) -> Engine:
    """An engine by its name.

    Raises:
        MissingDependency: alfworld or textworld is not installed.
    """
    if name == "compiled":
        from .compiled import CompiledEngine

        return CompiledEngine()
    from .stock import StockEngine

    return StockEngine()
