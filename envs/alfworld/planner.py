"""The planner expert: Fast Downward from wherever the game stands now, as alfworld's own planner expert uses it.

alfworld searches the whole game, which takes up to minutes in a full kitchen.  Here the problem is first reduced to
what the goal can need.  Objects of classes that the goal does not name take no part in any action on those that it
names, and empty receptacles of one class are as good as each other, so a goal that can be reached in the whole
problem can be reached in the reduced one, and every plan of the reduced problem is one of the whole.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from ...errors import MissingDependency
from .compiled import entity_names, named_entities
from .engine import Engine
from .facts import Fact, FactBase
from .games import INSTALL, Game
from .grammar import Grammar, read_grammar
from .pddl import TYPE_PREDICATE, Problem, read_problem, read_schemas
from .stock import keeping_arguments


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """One step of a plan: the ground operator, as in `Reply.operator`, and the game's command for it."""

    operator: str
    command: str


class Planner:
    """Plans from the present state of a game to its goal.

    Raises:
        MissingDependency: Fast Downward is not installed.
    """

    def __init__(self) -> None:
        try:
            import fast_downward
        except ImportError as error:
            raise MissingDependency("fast-downward-textworld", purpose="The planner expert", install=INSTALL) from error
        self._downward: Any = fast_downward
        self._library: Any = _loaded_library()

    def plan(self, game: Game, engine: Engine) -> tuple[PlannedStep, ...]:
        """The steps to the goal; none when it holds already or cannot be reached.

        Args:
            game: the game.
            engine: plays it, and says what holds now.
        """
        problem = present_problem(game, engine)
        with keeping_arguments():
            _, whole = self._downward.pddl2sas(game.domain, problem)
            _, reduced = self._downward.pddl2sas(game.domain, problem, optimize=True)
        self._library.load_sas(whole.encode())
        self._library.load_sas_replan(reduced.encode())
        # An empty plan crashes alfworld's expert, so a goal that holds already is asked for first.
        if self._library.check_goal() or not self._library.replan(False):
            return ()
        operators = (self._downward.Operator * self._library.get_last_plan_length())()
        self._library.get_last_plan(operators)
        speaker = _Speaker.of(game)
        return tuple(PlannedStep(operator=found.name, command=speaker.command(found.name)) for found in operators)


@functools.cache
def _loaded_library() -> Any:
    """Fast Downward's library, once per process.

    It is never unloaded: loading another copy after an unload crashed the process (a segmentation fault in dlopen).
    """
    import fast_downward

    return fast_downward.load_lib()


def present_problem(game: Game, engine: Engine) -> str:
    """The PDDL problem whose beginning is the game's present state, reduced to what its goal can need."""
    problem, schemas = read_problem(game.problem), read_schemas(game.domain)
    predicates = {fact[0] for fact in problem.facts} - {TYPE_PREDICATE}
    predicates |= {literal.predicate for schema in schemas for effect in schema.effects for literal in effect.literals}
    facts = {fact for predicate in predicates for fact in engine.facts(predicate)}
    conjunctions = [*problem.goal, *(one for schema in schemas for one in schema.alternatives)]
    mentioned = {term for conjunction in conjunctions for literal in conjunction for term in literal.terms}
    wanted = {term for conjunction in problem.goal for literal in conjunction for term in literal.terms}
    kept = _needed(problem, facts, wanted=wanted, mentioned=mentioned)
    objects = [f"{fact[1]} - {fact[2]}" for fact in sorted(problem.facts) if _is_type(fact) and fact[1] in kept]
    holding = [f"({' '.join(fact)})" for fact in sorted(facts) if kept.issuperset(fact[1:])]
    goal = game.problem[game.problem.lower().index("(:goal") :]
    return "\n".join(
        ["(define (problem now)", "(:domain alfred)", "(:objects", *objects, ")", "(:init", *holding, ")", goal]
    )


def _needed(problem: Problem, facts: set[Fact], *, wanted: set[str], mentioned: set[str]) -> set[str]:
    """The objects of the reduced problem.

    Args:
        problem: the whole one.
        facts: what holds now.
        wanted: what the goal names.
        mentioned: what the goal or any action names: the classes of tools.
    """
    pairs = {predicate: [fact[1:] for fact in sorted(facts) if fact[0] == predicate] for predicate in _USED}
    agents = [fact[1] for fact in problem.facts if _is_type(fact) and fact[2] == "agent"]
    held = {thing for _, thing in pairs["holds"]}
    things = {thing for thing, kind in pairs["objecttype"] if kind in wanted or thing in held}
    classes = {kind for thing, kind in pairs["objecttype"] if thing in things} | wanted
    here = {location for _, location in pairs["atlocation"]}
    places = {place for thing, place in pairs["inreceptacle"] if thing in things}
    places |= {place for place, location in pairs["receptacleatlocation"] if location in here}
    # One receptacle of each class that the goal or an action names, and one where what is held can be put.
    of_kind = {kind: place for place, kind in reversed(pairs["receptacletype"])}
    laid = {kind for kind, thing_kind in pairs["cancontain"] if held and thing_kind in classes}
    places |= {of_kind[kind] for kind in of_kind if kind in mentioned or kind in sorted(laid)[:1]}
    kinds = {kind for place, kind in pairs["receptacletype"] if place in places} | mentioned
    locations = here | {location for place, location in pairs["receptacleatlocation"] if place in places}
    return {*agents, *things, *classes, *places, *kinds, *locations}


_USED = ("holds", "objecttype", "inreceptacle", "atlocation", "receptacleatlocation", "receptacletype", "cancontain")


def _is_type(fact: Fact) -> bool:
    return fact[0] == TYPE_PREDICATE


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
