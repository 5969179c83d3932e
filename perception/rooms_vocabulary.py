"""Noun phrases as labels: what a detector says of a thing, and back to kind and attributes."""

from __future__ import annotations

import dataclasses
import functools

from ..envs.rooms.furniture import FURNITURE
from ..envs.rooms.kinds import COLOURS, MATERIALS, SIZES
from ..envs.rooms.objects import OBJECTS

KINDS = (*FURNITURE, *OBJECTS)
"""Everything that the closed vocabulary names."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Phrase:
    """A label taken apart; empty fields were not said."""

    kind: str
    size: str = ""
    colour: str = ""
    material: str = ""

    def __str__(self) -> str:
        return " ".join(word for word in (self.size, self.colour, self.material, self.kind) if word)


@functools.lru_cache(maxsize=4096)
def read_label(label: str) -> Phrase:
    """The phrase of a label such as ``"small red wooden toy car"``; a label with an unknown kind is all kind."""
    words = label.split()
    fields = {"size": "", "colour": "", "material": ""}
    while words[:-1]:
        name = next(
            (n for n, known in (("size", SIZES), ("colour", COLOURS), ("material", MATERIALS)) if words[0] in known), ""
        )
        if not name or " ".join(words) in KINDS:
            break
        fields[name] = words.pop(0)
    return Phrase(kind=" ".join(words), **fields)
