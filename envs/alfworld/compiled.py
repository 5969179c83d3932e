"""The compiled engine: PDDL actions and TextWorld grammar as indexed queries instead of a search per step.

alfworld's stack asks Fast Downward for every applicable operator and derives each one's command by copying the
whole game's context; that is nearly all of a step.  Here both are conjunctive queries over one `FactBase`, and the
replies are the same, character for character: the tests play both engines side by side.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Iterator

from ...errors import ContractError
from .engine import Reply
from .facts import Fact, FactBase
from .games import GOAL_PLACEHOLDER, Game, split_goal
from .grammar import Grammar, Node, Rule, read_grammar
from .pddl import TYPE_PREDICATE, Problem, Schema, read_problem, read_schemas

_NOTHING_HAPPENS = "Nothing happens."
_GOAL_RULE = "task"


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Grounding:
    schema: Schema
    bindings: dict[str, str]

    @property
    def operator(self) -> str:
        return " ".join([self.schema.name, *(self.bindings[name] for name in self.schema.parameters)])


class CompiledEngine:
    """See `Engine` and the module's docstring."""

    def __init__(self) -> None:
        self._facts = FactBase(())
        self._schemas: tuple[Schema, ...] = ()
        self._names: dict[str, str] = {}
        self._commands: dict[str, _Grounding] = {}
        self._grammar: Grammar | None = None
        self._problem: Problem | None = None

    def start(self, game: Game) -> Reply:
        """See `Engine.start`."""
        template, goal = split_goal(game.grammar)
        grammar = _with_task(read_grammar(template), goal)
        self._problem, self._grammar = _problem(game.problem), grammar
        self._schemas = _schemas(game.domain)
        self._facts = FactBase(self._problem.facts)
        self._names = entity_names(named_entities(self._problem))
        return self._reply(grammar.derive((Node(symbol="intro"),), self._facts, {}, self._names), grammar)

    def step(self, command: str) -> Reply:
        """See `Engine.step`."""
        if self._grammar is None:
            raise ContractError("step was called before start.")
        grounding = self._commands.get(command.strip())
        if grounding is None:
            return self._reply(_NOTHING_HAPPENS, self._grammar)
        self._apply(grounding)
        nodes = self._grammar.feedback[grounding.schema.name]
        text = self._grammar.derive(nodes, self._facts, grounding.bindings, self._names)
        return self._reply(text, self._grammar, grounding.operator)

    def facts(self, predicate: str) -> set[Fact]:
        """See `Engine.facts`."""
        return self._facts.of(predicate)

    def name(self, entity: str) -> str:
        """See `Engine.name`."""
        return self._names[entity]

    def _reply(self, text: str, grammar: Grammar, operator: str = "") -> Reply:
        self._commands = {}
        for grounding in self._applicable():
            nodes = grammar.templates[grounding.schema.name]
            command = grammar.derive(nodes, self._facts, grounding.bindings, self._names)
            self._commands.setdefault(command, grounding)
        return Reply(text=text, commands=tuple(sorted(self._commands)), won=self._won(), operator=operator)

    def _applicable(self) -> Iterator[_Grounding]:
        for schema in self._schemas:
            seen: set[str] = set()
            for conjunction in schema.alternatives:
                for found in self._facts.solutions(conjunction, {}):
                    grounding = _Grounding(schema=schema, bindings={name: found[name] for name in schema.parameters})
                    if grounding.operator not in seen and not _changes_nothing(schema, found):
                        seen.add(grounding.operator)
                        yield grounding

    def _apply(self, grounding: _Grounding) -> None:
        false: list[Fact] = []
        true: list[Fact] = []
        for effect in grounding.schema.effects:
            solutions = (self._facts.solutions(condition, grounding.bindings) for condition in effect.conditions)
            if not any(any(True for _ in found) for found in solutions):
                continue
            for literal in effect.literals:
                fact = (literal.predicate, *(grounding.bindings.get(term, term) for term in literal.terms))
                (true if literal.positive else false).append(fact)
        for fact in false:
            if fact not in true:
                self._facts.make_false(fact)
        for fact in true:
            self._facts.make_true(fact)

    def _won(self) -> bool:
        goal = self._problem.goal if self._problem else ()
        return any(any(True for _ in self._facts.solutions(conjunction, {})) for conjunction in goal)


def _changes_nothing(schema: Schema, bindings: dict[str, str]) -> bool:
    """Whether every effect already stands in the precondition: Fast Downward's translator drops such operators.

    It is why "go to desk 1" is not admissible at desk 1.
    """

    def ground(terms: Iterable[str]) -> tuple[str, ...]:
        return tuple(bindings.get(term, term) for term in terms)

    literals = [literal for effect in schema.effects for literal in effect.literals]
    if any(effect.conditions != ((),) for effect in schema.effects):
        return False
    true = {(literal.predicate, *ground(literal.terms)) for literal in literals if literal.positive}
    false = {(literal.predicate, *ground(literal.terms)) for literal in literals if not literal.positive} - true
    required = {
        (literal.predicate, *ground(literal.terms))
        for conjunction in schema.alternatives
        for literal in conjunction
        if literal.positive and len(schema.alternatives) == 1
    }
    return not false and true <= required


def named_entities(problem: Problem) -> set[str]:
    """The objects that stand in an initial fact: only they have names."""
    return {argument for fact in problem.facts if fact[0] != TYPE_PREDICATE for argument in fact[1:]}


def entity_names(entities: Iterable[str]) -> dict[str, str]:
    """The names that alfworld gives: the kind, and a number that counts down over the sorted identifiers.

    As `alfworld.agents.utils.misc.Demangler` (0.4.2) without shuffling, which the tests compare it with.
    """
    ordered = sorted(set(entities))
    left = Counter(_kind(entity) for entity in ordered if "_bar_" in entity)
    names: dict[str, str] = {}
    for entity in ordered:
        if "_bar_" not in entity:
            names[entity] = f"{entity} "
            continue
        kind = _kind(entity)
        names[entity] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names


def _kind(entity: str) -> str:
    return entity.partition("_bar_")[0] + ("basin" if "basin" in entity else "")


def _with_task(grammar: Grammar, goal: str) -> Grammar:
    """The shared grammar with one game's goal in its ``task`` rule."""
    rules = dict(grammar.rules)
    rules[_GOAL_RULE] = tuple(_with_text(rule, goal) for rule in rules[_GOAL_RULE])
    return dataclasses.replace(grammar, rules=rules)


def _with_text(rule: Rule, goal: str) -> Rule:
    nodes = (dataclasses.replace(node, text=node.text.replace(GOAL_PLACEHOLDER, goal)) for node in rule.nodes)
    return dataclasses.replace(rule, nodes=tuple(nodes))


_schemas = functools.lru_cache(maxsize=4)(read_schemas)
_problem = functools.lru_cache(maxsize=16)(read_problem)
