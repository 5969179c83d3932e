"""The controller's table, without a simulator."""

from __future__ import annotations

import networkx as nx
import pytest

from thinktwice.agents.lesa.states import TRANSITIONS, TRIGGERS, Event, State, advance
from thinktwice.errors import ContractError


def test_every_state_can_reach_stop_and_is_reached_from_parse() -> None:
    graph = nx.DiGraph((source, target) for (source, _), target in TRANSITIONS.items())
    for state in State:
        assert nx.has_path(graph, State.PARSE, state), state
        assert nx.has_path(graph, state, State.STOP), state


def test_nothing_leaves_stop() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] is State.STOP]
    with pytest.raises(ContractError, match="over"):
        advance(State.STOP, Event.CANDIDATE)


def test_an_event_that_cannot_happen_is_named() -> None:
    with pytest.raises(ContractError, match="arrived cannot happen in state scan; possible: turned round, candidate"):
        advance(State.SCAN, Event.ARRIVED)


def test_the_model_is_called_in_four_states_only() -> None:
    assert set(TRIGGERS) == {State.PARSE, State.EXPLORE, State.VERIFY, State.RECOVER}
