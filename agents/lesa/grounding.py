"""What the landmarks' layout says of one of them: its room, what it stands on, its place in a row."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from ...envs.rooms.furnish import ROOM_FURNITURE
from ...envs.rooms.furniture import FURNITURE
from ...envs.rooms.queries import Query
from ...perception.reasoner import Facts
from ..navigation.planning import Plan
from .landmarks import Landmark, Landmarks

_ROOM_RANGE = 4.5
_MIN_VOTE = 0.25
_ROW_RANGE = 2.6
"""Metres beyond which a row may have members that were too small to see."""
_FLOOR = 0.16
"""Metres: an object whose lowest point is below stands on the floor."""


@functools.cache
def signatures() -> Mapping[str, str]:
    """Furniture that only one room has, and that room."""
    rooms: dict[str, set[str]] = {}
    for room, lists in ROOM_FURNITURE.items():
        for kind in (*lists[0], *lists[1]):
            rooms.setdefault(kind, set()).add(room)
    return {kind: next(iter(names)) for kind, names in rooms.items() if len(names) == 1}


def room_at(x: float, y: float, landmarks: Landmarks, plan: Plan) -> str:
    """The room that a point seems to be in: by the telling furniture in sight of it; empty when none is."""
    votes: dict[str, float] = {}
    for kind, room in signatures().items():
        for landmark in landmarks.of([kind]):
            away = landmark.gap(x, y)
            middle = (float(landmark.centre[0]), float(landmark.centre[1]))
            if away < _ROOM_RANGE and plan.clear((x, y), middle, plan.walls):
                votes[room] = votes.get(room, 0.0) + min(landmark.seen, 4) * landmark.score / (4 * (0.5 + away))
    if not votes:
        return ""
    best = max(votes, key=lambda name: (votes[name], name))
    return best if votes[best] >= _MIN_VOTE and votes[best] >= 0.6 * sum(votes.values()) else ""


def supports_of(landmark: Landmark, landmarks: Landmarks) -> tuple[tuple[str, str], ...]:
    """(relation, kind) pairs that hold between an object and the furniture around it, the nearest first."""
    x, y = float(landmark.centre[0]), float(landmark.centre[1])
    bottom, middle = float(landmark.low[2]), float(landmark.centre[2])
    found: list[tuple[float, str, str]] = []
    for other in landmarks.of(FURNITURE):
        kind = FURNITURE[other.kind]
        gap = other.gap(x, y)
        top = kind.extent[2]
        tops = [surface.centre[2] for surface in kind.surfaces if surface.relation == "on"]
        step = min((abs(bottom - height) for height in tops), default=1.0)
        if gap < 0.12 and step < 0.14:
            found.append((gap + step, "on", other.kind))
        elif gap < 0.12 and kind.opens and other.opened and middle < top:
            found.append((gap, "in", other.kind))
        elif bottom < _FLOOR and gap < 0.05 and not kind.opens and top > 0.6:
            found.append((gap, "under", other.kind))
        elif bottom < _FLOOR and gap < 0.45:
            found.append((gap + 0.2, "beside", other.kind))
    # A thing stands on or in one piece of furniture only, even where the boxes of two neighbours touch.
    best: dict[str, tuple[float, str, str]] = {}
    for entry in sorted(found):
        best.setdefault(entry[1] if entry[1] != "beside" else entry[2], entry)
    return tuple((relation, kind) for _, relation, kind in sorted(best.values()))


def place_of(landmark: Landmark, goal: Query, landmarks: Landmarks) -> int:
    """The place from the left, as the agent saw it, among its kind on the goal's support; 0 where it is alone."""
    if not goal.place:
        return 0
    for support in landmarks.of([goal.support]):
        row = [m for m in landmarks.of([landmark.kind]) if _stands_on(m, support, landmarks)]
        if landmark not in row or len(row) < 2 or max(m.nearest for m in row) > _ROW_RANGE:
            continue
        toward = support.centre[:2] - np.asarray(landmark.view)
        right = np.array([toward[1], -toward[0]])
        order = sorted(row, key=lambda m: float(m.centre[:2] @ right))
        return order.index(landmark) + 1
    return 0


def _stands_on(landmark: Landmark, support: Landmark, landmarks: Landmarks) -> bool:
    near = support.gap(float(landmark.centre[0]), float(landmark.centre[1])) < 0.12
    return near and ("on", support.kind) in supports_of(landmark, landmarks)


def facts_of(landmark: Landmark, goal: Query, landmarks: Landmarks, plan: Plan) -> Facts:
    """Everything that verification may know of a landmark; rooms and supports only where the goal asks for them."""
    size, colour, material = landmark.look
    x, y = float(landmark.centre[0]), float(landmark.centre[1])
    return Facts(
        kind=landmark.kind,
        colour=colour,
        size=size,
        material=material,
        room=room_at(x, y, landmarks, plan) if goal.room else "",
        supports=supports_of(landmark, landmarks) if goal.support else (),
        place=place_of(landmark, goal, landmarks),
        distance=landmark.nearest,
    )
