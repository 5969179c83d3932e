"""The controller: every state, event and transition in one table, testable without a simulator."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from ...errors import ContractError


class State(enum.StrEnum):
    """What the agent is doing."""

    PARSE = "parse"
    SCAN = "scan"
    EXPLORE = "explore"
    VERIFY = "verify"
    APPROACH = "approach"
    SEGMENT = "segment"
    RECOVER = "recover"
    STOP = "stop"


class Event(enum.StrEnum):
    """What happened."""

    UNDERSTOOD = "understood"
    TURNED_ROUND = "turned round"
    CANDIDATE = "candidate"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNSURE = "unsure"
    ARRIVED = "arrived"
    SEGMENTED = "segmented"
    LOST = "lost"
    RECOVERED = "recovered"
    GAVE_UP = "gave up"
    EXHAUSTED = "exhausted"
    SETTLED = "settled"


TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.PARSE, Event.UNDERSTOOD): State.SCAN,
    (State.SCAN, Event.TURNED_ROUND): State.EXPLORE,
    (State.SCAN, Event.CANDIDATE): State.VERIFY,
    (State.EXPLORE, Event.CANDIDATE): State.VERIFY,
    (State.EXPLORE, Event.EXHAUSTED): State.STOP,
    (State.EXPLORE, Event.SETTLED): State.APPROACH,
    (State.VERIFY, Event.ACCEPTED): State.APPROACH,
    (State.VERIFY, Event.REJECTED): State.EXPLORE,
    (State.VERIFY, Event.UNSURE): State.EXPLORE,
    (State.APPROACH, Event.ARRIVED): State.SEGMENT,
    (State.APPROACH, Event.LOST): State.RECOVER,
    (State.SEGMENT, Event.SEGMENTED): State.STOP,
    (State.SEGMENT, Event.LOST): State.RECOVER,
    (State.RECOVER, Event.RECOVERED): State.APPROACH,
    (State.RECOVER, Event.GAVE_UP): State.EXPLORE,
}
"""Everything that can happen; any other pair is a fault of the agent."""

TRIGGERS: Mapping[State, str] = {
    State.PARSE: "start: the expression must be understood",
    State.EXPLORE: "frontiers: two or more options are within the margin, on arrival or after a change",
    State.VERIFY: "candidate: something above the threshold for k frames",
    State.RECOVER: "lost: the track is gone, or the way is blocked",
}
"""Where the large model may be called, and why."""


def advance(state: State, event: Event) -> State:
    """The next state.

    Raises:
        ContractError: this event cannot happen in this state.
    """
    following = TRANSITIONS.get((state, event))
    if following is None:
        possible = ", ".join(e for s, e in TRANSITIONS if s is state) or "nothing: the episode is over"
        raise ContractError(f"{event!s} cannot happen in state {state!s}; possible: {possible}.")
    return following
