"""The part of PDDL that ALFWorld's games are written in, read into queries over a `FactBase`.

Understood: ``:typing``, conjunction, disjunction, negated atoms, ``exists``, ``=``, and effects with ``when`` and
``increase`` (whose costs decide nothing here).  Anything else raises, and such a game is played with
``engine="stock"``.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from ...errors import UsageError
from .facts import Fact, Literal

type Sexp = str | list[Sexp]
"""A parsed parenthesised expression."""

type Conjunction = tuple[Literal, ...]

TYPE_PREDICATE = "is-a"
"""The predicate of the facts ``("is-a", object, type)`` that `Problem.facts` adds."""

_TOKENS = re.compile(r"[()]|[^\s()]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """What an action changes: each of ``literals`` becomes true (or false where negative) if a condition holds.

    Attributes:
        conditions: alternatives, evaluated before the action; one empty conjunction when unconditional.
        literals: what becomes true or false.
    """

    conditions: tuple[Conjunction, ...]
    literals: Conjunction


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schema:
    """An action of the domain.

    Attributes:
        name: lower case.
        parameters: variables in their order, each with its leading ``?``.
        alternatives: the precondition in disjunctive normal form.
        effects: what it changes.
    """

    name: str
    parameters: tuple[str, ...]
    alternatives: tuple[Conjunction, ...]
    effects: tuple[Effect, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem.

    Attributes:
        facts: the initial facts, without costs, and the types of the objects as `TYPE_PREDICATE` facts.
        goal: in disjunctive normal form.
    """

    facts: frozenset[Fact]
    goal: tuple[Conjunction, ...]


def read_schemas(domain: str) -> tuple[Schema, ...]:
    """The actions of a PDDL domain.

    Raises:
        UsageError: it is not well formed or uses what this reader does not understand.
    """
    sections = parse(domain)
    return tuple(_schema(section) for section in sections if _head(section) == ":action")


def read_problem(problem: str) -> Problem:
    """The initial facts and the goal of a PDDL problem.

    Raises:
        UsageError: as `read_schemas`.
    """
    facts: set[Fact] = set()
    goal: tuple[Conjunction, ...] = ()
    for section in parse(problem):
        body = _list(section)[1:]
        if _head(section) == ":objects":
            facts.update((TYPE_PREDICATE, name, kind) for name, kind in _typed(body))
        elif _head(section) == ":init":
            # Assignments such as (= (total-cost) 0) hold a nested list and are costs, not facts.
            atoms = [_list(atom) for atom in body]
            facts.update(tuple(_words(atom)) for atom in atoms if all(isinstance(part, str) for part in atom))
        elif _head(section) == ":goal":
            goal = _alternatives(body[0])
    if not goal:
        raise UsageError("this PDDL problem has no goal.")
    return Problem(facts=frozenset(facts), goal=goal)


def parse(text: str) -> list[Sexp]:
    """The sections inside ``(define …)``, in lower case, comments removed.

    Raises:
        UsageError: the parentheses do not match.
    """
    stack: list[list[Sexp]] = [[]]
    for symbol in _TOKENS.findall(re.sub(r";[^\n]*", "", text).lower()):
        if symbol == "(":
            stack.append([])
        elif symbol == ")" and len(stack) > 1:
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(symbol)
    if len(stack) != 1 or len(stack[0]) != 1 or _head(stack[0][0]) != "define":
        raise UsageError(
            "this is not a PDDL definition: its parentheses do not match, or it does not start (define …)."
        )
    return _list(stack[0][0])[1:]


def _schema(section: Sexp) -> Schema:
    parts = _list(section)
    fields = dict(zip(_words(parts[2::2]), parts[3::2], strict=True))
    parameters = _typed(_list(fields.get(":parameters", [])))
    bound = {name for name, _ in parameters}
    alternatives = tuple(
        _with_types(conjunction, parameters) for conjunction in _alternatives(fields.get(":precondition", []), bound)
    )
    return Schema(
        name=_word(parts[1]),
        parameters=tuple(name for name, _ in parameters),
        alternatives=alternatives,
        effects=tuple(_effects(fields[":effect"], ((),))),
    )


