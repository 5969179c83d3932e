"""A privileged reasoner that knows where the target is: the annotator of the RVAS data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...cost import Cost
from ...envs import Array
from ...envs.rooms.env import RoomsEnv
from ...envs.rooms.queries import Query
from ...perception.reasoner import Facts, Option, Reply, Verdict
from ...perception.reasoner_rules import RuleReasoner
from ...perception.rooms_oracle import RoomsOracle
from .agent import LesaAgent
from .settings import LesaSettings

_FREE = Cost()


class TeacherReasoner:
    """Values options by the true walking distance to the target through them, and says why from the scene graph.

    Args:
        rooms: the world that it reads.
    """

    name = "teacher"

    def __init__(self, rooms: RoomsEnv) -> None:
        self._rooms = rooms
        self._rules = RuleReasoner()

    def understand(self, expression: str) -> Reply[Query]:
        """The scenario's own query."""
        query = self._rooms.scenario.query
        return Reply(value=query, why=f"{expression!r} asks for {' or '.join(query.kinds)}", cost=_FREE)

    def rank(self, expression: str, goal: Query, options: Sequence[Option], image: Array | None) -> Reply[list[float]]:
        """Minus the metres to the target by way of each option."""
        del expression, goal, image
        rooms, scenario = self._rooms, self._rooms.scenario
        values: list[float] = []
        for option in options:
            x, y = scenario.x + option.spot[0], scenario.y + option.spot[1]
            left = float(scenario.distance[rooms.floor.cell(x, y)])
            right_one = scenario.container is not None and option.container == self._container()
            closed = 0.0 if not option.container or right_one else 50.0
            # Unreachable by the true map (inside an obstacle by a cell): as far as the house is wide.
            values.append(-option.distance - (left if np.isfinite(left) else sum(rooms.house.size)) - closed)
        best = options[max(range(len(options)), key=values.__getitem__)]
        target = rooms.house.by_id[scenario.target]
        room = rooms.house.rooms[target.room].name
        where = f" inside the {self._container()}" if scenario.container is not None else ""
        others = len(options) - 1
        ruled = f"; {others} other option{'s lead' if others != 1 else ' leads'} further away from it" if others else ""
        return Reply(value=values, why=f"{best.name}: the {target.kind} is in the {room}{where}{ruled}", cost=_FREE)

    def verify(self, expression: str, goal: Query, facts: Facts, image: Array | None) -> Reply[Verdict]:
        """As the rules judge, without charge."""
        reply = self._rules.verify(expression, goal, facts, image)
        return Reply(value=reply.value, why=reply.why, cost=_FREE)

    def _container(self) -> str:
        container = self._rooms.scenario.container
        return "" if container is None else self._rooms.house.by_id[container].kind


def build_teacher(rooms: RoomsEnv) -> LesaAgent:
    """The oracle explorer: LESA's own controller with perfect eyes, and with the teacher behind every choice."""
    settings = LesaSettings(margin=float("inf"), rank_calls=10**9, verify_calls=10**9)
    return LesaAgent(RoomsOracle(rooms), TeacherReasoner(rooms), settings=settings, port=rooms.submit_mask)
