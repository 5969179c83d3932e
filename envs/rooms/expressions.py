"""Referring expressions: said from a query, and understood back into one."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Iterator

import numpy as np

from ...errors import UsageError, choices
from .affordances import NEEDS
from .furniture import FURNITURE
from .house import House, Item
from .kinds import COLOURS, MATERIALS, SIZES
from .layout import FLOORS
from .objects import OBJECTS
from .queries import Form, Query, kinds_for, resolve

ORDINALS = ("first", "second", "third", "fourth", "fifth")
_SYNONYMS = {
    "couch": "sofa",
    "refrigerator": "fridge",
    "cup": "mug",
    "cupboard": "cabinet",
    "closet": "wardrobe",
    "oven": "stove",
    "cooker": "stove",
    "worktop": "counter",
    "milk": "milk carton",
    "cereal": "cereal box",
    "cereals": "cereal box",
    "teddy": "teddy bear",
    "lamp": "table lamp",
    "clock": "alarm clock",
    "plant": "potted plant",
    "pillow": "cushion",
    "gray": "grey",
    "golden": "yellow",
    "next to": "beside",
    "inside": "in",
    "below": "under",
    "big": "large",
    "little": "small",
    "leftmost": "first from the left",
    "wood": "wooden",
}
_FACED = ("desk", "cabinet", "counter", "tv stand", "bookshelf", "bench", "sofa", "washing machine", "stove")
"""Furniture that everybody faces from the same side, so that "from the left" has one meaning."""
_NAMES = (*OBJECTS, *FURNITURE)
_LONGER = {word: tuple(name for name in _NAMES if word in name.split()) for word in _SYNONYMS}
_IDLE_WORDS = (
    "a an and am are at be been but by can could do for from get give go had has have he her here i in is it its "
    "just let like me my need not of on or our out please put she so some something take that the their them there "
    "they this to too up us want wants was we what where which who will with would you your find bring show"
)
_IDLE = frozenset(_IDLE_WORDS.split())


def say(query: Query, rng: np.random.Generator) -> str:
    """The query in words."""
    if query.need:
        sentences = NEEDS[query.need]
        return sentences[int(rng.integers(len(sentences)))]
    words = [word for word in (query.size, query.colour, query.material) if word and word != "medium"]
    noun = " ".join([*words, query.kinds[0]])
    if query.place:
        return f"the {ORDINALS[query.place - 1]} {noun} from the left on the {query.support}"
    if query.support:
        return f"the {noun} {query.relation} the {query.support}"
    return f"the {noun} in the {query.room}" if query.room else f"the {noun}"


def candidates(house: House, target: Item) -> Iterator[Query]:
    """Queries of the grammar that denote this target and nothing else: the plainest of each form."""
    found: set[Form] = set()
    for query in _grammar(house, target):
        if query.form not in found and resolve(query, house) == (target,):
            found.add(query.form)
            yield query


def _grammar(house: House, target: Item) -> Iterator[Query]:
    bare = Query(kinds=(target.kind,))
    coloured = dataclasses.replace(bare, colour=target.colour)
    # A bare kind ("the globe") is no attribute: the form always says at least one.
    yield coloured
    if target.size != "medium":
        yield dataclasses.replace(bare, size=target.size)
        yield dataclasses.replace(coloured, size=target.size)
    yield dataclasses.replace(bare, material=target.material)
    yield dataclasses.replace(coloured, material=target.material)
    support = house.by_id[target.support] if target.support is not None else None
    if support is not None:
        for noun in (bare, coloured):
            yield dataclasses.replace(noun, relation=target.relation, support=support.kind)
        if target.relation == "on" and support.kind in _FACED and _one_level(house, target):
            for place in range(1, len(ORDINALS) + 1):
                yield dataclasses.replace(bare, relation="on", support=support.kind, place=place)
    for noun in (bare, coloured):
        yield dataclasses.replace(noun, room=house.rooms[target.room].name)
    for need in target.shape.affordances:
        if need in NEEDS:
            yield Query(kinds=kinds_for(need), need=need)


def _one_level(house: House, target: Item) -> bool:
    """Whether all of the target's kind on its support stand on the same board, in one row."""
    row = [i for i in house.objects() if i.support == target.support and i.kind == target.kind and i.relation == "on"]
    return len({item.z for item in row}) == 1


def understand(expression: str) -> Query:
    """The meaning of an expression: the inverse of `say`, tolerant of synonyms and of words in between.

    Raises:
        UsageError: the expression is empty, or it names no known kind and states no known need.
    """
    text = _normal(expression)
    if not text:
        raise UsageError('the expression is empty. Say what to find, such as "the red mug on the desk".')
    kind, end = _first(text, OBJECTS)
    exact = _need(text, exact=True)
    if exact or not kind:
        need = exact or _need(text, exact=False)
        if not need:
            raise UsageError(
                f"cannot tell what {expression!r} refers to: it names no known object and no known need. "
                f"{choices(expression, OBJECTS, limit=40)}"
            )
        return Query(kinds=kinds_for(need), need=need)
    before, after = text[:end], text[end:]
    support, at = _first(after, FURNITURE)
    between = re.findall(r"\b(on|in|under|beside)\b", after[:at])
    return Query(
        kinds=(kind,),
        colour=_word(before, COLOURS),
        material=_word(before, MATERIALS),
        size=_word(before, SIZES),
        room=_first(after, FLOORS)[0],
        relation=between[-1] if between else "",
        support=support,
        place=next((i + 1 for i, word in enumerate(ORDINALS) if re.search(rf"\b{word}\b.*from the left", text)), 0),
    )


@functools.lru_cache(maxsize=4096)
def _normal(expression: str) -> str:
    text = " ".join(re.findall(r"[a-z]+", expression.lower()))
    for word, meaning in _SYNONYMS.items():
        # "lamp" means the table lamp, except in "floor lamp".
        if not any(name in text for name in _LONGER[word]):
            text = re.sub(rf"\b{word}\b", meaning, text)
    return text


def _first(text: str, names: Collection[str]) -> tuple[str, int]:
    """The earliest (then longest) of the names in a text, and where it ends."""
    best: tuple[int, int, str] | None = None
    for name in names:
        match = re.search(rf"\b{name}s?\b", text)
        if match and (best is None or (match.start(), -len(name)) < best[:2]):
            best = (match.start(), -len(name), name)
    return ("", 0) if best is None else (best[2], best[0] - best[1])


def _word(text: str, names: Collection[str]) -> str:
    return next((word for word in text.split() if word in names), "")


def _need(text: str, *, exact: bool) -> str:
    """The need that a text states: a known sentence, or the one that shares most content words."""
    said = {word for word in text.split() if word not in _IDLE}
    best, score = "", 0.0
    for need, sentences in NEEDS.items():
        for sentence in sentences:
            if _normal(sentence) == text:
                return need
            content = {word for word in _normal(sentence).split() if word not in _IDLE}
            shared = len(said & content) / max(len(content), 1)
            if not exact and shared > score:
                best, score = need, shared
    return best if score >= 0.5 else ""
