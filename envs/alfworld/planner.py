"""The planner expert: Fast Downward from wherever the game stands now, as alfworld's own planner expert uses it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import MissingDependency, WorldError
from .compiled import entity_names, named_entities
from .facts import FactBase
from .games import INSTALL, Game
from .grammar import Grammar, read_grammar
from .pddl import read_problem, read_schemas
from .stock import keeping_arguments


class Planner:
    """Plans from the present state of a game to its goal.

    Translating a game for Fast Downward takes most of a second and is done once per game; a plan is kept as long
    as its commands are the ones that are executed.

    Raises:
        MissingDependency: Fast Downward is not installed.
    """

    def __init__(self) -> None:
        try:
            import fast_downward
        except ImportError as error:
            raise MissingDependency("fast-downward-textworld", purpose="The planner expert", install=INSTALL) from error
        self._downward: Any = fast_downward
        self._library: Any = fast_downward.load_lib()
        self._loaded: str | None = None
        self._executed: tuple[str, ...] = ()
        self._plan: tuple[str, ...] = ()

    def plan(self, game: Game, executed: Sequence[str]) -> tuple[str, ...]:
        """The commands that lead to the goal; none when it holds already or cannot be reached.

        Args:
            game: the game.
            executed: the operators (`Reply.operator`) that were executed since its start, in order.

        Raises:
            WorldError: an operator is not applicable where it stands.
        """
        executed = tuple(executed)
        if self._loaded != game.sha256 or executed[: len(self._executed)] != self._executed:
            self._load(game)
        new = executed[len(self._executed) :]
        for operator in new:
            self._apply(operator)
        self._executed = executed
        self._plan = self._plan[len(new) :] if self._plan[: len(new)] == new else ()
        if not self._plan:
            self._plan = self._search()
        speaker = _Speaker.of(game)
        return tuple(speaker.command(operator) for operator in self._plan)

    def close(self) -> None:
        """Free Fast Downward's state and its library."""
        self._downward.close_lib(self._library)

    def _load(self, game: Game) -> None:
        with keeping_arguments():
            _, sas = self._downward.pddl2sas(game.domain, game.problem)
            _, replan = self._downward.pddl2sas(game.domain, game.problem, optimize=True)
        self._library.load_sas(sas.encode())
        self._library.load_sas_replan(replan.encode())
        self._loaded, self._executed, self._plan = game.sha256, (), ()

    def _apply(self, name: str) -> None:
        operators = (self._downward.Operator * self._library.get_applicable_operators_count())()
        self._library.get_applicable_operators(operators)
        operator = next((found for found in operators if found.name == name), None)
        if operator is None:
            raise WorldError(f"the planner cannot follow: {name!r} is not applicable in its state.")
        self._library.apply_operator(operator.id, (self._downward.Atom * operator.nb_effect_atoms)())

    def _search(self) -> tuple[str, ...]:
        # An empty plan crashes alfworld's expert, so a goal that holds already is asked for first.
        if self._library.check_goal() or not self._library.replan(False):
            return ()
        operators = (self._downward.Operator * self._library.get_last_plan_length())()
        self._library.get_last_plan(operators)
        return tuple(operator.name for operator in operators)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Speaker:
    """Says an operator as the game's command."""

    grammar: Grammar
    parameters: Mapping[str, tuple[str, ...]]
    facts: FactBase
    names: Mapping[str, str]

    @classmethod
    def of(cls, game: Game) -> _Speaker:
        problem = read_problem(game.problem)
        return cls(
            grammar=read_grammar(game.grammar),
            parameters={schema.name: schema.parameters for schema in read_schemas(game.domain)},
            facts=FactBase(problem.facts),
            names=entity_names(named_entities(problem)),
        )

    def command(self, operator: str) -> str:
        name, *arguments = operator.split()
        bindings = dict(zip(self.parameters[name], arguments, strict=True))
        return self.grammar.derive(self.grammar.templates[name], self.facts, bindings, self.names)