def _with_types(conjunction: Conjunction, parameters: Sequence[tuple[str, str]]) -> Conjunction:
    """Adds the type of every parameter that no positive literal binds, so that a query can bind it."""
    bound = {term for literal in conjunction if literal.positive for term in literal.terms}
    free = [Literal(TYPE_PREDICATE, (name, kind)) for name, kind in parameters if name not in bound]
    return (*conjunction, *free)


def _alternatives(formula: Sexp, scope: set[str] | None = None) -> tuple[Conjunction, ...]:
    """Disjunctive normal form; variables of ``exists`` are renamed where the scope already has their names."""
    parts = _list(formula)
    if not parts:
        return ((),)
    scope = set() if scope is None else scope
    head = _word(parts[0])
    if head == "and":
        branches = [_alternatives(part, scope) for part in parts[1:]]
        return tuple(tuple(itertools.chain(*chosen)) for chosen in itertools.product(*branches))
    if head == "or":
        return tuple(itertools.chain(*(_alternatives(part, scope) for part in parts[1:])))
    if head == "exists":
        # The types must be checked: alfworld 0.4.2 writes ``?l - location, ?r - receptacle`` in one action, where
        # Fast Downward reads a type "location," that no object has, so that branch never applies.
        declared = _typed(_list(parts[1]))
        renamed = {name: _fresh(name, scope) for name, _ in declared}
        types = tuple(Literal(TYPE_PREDICATE, (renamed[name], kind)) for name, kind in declared)
        inner = _alternatives(_rename(parts[2], renamed), scope | set(renamed.values()))
        return tuple((*types, *conjunction) for conjunction in inner)
    if head == "not":
        inner = _list(parts[1])
        if _word(inner[0]) in ("and", "or", "not", "exists", "forall", "when"):
            raise _unsupported("a negated formula")
        return ((Literal(_word(inner[0]), tuple(_words(inner[1:])), positive=False),),)
    if head in ("forall", "imply", "when"):
        raise _unsupported(head)
    return ((Literal(head, tuple(_words(parts[1:]))),),)


def _fresh(name: str, scope: set[str]) -> str:
    candidates = itertools.chain([name], (f"{name}-{index}" for index in itertools.count(2)))
    return next(candidate for candidate in candidates if candidate not in scope)


def _rename(formula: Sexp, renamed: dict[str, str]) -> Sexp:
    if isinstance(formula, str):
        return renamed.get(formula, formula)
    return [_rename(part, renamed) for part in formula]


def _effects(formula: Sexp, conditions: tuple[Conjunction, ...]) -> Iterator[Effect]:
    parts = _list(formula)
    head = _word(parts[0])
    if head == "and":
        for part in parts[1:]:
            yield from _effects(part, conditions)
    elif head == "when":
        yield from _effects(parts[2], _alternatives(parts[1]))
    elif head == "forall":
        raise _unsupported(head)
    elif head != "increase":
        (literals,) = _alternatives(formula)
        yield Effect(conditions=conditions, literals=literals)


def _typed(words: Sequence[Sexp]) -> list[tuple[str, str]]:
    """``a b - t`` as ``[(a, t), (b, t)]``; what stands without a type is an ``object``."""
    typed: list[tuple[str, str]] = []
    waiting: list[str] = []
    names = iter(_words(words))
    for name in names:
        if name == "-":
            kind = next(names)
            typed += [(waited, kind) for waited in waiting]
            waiting = []
        else:
            waiting.append(name)
    return typed + [(waited, "object") for waited in waiting]


def _head(section: Sexp) -> str:
    return section[0] if isinstance(section, list) and section and isinstance(section[0], str) else ""


def _list(part: Sexp) -> list[Sexp]:
    if isinstance(part, str):
        raise UsageError(f"this PDDL has {part!r} where a list in parentheses must stand.")
    return part


def _word(part: Sexp) -> str:
    if not isinstance(part, str):
        raise UsageError(f"this PDDL has a list where a name must stand: {part}.")
    return part


def _words(parts: Sequence[Sexp]) -> list[str]:
    return [_word(part) for part in parts]


def _unsupported(what: str) -> UsageError:
    return UsageError(f"the compiled engine does not understand {what} in PDDL; play this game with engine='stock'.")
