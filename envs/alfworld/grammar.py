"""TextWorld's grammars for PDDL games, compiled once and derived without copying contexts.

The language is textworld 1.7.0's (`textworld/envs/pddl/textgen/textgen.ebnf`): terminal text, ``#symbol#``,
``{expression}``, ``{expression | query}`` and ``[{expression | query}]``, which lists every solution of the query.
Expressions are the ones that ALFWorld's grammar uses: attributes of variables, string literals, ``+`` and ``or``;
nothing in a game file is evaluated as Python.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import re
from collections.abc import Mapping, Sequence

from ...errors import UsageError
from .facts import Bindings, FactBase, Literal

_BLOCK = re.compile(r'grammar\s*::\s*"""(?P<json>.*?)"""\s*;', re.DOTALL)
_ACTION = re.compile(r'action\s+(?P<name>[\w/-]+)\s*\{(?P<body>(?:\s*\w+\s*::\s*"[^"]*"\s*;)*)\s*\}')
_FIELD = re.compile(r'(?P<field>template|feedback)\s*::\s*"(?P<text>[^"]*)"\s*;')
_SYMBOL = re.compile(
    r"(?P<list>\[)?(?:\{\s*(?P<body>#[^#]*#|[^|{}]*?)\s*(?:\|(?P<query>[^{}]*))?\})(?(list)\])"
    r"|#(?P<symbol>[^#]*)#|(?P<text>[^\[\]{}#]+)"
)
_LITERAL = re.compile(r"(?P<predicate>[\w-]+)\((?P<terms>[^)]*)\)")

_ATTRIBUTES = {"name": "{name}", "id": "{id}", "indefinite": "a", "definite": "the"}
"""The attributes of textworld's `EntityInfo` that grammars read, and the articles that `PddlEnv` gives every entity."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Node:
    """One piece of a rule's right-hand side.

    Attributes:
        text: terminal text, or empty.
        symbol: the rule to derive, or empty.
        expression: what to evaluate, or None.
        query: the node stands once for each of its solutions.
        listed: whether the solutions are joined as a list.
    """

    text: str = ""
    symbol: str = ""
    expression: ast.expr | None = None
    query: tuple[Literal, ...] = ()
    listed: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """An alternative of a symbol: taken when its condition has a solution."""

    condition: tuple[Literal, ...]
    nodes: tuple[Node, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grammar:
    """A compiled grammar.

    Attributes:
        rules: the alternatives of every symbol, in order.
        templates: the command of every action, by its lower-case name.
        feedback: the feedback of every action, by its lower-case name.
    """

    rules: Mapping[str, tuple[Rule, ...]]
    templates: Mapping[str, tuple[Node, ...]]
    feedback: Mapping[str, tuple[Node, ...]]

    def derive(self, nodes: Sequence[Node], facts: FactBase, bindings: Bindings, names: Mapping[str, str]) -> str:
        """The text of some nodes.

        Args:
            nodes: what to derive.
            facts: what holds now.
            bindings: the variables that are known, each with its leading ``?``.
            names: the name that a person reads, by object.

        Raises:
            UsageError: a symbol has no rule that applies.
        """
        return "".join(self._derive(node, facts, bindings, names) for node in nodes)

    def _derive(self, node: Node, facts: FactBase, bindings: Bindings, names: Mapping[str, str]) -> str:
        if node.text:
            return node.text
        if not node.query:
            return self._item(node, facts, bindings, names)
        items = [self._item(node, facts, found, names) for found in facts.ordered_solutions(node.query, bindings)]
        if not node.listed:
            return "".join(items)
        joints = ("list_empty", "list_separator", "list_last_separator")
        empty, comma, last = (functools.partial(self._symbol, joint, facts, bindings, names) for joint in joints)
        if not items:
            return empty()
        return items[0] if len(items) == 1 else f"{comma().join(items[:-1])}{last()}{items[-1]}"

    def _item(self, node: Node, facts: FactBase, bindings: Bindings, names: Mapping[str, str]) -> str:
        if node.expression is not None:
            return _evaluate(node.expression, bindings, names)
        return self._symbol(node.symbol, facts, bindings, names)

    def _symbol(self, symbol: str, facts: FactBase, bindings: Bindings, names: Mapping[str, str]) -> str:
        for rule in self.rules.get(symbol, ()):
            if not rule.condition or any(True for _ in facts.ordered_solutions(rule.condition, bindings)):
                return self.derive(rule.nodes, facts, bindings, names)
        raise UsageError(f"this game's grammar has no rule for #{symbol}# that applies.")


@functools.lru_cache(maxsize=16)
def read_grammar(text: str) -> Grammar:
    """Compile a grammar; the same text is compiled once.

    Raises:
        UsageError: it uses what this compiler does not understand; ``engine="stock"`` may.
    """
    rules: dict[str, list[Rule]] = {}
    try:
        for block in _BLOCK.finditer(text):
            for symbol, alternatives in json.loads(block["json"]).items():
                rules.setdefault(symbol, []).extend(
                    Rule(condition=_query(rule.get("condition", "")), nodes=_nodes(rule["rhs"]))
                    for rule in alternatives
                )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"this game's grammar cannot be read: {error!r}.") from error
    templates: dict[str, tuple[Node, ...]] = {}
    feedback: dict[str, tuple[Node, ...]] = {}
    for action in _ACTION.finditer(_BLOCK.sub("", text)):
        fields = {found["field"]: _nodes(found["text"]) for found in _FIELD.finditer(action["body"])}
        name = action["name"].lower()
        templates[name], feedback[name] = fields["template"], fields["feedback"]
    return Grammar(rules={key: tuple(value) for key, value in rules.items()}, templates=templates, feedback=feedback)


