"""The reflexes behind the states: each looks at the senses and gives the next move, or the event that ends it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...envs.rooms.actions import Move
from ...envs.rooms.scenarios import facing
from ..navigation.steering import follow, tilt_towards, turn_towards
from .explorer import Explorer, Place
from .landmarks import Landmark
from .senses import Senses
from .states import Event

STOP_DISTANCE = 1.25
"""Metres from a target at which looking is enough."""
_ARRIVED = 0.3
_BLOCKED = 3
"""Forward steps in vain after which a way counts as blocked."""


def spot_of(landmark: Landmark) -> tuple[float, float]:
    """Where a landmark is on the floor."""
    return float(landmark.centre[0]), float(landmark.centre[1])


def blocked(senses: Senses) -> bool:
    """Whether the agent pushes against something; asking forgets it."""
    if senses.stuck < _BLOCKED:
        return False
    senses.stuck = 0
    return True


def reachable(senses: Senses, landmark: Landmark, distance: float) -> bool:
    """Whether a place is known from which a landmark can be looked at."""
    return senses.plan.standpoint(*spot_of(landmark), 0.6, distance, []) is not None


def inspect(senses: Senses, landmark: Landmark, distance: float) -> Move | None:
    """The next move towards a nearer look, or None when it was had or cannot be had."""
    x, y = spot_of(landmark)
    cell = senses.plan.standpoint(x, y, 0.6, distance, [])
    if cell is None or blocked(senses):
        return None
    spot = senses.plan.point(cell)
    if senses.pose.distance(*spot) > _ARRIVED:
        return follow(senses.pose, senses.plan, senses.plan.path(*spot))
    return turn_towards(senses.pose, x, y)


def walk(senses: Senses, explorer: Explorer, place: Place) -> tuple[Move, str]:
    """The next move towards a frontier or container, and why."""
    landmark = None if place.container is None else senses.landmarks.get(place.container)
    arrived = senses.pose.distance(place.x, place.y) < _ARRIVED + 0.05
    if landmark is not None and arrived:
        why = f"Open the {landmark.kind}"
        turn = turn_towards(senses.pose, *spot_of(landmark))
        if turn is not None:
            return turn, why
        landmark.opened = True
        explorer.goal = None
        # What it holds must be seen in more than one frame to count, and its lower shelf is out of view.
        explorer.linger = [Move.DOWN, Move.UP]
        return Move.OPEN, why
    path = senses.plan.path(place.x, place.y)
    if arrived or len(path) < 2:
        explorer.give_up(place.x, place.y)
        return Move.LEFT, "look around here"
    return follow(senses.pose, senses.plan, path), place.option.name


def approach(senses: Senses, landmark: Landmark, tried: list[tuple[float, float]]) -> Move | Event:
    """Walk to where the target can be looked at.

    Args:
        senses: what is known.
        landmark: the target.
        tried: standpoints from which it was not seen; a blocked one is added.
    """
    x, y = spot_of(landmark)
    pose, plan = senses.pose, senses.plan
    near = pose.distance(x, y) <= STOP_DISTANCE and plan.clear((pose.x, pose.y), (x, y), plan.walls)
    if near and not tried:
        return Event.ARRIVED
    cell = plan.standpoint(x, y, 0.5, STOP_DISTANCE, tried)
    if cell is None:
        return _towards(senses, x, y, tried)
    spot = plan.point(cell)
    if pose.distance(*spot) < _ARRIVED:
        return Event.ARRIVED
    path = plan.path(*spot)
    if len(path) < 2 or blocked(senses):
        tried.append(spot)
        return Event.LOST
    return follow(pose, plan, path)


def _towards(senses: Senses, x: float, y: float, tried: list[tuple[float, float]]) -> Move | Event:
    """What was seen from afar may stand where no way is known yet: explore in its direction."""
    pose, plan = senses.pose, senses.plan
    ways = [f for f in plan.frontiers() if pose.distance(f.x, f.y) > _ARRIVED]
    if not ways or blocked(senses):
        tried.append((pose.x, pose.y))
        return Event.LOST
    best = min(ways, key=lambda f: f.distance + 2 * math.hypot(f.x - x, f.y - y))
    return follow(pose, plan, plan.path(best.x, best.y))


def segment(senses: Senses, landmark: Landmark, tried: list[tuple[float, float]]) -> Move | Event:
    """Face the target; it is segmented when it is in view, and lost when no look finds it from here."""
    x, y = spot_of(landmark)
    turn = turn_towards(senses.pose, x, y)
    if turn is not None:
        return turn
    if landmark.id in senses.in_view:
        return Event.SEGMENTED
    _, pitch = facing(senses.pose.x, senses.pose.y, x, y, float(landmark.centre[2]))
    tilt = tilt_towards(senses.pose, pitch)
    if tilt is not None:
        return tilt
    tried.append((senses.pose.x, senses.pose.y))
    return Event.LOST


def nearest_first(senses: Senses, landmarks: Sequence[Landmark]) -> list[Landmark]:
    """Landmarks by their distance from the agent."""
    return sorted(landmarks, key=lambda landmark: senses.pose.distance(*spot_of(landmark)))
