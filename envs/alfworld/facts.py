"""A small fact base with the one operation that grounding and text generation need: conjunctive queries.

Facts are tuples of lower-case strings, ``("inreceptacle", "mug_bar_1", "desk_bar_1")``.  As in textworld, a fact
that an action made false is remembered under the name ``not_<predicate>``, which its grammar asks for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

type Fact = tuple[str, ...]
"""Predicate, then arguments."""

type Bindings = Mapping[str, str]
"""Variable, then the object that it stands for."""

_NOTHING: frozenset[Fact] = frozenset()


@dataclasses.dataclass(frozen=True)
class Literal:
    """One condition of a query.

    Attributes:
        predicate: lower-case name; ``"="`` compares its two terms.
        terms: variables (which start with ``?``) and objects.
        positive: False asks that the fact does not hold.
    """

    predicate: str
    terms: tuple[str, ...]
    positive: bool = True


class FactBase:
    """The facts that hold now, indexed by predicate and by each argument.

    Args:
        facts: what holds at the beginning.
    """

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._by_predicate: dict[str, set[Fact]] = {}
        self._by_argument: dict[tuple[str, int, str], set[Fact]] = {}
        for fact in facts:
            self._insert(fact)

    def __contains__(self, fact: Fact) -> bool:
        return fact in self._by_predicate.get(fact[0], _NOTHING)

    def of(self, predicate: str) -> set[Fact]:
        """Every fact of a predicate; a copy."""
        return set(self._by_predicate.get(predicate, _NOTHING))

    def make_true(self, fact: Fact) -> None:
        """Add a fact, and forget that it was false."""
        self._delete((f"not_{fact[0]}", *fact[1:]))
        self._insert(fact)

    def make_false(self, fact: Fact) -> None:
        """Remove a fact, and remember that it was made false."""
        self._delete(fact)
        self._insert((f"not_{fact[0]}", *fact[1:]))

    def solutions(self, query: Sequence[Literal], bindings: Bindings) -> Iterator[dict[str, str]]:
        """Every way to bind the query's variables so that it holds, each once per matching set of facts.

        The order is not defined.  Negative literals and ``=`` are checked once their variables are bound, so
        each of their variables must also stand in a positive literal or in ``bindings``.
        """
        checks = [literal for literal in query if not literal.positive or literal.predicate == "="]
        joins = [literal for literal in query if literal.positive and literal.predicate != "="]
        return self._join(joins, checks, dict(bindings))

    def ordered_solutions(self, query: Sequence[Literal], bindings: Bindings) -> Iterator[dict[str, str]]:
        """The solutions as textworld's grammar finds them.

        Literals are matched from left to right, each against its facts in sorted order, and two variables never
        stand for one object (textworld 1.7.0, `State.all_assignments`).
        """
        if not query:
            yield dict(bindings)
            return
        first, rest = query[0], query[1:]
        for fact in sorted(self._candidates(first, bindings)):
            extended = _match(first, fact, bindings)
            if extended is not None and len(set(extended.values())) == len(extended):
                yield from self.ordered_solutions(rest, extended)

    def _join(self, joins: Sequence[Literal], checks: Sequence[Literal], bound: Bindings) -> Iterator[dict[str, str]]:
        if not joins:
            if all(self._holds(check, bound) for check in checks):
                yield dict(bound)
            return
        # The literal with the fewest matching facts first: the agent's location before all objects in the house.
        options = [self._candidates(literal, bound) for literal in joins]
        best = min(range(len(joins)), key=lambda index: len(options[index]))
        rest = [literal for index, literal in enumerate(joins) if index != best]
        for fact in options[best]:
            extended = _match(joins[best], fact, bound)
            if extended is not None:
                yield from self._join(rest, checks, extended)

    def _candidates(self, literal: Literal, bound: Bindings) -> set[Fact] | frozenset[Fact]:
        smallest = self._by_predicate.get(literal.predicate, _NOTHING)
        for index, term in enumerate(literal.terms):
            value = bound.get(term) if term.startswith("?") else term
            if value is not None:
                found = self._by_argument.get((literal.predicate, index, value), _NOTHING)
                if len(found) < len(smallest):
                    smallest = found
        return smallest

    def _holds(self, literal: Literal, bound: Bindings) -> bool:
        values = tuple(bound[term] if term.startswith("?") else term for term in literal.terms)
        if literal.predicate == "=":
            return (values[0] == values[1]) == literal.positive
        return ((literal.predicate, *values) in self) == literal.positive

    def _insert(self, fact: Fact) -> None:
        self._by_predicate.setdefault(fact[0], set()).add(fact)
        for index, value in enumerate(fact[1:]):
            self._by_argument.setdefault((fact[0], index, value), set()).add(fact)

    def _delete(self, fact: Fact) -> None:
        if fact in self:
            self._by_predicate[fact[0]].discard(fact)
            for index, value in enumerate(fact[1:]):
                self._by_argument[fact[0], index, value].discard(fact)


def _match(literal: Literal, fact: Fact, bound: Bindings) -> dict[str, str] | None:
    """The bindings extended so that the literal is the fact, or None where they contradict it."""
    extended = dict(bound)
    for term, value in zip(literal.terms, fact[1:], strict=True):
        wanted = extended.get(term) if term.startswith("?") else term
        if wanted is None:
            extended[term] = value
        elif wanted != value:
            return None
    return extended
