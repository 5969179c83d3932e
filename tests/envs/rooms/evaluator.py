"""An evaluator of expressions that shares no code with the library: words to objects of a scene graph in JSON."""

from __future__ import annotations

import math
import re
from typing import Any

COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey"]
MATERIALS = ["wooden", "metal", "ceramic", "glass", "plastic", "fabric", "paper", "natural"]
SIZES = ["small", "large"]
ORDER = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}


def denoted(text: str, house: dict[str, Any], objects: set[str], needs: dict[str, set[str]]) -> list[int]:
    """The ids of everything that the text denotes.

    Args:
        text: the expression.
        house: `House.to_json`.
        objects: the names of kinds that are objects.
        needs: sentence to the kinds that serve it.
    """
    things = [item for item in house["items"] if item["kind"] in objects]
    if text in needs:
        return [item["id"] for item in things if item["kind"] in needs[text]]
    match = re.fullmatch(
        r"the (?:(?P<nth>first|second|third|fourth|fifth) )?(?P<noun>.+?)(?P<left> from the left)?"
        r"(?: (?P<how>on|in|under|beside) the (?P<where>.+))?",
        text,
    )
    assert match is not None, text
    words = match["noun"].split()
    look: dict[str, str] = {}
    while words:
        key = {
            **dict.fromkeys(COLOURS, "colour"),
            **dict.fromkeys(MATERIALS, "material"),
            **dict.fromkeys(SIZES, "size"),
        }
        if words[0] not in key:
            break
        word = words.pop(0)
        look[key[word]] = word
    kind = " ".join(words)
    assert kind in objects, text
    items = {item["id"]: item for item in house["items"]}
    rooms = {room["index"]: room["name"] for room in house["rooms"]}
    found = [item for item in things if item["kind"] == kind and all(item[k] == v for k, v in look.items())]
    where = match["where"]
    if where is not None and where in rooms.values():
        found = [item for item in found if rooms[item["room"]] == where]
    elif where is not None:
        found = [
            item
            for item in found
            if item["support"] and items[item["support"]]["kind"] == where and item["relation"] == match["how"]
        ]
    if match["nth"] is None:
        return [item["id"] for item in found]
    chosen = []
    for support in {item["support"] for item in found}:
        base = items[support]
        row = [item for item in found if item["support"] == support]
        # Seen from the front, the furniture's own left (its local y) is to the viewer's right.
        row.sort(
            key=lambda i: (i["y"] - base["y"]) * math.cos(base["yaw"]) - (i["x"] - base["x"]) * math.sin(base["yaw"])
        )
        if len(row) > max(ORDER[match["nth"]], 1):
            chosen.append(row[ORDER[match["nth"]]]["id"])
    return chosen
