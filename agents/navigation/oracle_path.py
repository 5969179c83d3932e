"""The shortest path of one who knows: an upper bound, and the annotator of the data set."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import gymnasium as gym

from ...envs import Observation
from ...envs.rooms.actions import Move
from ...envs.rooms.env import RoomsEnv
from ...envs.rooms.motion import STRIDE, TURN, slide, wrap
from ...envs.rooms.occupancy import Field
from ...envs.rooms.scenarios import Viewpoint
from ...envs.rooms.scoring import MIN_VISIBLE
from ..agent import Agent, Decision
from ..lesa.build import rooms_of

_ARRIVED = 0.15


@dataclasses.dataclass(frozen=True, kw_only=True)
class OracleOptions:
    """Options of the oracle path: none."""


class OraclePath:
    """Privileged: reads the true map and target, and walks the shortest path to a verified viewpoint.

    Args:
        rooms: the world that it reads.
    """

    def __init__(self, rooms: RoomsEnv) -> None:
        self._rooms = rooms
        self.reset(seed=0)

    def reset(self, *, seed: int) -> None:
        """Forget which viewpoints failed; nothing is drawn, so the seed decides nothing."""
        del seed
        self._tried: set[Viewpoint] = set()
        self._pulled: set[Viewpoint] = set()
        self._view: Viewpoint | None = None
        self._field: Field | None = None
        self._fixed = False
        self._heading: float | None = None

    def act(self, observation: Observation) -> Decision:
        """One step of the shortest path; at its end face the target, open its container, and stop."""
        del observation
        self._rooms.submit_mask(self._rooms.instances == self._rooms.scenario.target)
        move, why = self._move()
        return Decision(chunk=[int(move)], why=why, notes={"subgoal": why})

    def describe(self) -> dict[str, Any]:
        """Says that it is privileged."""
        return {"agent": "oracle-path", "privileged": True}

    def _move(self) -> tuple[Move, str]:
        if not self._fixed:
            step = self._walk()
            if step is not None:
                return step
        self._fixed = True
        return self._look()

    def _walk(self) -> tuple[Move, str] | None:
        """The next step of the path, or None where no stride leads nearer."""
        rooms = self._rooms
        x, y, yaw, _ = rooms.pose
        view, field = self._goal()
        if math.hypot(view.x - x, view.y - y) <= _ARRIVED:
            return None
        if self._heading is None:
            # Kept until the stride is made: two headings that lead equally near would be turned between for ever.
            self._heading = min((yaw + k * TURN for k in range(12)), key=lambda angle: self._reached(field, angle))
        if self._reached(field, self._heading) >= field[rooms.floor.cell(x, y)] - 0.02:
            return None
        item = rooms.house.by_id[rooms.scenario.target]
        here = rooms.house.room_at(x, y)
        arrived = here is not None and here.index == item.room
        why = f"Move to the {item.kind if arrived else rooms.house.rooms[item.room].name}"
        turn = wrap(self._heading - yaw)
        if abs(turn) > TURN / 2:
            return (Move.LEFT if turn > 0 else Move.RIGHT), why
        self._heading = None
        return Move.FORWARD, why

    def _look(self) -> tuple[Move, str]:
        """At the viewpoint: face the target, open what hides it, and stop where it is seen."""
        rooms, scenario = self._rooms, self._rooms.scenario
        item = rooms.house.by_id[scenario.target]
        x, y, yaw, pitch = rooms.pose
        turn = wrap(math.atan2(item.y - y, item.x - x) - yaw)
        if abs(turn) > TURN * 0.55:
            return (Move.LEFT if turn > 0 else Move.RIGHT), f"Turn to the {item.kind}"
        view, _ = self._goal()
        if scenario.container is not None and scenario.container not in rooms.opened and view not in self._pulled:
            self._pulled.add(view)
            return Move.OPEN, f"Open the {rooms.house.by_id[scenario.container].kind}"
        if (rooms.instances == scenario.target).mean() >= MIN_VISIBLE:
            return Move.STOP, f"Stop at the {item.kind}"
        if abs(view.pitch - pitch) > 0.1:
            return (Move.UP if view.pitch > pitch else Move.DOWN), f"Look at the {item.kind}"
        self._tried.add(view)
        self._view = self._heading = None
        self._fixed = False
        return Move.LEFT, "Turn to another place to look from"

    def _goal(self) -> tuple[Viewpoint, Field]:
        """The nearest viewpoint that has not failed, and the distances to it."""
        rooms = self._rooms
        if self._view is None or self._field is None:
            x, y, _, _ = rooms.pose
            here = rooms.floor.distances([rooms.floor.cell(x, y)])
            left = [view for view in rooms.scenario.viewpoints if view not in self._tried]
            chosen = left or list(rooms.scenario.viewpoints)
            self._view = min(chosen, key=lambda view: here[rooms.floor.cell(view.x, view.y)])
            self._field = rooms.floor.distances([rooms.floor.cell(self._view.x, self._view.y)])
        return self._view, self._field

    def _reached(self, field: Field, yaw: float) -> float:
        """The distance that would be left after one stride in a direction."""
        x, y, _, _ = self._rooms.pose
        end_x, end_y, _ = slide(self._rooms.floor, x, y, yaw, STRIDE)
        return float(field[self._rooms.floor.cell(end_x, end_y)])


def build_oracle_path(options: OracleOptions, env: gym.Env[Any, Any]) -> Agent:
    """The privileged shortest path."""
    del options
    return OraclePath(rooms_of(env))
