"""alfworld's own stack in process: textworld's `PddlEnv` under alfworld's `AlfredDemangler` and `AlfredInfos`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from typing import Any

from ...errors import MissingDependency
from .engine import Reply
from .facts import Fact
from .games import INSTALL, Game


class StockEngine:
    """See `Engine`.  One instance loads one copy of Fast Downward's library and plays any number of games."""

    def __init__(self) -> None:
        try:
            import textworld
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
            from textworld.envs.pddl import PddlEnv
        except ImportError as error:
            raise MissingDependency("alfworld", purpose="ALFWorld's own engine", install=INSTALL) from error
        infos = textworld.EnvInfos(feedback=True, won=True, admissible_commands=True)
        self._env: Any = AlfredInfos(AlfredDemangler(PddlEnv(infos), shuffle=False))
        self._state: Any = None

    def start(self, game: Game) -> Reply:
        """See `Engine.start`."""
        with keeping_arguments():
            self._env.load(game.data())
            self._state = self._env.reset()
        return self._reply("")

    def step(self, command: str) -> Reply:
        """See `Engine.step`."""
        self._state, _, _ = self._env.step(command)
        action = self._state["_last_action"]
        operator = "" if action is None else " ".join([action.name, *(v.name for v in action.mapping.values())])
        return self._reply(operator)

    def facts(self, predicate: str) -> set[Fact]:
        """See `Engine.facts`."""
        return {
            (fact.name, *(argument.name for argument in fact.arguments))
            for fact in self._state["_facts"]
            if fact.name == predicate
        }

    def name(self, entity: str) -> str:
        """See `Engine.name`."""
        return self._state["_entity_infos"][entity].name

    def _reply(self, operator: str) -> Reply:
        return Reply(
            text=self._state["feedback"],
            commands=tuple(self._state["admissible_commands"]),
            won=bool(self._state["won"]),
            operator=operator,
        )


@contextlib.contextmanager
def keeping_arguments() -> Generator[None]:
    """Puts ``sys.argv`` back, which Fast Downward's Python interface overwrites to pass its own options."""
    saved = sys.argv
    try:
        yield
    finally:
        sys.argv = saved
