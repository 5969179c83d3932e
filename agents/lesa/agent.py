"""The agent: perceive and map every frame, and walk the controller's states."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ...envs import Observation
from ...envs.rooms.actions import Move
from ...envs.rooms.queries import Query
from ...envs.rooms.scenarios import facing
from ...errors import ContractError
from ...perception import Perception
from ...perception.reasoner import Reasoner, Reply, Verdict
from ...perception.reasoner_rules import NEAR, agreement, value
from ..agent import Decision
from ..navigation.drawing import draw_map
from ..navigation.steering import follow, tilt_towards, turn_towards
from .calls import CallLog
from .explorer import Explorer, Place
from .grounding import facts_of
from .landmarks import Landmark
from .senses import Senses
from .settings import LesaSettings
from .states import Event, State, advance
from .tracks import MaskPort, MaskTrack

_SCAN_TURNS = 9
"""Turns of 30 degrees: with a 79 degree view they show everything around."""
_STOP_DISTANCE = 1.25
_MAX_LOST = 3


class LesaAgent:
    """Finds, approaches and segments what the task means.

    Args:
        perception: finds things by name.
        reasoner: the large model, or its stand-in.
        settings: when it is called.
        port: where masks go; None to keep them.
    """

    def __init__(
        self, perception: Perception, reasoner: Reasoner, *, settings: LesaSettings | None = None, port: MaskPort | None
    ) -> None:
        self.perception, self.reasoner = perception, reasoner
        self.settings = settings or LesaSettings()
        self._port = port
        self.reset(seed=0)

    def reset(self, *, seed: int) -> None:
        """Forget everything; nothing is drawn, so the seed decides nothing."""
        del seed
        self.state = State.PARSE
        self.senses = Senses(self.perception)
        self.track = MaskTrack(self._port, self.senses.memory)
        self.explorer = Explorer()
        self.goal: Query | None = None
        self._log = CallLog()
        self._turns = 0
        self._candidate: int | None = None
        self._tried: list[tuple[float, float]] = []
        self._deferred: set[int] = set()
        self._last: Move | None = None
        self._counts = {"rank": 0, "verify": 0}

    def act(self, observation: Observation) -> Decision:
        """Look, remember, and take one step.

        Raises:
            UsageError: the task is empty or means nothing known.
            ContractError: the episode is over.
        """
        if self.state is State.STOP:
            raise ContractError("the agent has stopped; call reset before the next episode.")
        self._log.begin()
        self._why = ""
        self._choice: dict[str, Any] | None = None
        self._expression = str(observation["task"])
        if self.goal is None:
            self._understand()
        self.senses.see(observation, self._goal.kinds, self._last, self._log.watch)
        move = self._decide()
        self._last = move
        mode = "deliberate" if self._log.called else "reflex"
        return Decision(chunk=[int(move)], mode=mode, why=self._why, cost=self._log.total(), notes=self._notes(move))

    def describe(self) -> dict[str, Any]:
        """Perception, reasoner and triggers."""
        return {
            "agent": "every-frame" if self.settings.every_frame else "lesa",
            "perception": self.perception.name,
            "reasoner": self.reasoner.name,
            **dataclasses.asdict(self.settings),
        }

    def _understand(self) -> None:
        reply = self._ask(State.PARSE, lambda: self.reasoner.understand(self._expression))
        self.goal = reply.value
        self.senses.landmarks.wanted = frozenset(reply.value.kinds)
        self.state = advance(self.state, Event.UNDERSTOOD)

    @property
    def _goal(self) -> Query:
        if self.goal is None:
            raise ContractError("the expression was not understood yet.")
        return self.goal

    # Decide.

    def _decide(self) -> Move:
        """Walk the states until one of them moves; the number of changes per frame is bounded by the table."""
        for _ in range(8):
            move = self._step()
            if move is not None:
                believed = self._believed()
                self.track.submit(self.senses.frame, believed, self.senses.image.shape[:2])
                return move
        raise ContractError(f"the controller changed its state eight times without moving; it is in {self.state!s}.")

    def _believed(self) -> int | None:
        """The landmark whose mask the present frame should carry: the accepted one, or a complete match."""
        if self._candidate is not None:
            return self._candidate
        sure = [m for m in self._candidates() if self._agreement(m) == "accept" and m.id in self.senses.in_view]
        return sure[0].id if sure else None

    def _step(self) -> Move | None:
        if self.state is State.STOP:
            return Move.STOP
        steps: Mapping[State, Callable[[], Move | None]] = {
            State.SCAN: self._scan,
            State.EXPLORE: self._explore,
            State.VERIFY: self._verify,
            State.APPROACH: self._approach,
            State.SEGMENT: self._segment,
            State.RECOVER: self._recover,
        }
        return steps[self.state]()

    def _scan(self) -> Move | None:
        if self._pick():
            return None
        if self._turns >= _SCAN_TURNS:
            self.state = advance(self.state, Event.TURNED_ROUND)
            return None
        self._turns += 1
        self._why = "look around"
        return Move.LEFT

    def _pick(self) -> bool:
        """Whether some landmark should be verified now."""
        ranked = [(self._agreement(m), m) for m in self._candidates()]
        sure = [m for verdict, m in ranked if verdict == "accept"]
        near = [m for verdict, m in ranked if verdict == "unsure" and m.nearest <= NEAR and m.id not in self._deferred]
        chosen = [*sure, *near]
        if not chosen:
            return False
        self._candidate = chosen[0].id
        self.state = advance(self.state, Event.CANDIDATE)
        return True

    def _candidates(self) -> list[Landmark]:
        """Landmarks of the wanted kinds that are above the threshold, not rejected, and seen often enough."""
        return [
            m
            for m in self.senses.landmarks.of(self._goal.kinds)
            if m.verdict != "reject" and m.score >= self.settings.threshold and m.seen >= self.settings.frames
        ]

    def _agreement(self, landmark: Landmark) -> Verdict:
        return agreement(self._goal, facts_of(landmark, self._goal, self.senses.landmarks, self.senses.plan))[0]

    def _verify(self) -> None:
        landmark = self._landmark()
        if landmark is None:
            self.state = advance(self.state, Event.REJECTED)
            self._candidate = None
            return
        facts = facts_of(landmark, self._goal, self.senses.landmarks, self.senses.plan)
        if self._counts["verify"] < self.settings.verify_calls or self.settings.every_frame:
            self._counts["verify"] += 1
            reply = self._ask(
                State.VERIFY, lambda: self.reasoner.verify(self._expression, self._goal, facts, self.senses.image)
            )
            verdict = reply.value
            self._why = reply.why
        else:
            verdict, self._why = agreement(self._goal, facts)
        landmark.verdict = verdict
        if verdict == "accept":
            self._tried = []
            self.state = advance(self.state, Event.ACCEPTED)
            self.track.revise(landmark.id, self.senses.image.shape[:2])
            return
        if verdict == "unsure":
            self._deferred.add(landmark.id)
        self._candidate = None
        self.track.revise(None, self.senses.image.shape[:2])
        self.state = advance(self.state, Event.UNSURE if verdict == "unsure" else Event.REJECTED)

    def _landmark(self) -> Landmark | None:
        return None if self._candidate is None else self.senses.landmarks.get(self._candidate)

    # Explore.

    def _explore(self) -> Move | None:
        if self._pick():
            return None
        look = self._inspect()
        if look is not None:
            return look
        if self.senses.stuck >= 3 and self.explorer.goal is not None:
            self.senses.stuck = 0
            self.explorer.give_up(self.explorer.goal.x, self.explorer.goal.y)
        places = self.explorer.options(self.senses.pose, self.senses.plan, self.senses.landmarks)
        place = self._choose(places)
        if place is None:
            return self._last_resort()
        self.explorer.goal = place
        return self._walk(place)

    def _inspect(self) -> Move | None:
        """Walk towards a possible candidate that was only seen from afar; nearer, it answers for itself."""
        distant = [
            m
            for m in self._candidates()
            if m.id not in self._deferred and m.nearest > NEAR and self._agreement(m) == "unsure"
        ]
        for landmark in sorted(
            distant, key=lambda m: self.senses.pose.distance(float(m.centre[0]), float(m.centre[1]))
        ):
            x, y = float(landmark.centre[0]), float(landmark.centre[1])
            cell = self.senses.plan.standpoint(x, y, 0.6, NEAR * 0.9, [])
            if cell is None or self.senses.stuck >= 3:
                self._deferred.add(landmark.id)
                self.senses.stuck = 0
                continue
            spot = self.senses.plan.point(cell)
            self._why = f"look at the {landmark.kind} from nearer"
            if self.senses.pose.distance(*spot) > 0.3:
                return follow(self.senses.pose, self.senses.plan, self.senses.plan.path(*spot))
            turn = turn_towards(self.senses.pose, x, y)
            if turn is not None:
                return turn
            self._deferred.add(landmark.id)
        return None

    def _choose(self, places: list[Place]) -> Place | None:
        """The present goal while it stands, else the reflex's choice, or the model's where options are close."""
        if not places:
            return None
        kept = self.explorer.still_there(places)
        if kept is not None and not self.settings.every_frame:
            return kept
        values = [value(self._goal, place.option) for place in places]
        order = sorted(range(len(places)), key=lambda i: -values[i])
        close = len(order) > 1 and values[order[0]] - values[order[1]] < self.settings.margin
        ask = close and self._counts["rank"] < self.settings.rank_calls
        if not (ask or self.settings.every_frame):
            self._why = places[order[0]].option.name
            return places[order[0]]
        self._counts["rank"] += 1
        options = [place.option for place in places]
        reply = self._ask(
            State.EXPLORE, lambda: self.reasoner.rank(self._expression, self._goal, options, self.senses.image)
        )
        self._why = reply.why
        chosen = max(range(len(places)), key=reply.value.__getitem__)
        self._choice = {"options": [dataclasses.asdict(option) for option in options], "chosen": chosen}
        return places[chosen]

    def _walk(self, place: Place) -> Move | None:
        landmark = None if place.container is None else self.senses.landmarks.get(place.container)
        arrived = self.senses.pose.distance(place.x, place.y) < 0.35
        if landmark is not None and arrived:
            return self._open(landmark)
        path = self.senses.plan.path(place.x, place.y)
        if arrived or len(path) < 2:
            self.explorer.give_up(place.x, place.y)
            self._why = "look around here"
            return Move.LEFT
        self._why = self._why or place.option.name
        return follow(self.senses.pose, self.senses.plan, path)

    def _open(self, container: Landmark) -> Move:
        self._why = f"Open the {container.kind}"
        x, y = float(container.centre[0]), float(container.centre[1])
        move = turn_towards(self.senses.pose, x, y)
        if move is not None:
            return move
        container.opened = True
        self.explorer.goal = None
        return Move.OPEN

    def _last_resort(self) -> Move | None:
        """Nothing is left to explore: believe the best of what is unsure, or stop."""
        rest = [m for m in self.senses.landmarks.of(self._goal.kinds) if m.verdict != "reject"]
        rest = [m for m in rest if self._agreement(m) != "reject"]
        if not rest:
            self._why = "everything reachable was looked at, and nothing fits"
            self.state = advance(self.state, Event.EXHAUSTED)
            return None
        best = max(rest, key=lambda m: (m.score * min(m.seen, 5), -m.id))
        self._candidate = best.id
        self._tried = []
        self._why = f"nothing else is left: take the {best.kind}"
        self.state = State.APPROACH
        return None

    # Approach, segment, recover.

    def _approach(self) -> Move | None:
        landmark = self._landmark()
        if landmark is None:
            self.state = advance(self.state, Event.LOST)
            return None
        if self.settings.every_frame:
            facts = facts_of(landmark, self._goal, self.senses.landmarks, self.senses.plan)
            self._ask(
                State.VERIFY, lambda: self.reasoner.verify(self._expression, self._goal, facts, self.senses.image)
            )
        x, y = float(landmark.centre[0]), float(landmark.centre[1])
        self._why = f"Move to the {landmark.kind}"
        clear = self.senses.plan.clear((self.senses.pose.x, self.senses.pose.y), (x, y), self.senses.plan.walls)
        cell = self.senses.plan.standpoint(x, y, 0.5, _STOP_DISTANCE, self._tried)
        spot = (self.senses.pose.x, self.senses.pose.y) if cell is None else self.senses.plan.point(cell)
        away = self.senses.pose.distance(x, y)
        if (away <= _STOP_DISTANCE and clear and not self._tried) or self.senses.pose.distance(*spot) < 0.3:
            self.state = advance(self.state, Event.ARRIVED)
            return None
        path = self.senses.plan.path(*spot)
        if len(path) < 2 or self.senses.stuck >= 3:
            self.senses.stuck = 0
            self._tried.append(spot)
            self.state = advance(self.state, Event.LOST)
            return None
        return follow(self.senses.pose, self.senses.plan, path)

    def _segment(self) -> Move | None:
        landmark = self._landmark()
        if landmark is None:
            self.state = advance(self.state, Event.LOST)
            return None
        x, y = float(landmark.centre[0]), float(landmark.centre[1])
        self._why = f"Look at the {landmark.kind}"
        turn = turn_towards(self.senses.pose, x, y)
        if turn is not None:
            return turn
        _, pitch = facing(self.senses.pose.x, self.senses.pose.y, x, y, float(landmark.centre[2]))
        if landmark.id in self.senses.in_view:
            self._why = f"Stop at the {landmark.kind}"
            self.state = advance(self.state, Event.SEGMENTED)
            return Move.STOP
        tilt = tilt_towards(self.senses.pose, pitch)
        if tilt is not None:
            return tilt
        self._tried.append((self.senses.pose.x, self.senses.pose.y))
        self.state = advance(self.state, Event.LOST)
        return None

    def _recover(self) -> Move | None:
        landmark = self._landmark()
        if landmark is not None and len(self._tried) <= _MAX_LOST:
            self.state = advance(self.state, Event.RECOVERED)
            self._why = f"look at the {landmark.kind} from elsewhere"
            return None
        if landmark is not None:
            landmark.verdict = "reject"
        self._candidate = None
        self._tried = []
        self.track.revise(None, self.senses.image.shape[:2])
        self.state = advance(self.state, Event.GAVE_UP)
        return None

    # Account.

    def _ask[T](self, trigger: State, question: Callable[[], Reply[T]]) -> Reply[T]:
        return self._log.ask(trigger, max(self.senses.frame, 0), question)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every call of this episode: frame, trigger, seconds, tokens and why."""
        return list(self._log.calls)

    def _notes(self, move: Move) -> dict[str, Any]:
        notes: dict[str, Any] = {"state": str(self.state), "move": move.name.lower(), "frame": self.senses.frame}
        if self._log.called:
            notes["call"] = {k: v for k, v in self._log.calls[-1].items() if k != "seconds"}
        if self._choice is not None:
            notes["choice"] = self._choice
        if self._log.called or move is Move.STOP:
            goal = self.explorer.goal
            marks = [(float(m.centre[0]), float(m.centre[1])) for m in self.senses.landmarks.of(self._goal.kinds)]
            notes["map"] = draw_map(
                self.senses.plan, self.senses.floor, self.senses.pose, (goal.x, goal.y) if goal else None, marks
            )
        if self._candidate is not None:
            notes["candidate"] = self._candidate
            notes["revised"] = self.track.revised
        return notes
