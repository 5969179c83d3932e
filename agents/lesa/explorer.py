"""Where to look next: frontiers and closed containers as options, the goal that is being walked to, and dead ends."""

from __future__ import annotations

import dataclasses
import math

from ...envs.rooms.actions import Move
from ...envs.rooms.furniture import FURNITURE
from ...perception.reasoner import Option
from ..navigation.geometry import Pose
from ..navigation.planning import Plan
from .grounding import room_at
from .landmarks import Landmark, Landmarks

_DEAD_ENDS = 64
_SAME = 0.6
"""Metres within which a frontier counts as the one that was chosen or given up before."""
_BEFORE = 0.45
"""Metres from a container's front at which to stand while it opens."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """An option and where it is: the point to walk to, and the container to open there."""

    option: Option
    x: float
    y: float
    container: int | None = None


class Explorer:
    """Makes options, and remembers which led nowhere.

    Attributes:
        goal: what is being walked to.
        linger: looks that are still owed to a container that was just opened.
    """

    def __init__(self) -> None:
        self.goal: Place | None = None
        self.linger: list[Move] = []
        self._dead: list[tuple[float, float]] = []

    def give_up(self, x: float, y: float) -> None:
        """Never choose a point near this one again."""
        self._dead = [*self._dead, (x, y)][-_DEAD_ENDS:]
        self.goal = None

    def alive(self, x: float, y: float) -> bool:
        """Whether no dead end is near."""
        return all(math.hypot(x - dx, y - dy) > _SAME for dx, dy in self._dead)

    def options(self, pose: Pose, plan: Plan, landmarks: Landmarks) -> list[Place]:
        """Everywhere that can be looked at next: frontiers first, then closed containers."""
        places: list[Place] = []
        for frontier in plan.frontiers():
            if not self.alive(frontier.x, frontier.y):
                continue
            room = room_at(frontier.x, frontier.y, landmarks, plan)
            name = f"Move to the frontier {_where(pose, frontier.x, frontier.y)}{f' of the {room}' if room else ''}"
            spot = frontier.x, frontier.y
            option = Option(name=name, distance=frontier.distance, size=frontier.size, room=room, spot=spot)
            places.append(Place(option=option, x=frontier.x, y=frontier.y))
        for container in landmarks.of(name for name, kind in FURNITURE.items() if kind.opens):
            if not container.opened and (spot := self._before(container, plan)) is not None:
                room = room_at(*spot, landmarks, plan)
                distance = plan.distance_to(*spot)
                option = Option(
                    name=f"Open the {container.kind}",
                    distance=distance,
                    room=room,
                    container=container.kind,
                    spot=spot,
                )
                places.append(Place(option=option, x=spot[0], y=spot[1], container=container.id))
        return places

    def _before(self, container: Landmark, plan: Plan) -> tuple[float, float] | None:
        """Where to stand to open a container."""
        x, y = float(container.centre[0]), float(container.centre[1])
        seen = container.view[0] - x, container.view[1] - y
        # Furniture stands along the axes with its back to a wall, so it was seen from about its front.
        axes = sorted(((1, 0), (-1, 0), (0, 1), (0, -1)), key=lambda axis: -(axis[0] * seen[0] + axis[1] * seen[1]))
        for along, across in axes[:2]:
            edge = int(across != 0)
            half = float(container.high[edge] - container.low[edge]) / 2 + _BEFORE
            spot = x + along * half, y + across * half
            reachable = self.alive(*spot) and math.isfinite(plan.distance_to(*spot))
            if reachable and plan.clear(spot, (x, y), plan.walls):
                return spot
        return None

    def still_there(self, places: list[Place]) -> Place | None:
        """The chosen option among the present ones, or None when it is gone: seen through, opened or cut off."""
        if self.goal is None:
            return None
        for place in places:
            if place.container != self.goal.container:
                continue
            if place.container is not None or math.hypot(place.x - self.goal.x, place.y - self.goal.y) < _SAME:
                return place
        return None


def _where(pose: Pose, x: float, y: float) -> str:
    bearing = math.degrees(pose.bearing(x, y))
    if abs(bearing) <= 30:
        side = "ahead"
    elif abs(bearing) >= 150:
        side = "behind"
    else:
        side = "to the left" if bearing > 0 else "to the right"
    return f"{pose.distance(x, y):.1f} m {side}"