def _nodes(text: str) -> tuple[Node, ...]:
    # textworld's parser takes white space at the beginning of a rule for an empty comment.
    text = text.lstrip()
    nodes: list[Node] = []
    position = 0
    while position < len(text):
        match = _SYMBOL.match(text, position)
        if match is None:
            # textworld's parser ignores what follows the last symbol that it understands, and ALFWorld's own
            # grammar relies on it: a rule of its own ends with a stray brace.
            break
        nodes.append(_node(match))
        position = match.end()
    return tuple(nodes)


def _node(match: re.Match[str]) -> Node:
    if match["text"] is not None:
        return Node(text=match["text"])
    if match["symbol"] is not None:
        return Node(symbol=match["symbol"])
    query, listed = _query(match["query"] or ""), match["list"] is not None
    if match["body"].startswith("#"):
        return Node(symbol=match["body"].strip("#"), query=query, listed=listed)
    return Node(expression=ast.parse(match["body"].strip(), mode="eval").body, query=query, listed=listed)


def _query(text: str) -> tuple[Literal, ...]:
    """``holds(a:agent, o:object) & openable(r)``, its variables with a leading ``?`` as in PDDL."""
    return tuple(
        Literal(found["predicate"], tuple("?" + term.partition(":")[0].strip() for term in found["terms"].split(",")))
        for found in _LITERAL.finditer(text)
    )


def _evaluate(node: ast.expr, bindings: Bindings, names: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=variable):
            return names[bindings[f"?{variable}"]]
        case ast.Attribute(value=ast.Name(id=variable), attr=attribute) if attribute in _ATTRIBUTES:
            entity = bindings[f"?{variable}"]
            return _ATTRIBUTES[attribute].format(name=names[entity], id=entity)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _evaluate(left, bindings, names) + _evaluate(right, bindings, names)
        case ast.BoolOp(op=ast.Or(), values=values):
            return next((text for value in values if (text := _evaluate(value, bindings, names))), "")
        case _:
            raise UsageError(f"the compiled engine does not understand the grammar expression {ast.unparse(node)!r}.")
