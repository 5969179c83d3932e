"""The agent: perceive and map every frame, and walk the controller's states."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ...envs import Observation
from ...envs.rooms.actions import Move
from ...envs.rooms.queries import Query
from ...errors import ContractError
from ...perception import Perception
from ...perception.reasoner import Facts, Reasoner, Reply, Verdict
from ...perception.reasoner_rules import NEAR, agreement, value
from ..agent import Decision
from ..navigation.drawing import record_map
from .calls import CallLog
from .explorer import Explorer, Place
from .grounding import facts_of
from .landmarks import CAPACITY, Landmark
from .moves import approach, blocked, inspect, nearest_first, reachable, segment, walk
from .senses import Senses
from .settings import LesaSettings
from .states import Event, State, advance
from .tracks import MaskPort, MaskTrack

_SCAN_TURNS = 9
"""Turns of 30 degrees: with a 79 degree view they show everything around."""
_MAX_LOST = 3
"""Standpoints from which a target may stay unseen before it is given up."""
_MOST_CHANGES = 12 * CAPACITY
"""Changes of state without a move, in one frame, that no episode needs: a target that nothing leads to is verified,
lost and recovered in twelve, then rejected for good, and there are no more targets than landmarks."""


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
        self._deferred: dict[int, Verdict] = {}
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
        self._mask: dict[str, Any] | None = None
        self._expression = str(observation["task"])
        if self.goal is None:
            self._understand()
        self.senses.see(observation, self._goal.kinds, self._last, self._log.watch)
        move = self._decide()
        self._last = move
        mode = "deliberate" if self._log.called else "reflex"
        with self._log.watch("record"):
            notes = self._notes(move)
        return Decision(chunk=[int(move)], mode=mode, why=self._why, cost=self._log.total(), notes=notes)

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

    # Decide: every handler gives a move, or the event that leads to the next state.

    def _decide(self) -> Move:
        """Walk the states until one of them moves."""
        handlers: Mapping[State, Callable[[], Move | Event]] = {
            State.SCAN: self._scan,
            State.EXPLORE: self._explore,
            State.VERIFY: self._verify,
            State.APPROACH: self._approach,
            State.SEGMENT: self._segment,
            State.RECOVER: self._recover,
        }
        for _ in range(_MOST_CHANGES):
            outcome = Move.STOP if self.state is State.STOP else handlers[self.state]()
            if isinstance(outcome, Move):
                self._mask = self.track.submit(self.senses.frame, self._believed(), self._shape)
                return outcome
            self.state = advance(self.state, outcome)
        raise ContractError(f"the controller changed its state {_MOST_CHANGES} times; it is in {self.state!s}.")

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.senses.image.shape[:2]

    def _believed(self) -> int | None:
        """The landmark whose mask the present frame should carry: the accepted one, or a complete match."""
        if self._candidate is not None:
            return self._candidate
        sure = [m for m in self._candidates() if self._agreement(m) == "accept" and m.id in self.senses.in_view]
        return sure[0].id if sure else None

    def _candidates(self) -> list[Landmark]:
        """Landmarks of the wanted kinds that are above the threshold, not rejected, and seen often enough."""
        return [
            m
            for m in self.senses.landmarks.of(self._goal.kinds)
            if m.verdict != "reject" and m.score >= self.settings.threshold and m.seen >= self.settings.frames
        ]

    def _facts(self, landmark: Landmark) -> Facts:
        return facts_of(landmark, self._goal, self.senses.landmarks, self.senses.plan)

    def _agreement(self, landmark: Landmark) -> Verdict:
        return agreement(self._goal, self._facts(landmark))[0]

    def _landmark(self) -> Landmark | None:
        return None if self._candidate is None else self.senses.landmarks.get(self._candidate)

    def _scan(self) -> Move | Event:
        if self._pick():
            return Event.CANDIDATE
        if self._turns >= _SCAN_TURNS:
            return Event.TURNED_ROUND
        self._turns += 1
        self._why = "look around"
        return Move.LEFT

    def _pick(self) -> bool:
        """Whether some landmark should be verified now; what was unsure is asked again once it fits completely."""
        for landmark in self._candidates():
            verdict = self._agreement(landmark)
            doubted = self._deferred.get(landmark.id)
            if verdict in {doubted, "reject"}:
                continue
            if verdict == "accept" or (doubted is None and landmark.nearest <= NEAR):
                self._candidate = landmark.id
                return True
        return False

    def _verify(self) -> Event:
        landmark = self._landmark()
        if landmark is None:
            self._candidate = None
            return Event.REJECTED
        before = self._agreement(landmark)
        landmark.verdict, self._why = self._judge(State.VERIFY, landmark)
        if landmark.verdict == "accept":
            self._tried = []
            self.track.revise(landmark.id, self._shape)
            return Event.ACCEPTED
        self._candidate = None
        self.track.revise(None, self._shape)
        if landmark.verdict == "reject":
            return Event.REJECTED
        self._deferred[landmark.id] = before
        return Event.UNSURE

    def _judge(self, trigger: State, landmark: Landmark) -> tuple[Verdict, str]:
        """The model's verdict while calls are left, the reflex's afterwards."""
        facts = self._facts(landmark)
        if self._counts["verify"] >= self.settings.verify_calls and not self.settings.every_frame:
            return agreement(self._goal, facts)
        self._counts["verify"] += 1
        image = self.senses.image
        reply = self._ask(trigger, lambda: self.reasoner.verify(self._expression, self._goal, facts, image))
        return reply.value, reply.why

    def _explore(self) -> Move | Event:
        if self._pick():
            return Event.CANDIDATE
        if self.explorer.linger:
            self._why = "look inside"
            return self.explorer.linger.pop(0)
        distant = [
            m
            for m in self._candidates()
            if m.id not in self._deferred and m.nearest > NEAR and self._agreement(m) == "unsure"
        ]
        for landmark in nearest_first(self.senses, distant):
            if not reachable(self.senses, landmark, NEAR * 0.9):
                continue
            move = inspect(self.senses, landmark, NEAR * 0.9)
            if move is not None:
                self._why = f"look at the {landmark.kind} from nearer"
                return move
            self._deferred[landmark.id] = "unsure"
        if self.explorer.goal is not None and blocked(self.senses):
            self.explorer.give_up(self.explorer.goal.x, self.explorer.goal.y)
        place = self._choose(self.explorer.options(self.senses.pose, self.senses.plan, self.senses.landmarks))
        if place is None:
            return self._last_resort()
        self.explorer.goal = place
        move, why = walk(self.senses, self.explorer, place)
        self._why = self._why or why
        return move

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
            return places[order[0]]
        self._counts["rank"] += 1
        options, image = [place.option for place in places], self.senses.image
        reply = self._ask(State.EXPLORE, lambda: self.reasoner.rank(self._expression, self._goal, options, image))
        self._why = reply.why
        chosen = max(range(len(places)), key=reply.value.__getitem__)
        self._choice = {"options": [dataclasses.asdict(option) for option in options], "chosen": chosen}
        return places[chosen]

    def _last_resort(self) -> Event:
        """Nothing is left to explore: believe the best of what is unsure, or stop."""
        rest = [m for m in self.senses.landmarks.of(self._goal.kinds) if m.verdict != "reject"]
        rest = [m for m in rest if self._agreement(m) != "reject"]
        if not rest:
            self._why = "everything reachable was looked at, and nothing fits"
            return Event.EXHAUSTED
        best = max(rest, key=lambda m: (m.score * min(m.seen, 5), -m.id))
        self._candidate, self._tried = best.id, []
        self.track.revise(best.id, self._shape)
        return Event.SETTLED

    def _approach(self) -> Move | Event:
        landmark = self._landmark()
        if landmark is None:
            return Event.LOST
        if self.settings.every_frame:
            self._judge(State.VERIFY, landmark)
        self._why = f"Move to the {landmark.kind}"
        return approach(self.senses, landmark, self._tried)

    def _segment(self) -> Move | Event:
        landmark = self._landmark()
        if landmark is None:
            return Event.LOST
        self._why = f"Stop at the {landmark.kind}"
        return segment(self.senses, landmark, self._tried)

    def _recover(self) -> Event:
        """The target is not where it was believed to be: the model says whether to look from elsewhere or give up."""
        landmark = self._landmark()
        if landmark is not None and len(self._tried) <= _MAX_LOST:
            verdict, self._why = self._judge(State.RECOVER, landmark)
            if verdict != "reject":
                return Event.RECOVERED
        if landmark is not None:
            landmark.verdict = "reject"
        self._candidate, self._tried = None, []
        self.track.revise(None, self._shape)
        return Event.GAVE_UP

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
        place, landmark = self.explorer.goal, self._landmark()
        goal = None if place is None else (place.x, place.y)
        if landmark is not None:
            goal = float(landmark.centre[0]), float(landmark.centre[1])
        marks = [(float(m.centre[0]), float(m.centre[1])) for m in self.senses.landmarks.of(self._goal.kinds)]
        notes |= record_map(self.senses.plan, self.senses.floor, self.senses.pose, goal, marks).notes()
        if self._mask is not None:
            notes["mask"] = self._mask
        if self._candidate is not None:
            notes["candidate"] = self._candidate
            notes["revised"] = self.track.revised
        return notes
