"""One client's agent, without sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from openpi_client import msgpack_numpy

from thinktwice.agents.catalog import agent_entry
from thinktwice.agents.serving import Host, Session
from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import ContractError, ConventionError, UsageError

type MakeHost = Callable[..., Host]


def look(init_state: int = 0) -> dict[str, Any]:
    return FakeEnv().reset(seed=0, options={"task": "fake/1", "init_state": init_state})[0]


def ask(session: Session, observation: dict[str, Any], **extra: Any) -> dict[str, Any]:
    message = {**observation, "thinktwice": extra} if extra else observation
    return msgpack_numpy.unpackb(session.answer(msgpack_numpy.packb(message)))


def test_a_decision_comes_with_its_account(hosted: MakeHost) -> None:
    session = hosted("fake", skill=0.2).session()
    reflex, deliberate = ask(session, look()), ask(session, look())
    assert reflex["actions"].dtype == np.float32
    assert reflex["actions"].shape == (4, 2)
    assert reflex["server_timing"]["infer_ms"] > 0
    assert reflex["thinktwice"]["deliberated"] is False
    told = deliberate["thinktwice"]
    assert told["deliberated"] is True
    assert (told["candidates"], told["why"][:9]) == (3, "candidate")
    assert told["doubt"] >= 0
    assert told["cost"]["comparisons"] == 6
    assert len(told["notes"]["away"]) == 3
    assert (session.decisions, session.deliberated) == (2, 1)


def arrays_in(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [found for entry in value.values() for found in arrays_in(entry)]
    return [value] if isinstance(value, np.ndarray) else []


def test_nothing_but_the_actions_is_an_array(hosted: MakeHost) -> None:
    """openpi-client's ActionChunkBroker indexes every array of an answer by the step in the chunk."""
    session = hosted("fake", every=1).session()
    assert len(arrays_in(ask(session, look()))) == 1


@pytest.mark.parametrize("agent", ["reflex", "fake", "attc"])
def test_a_reset_repeats_the_episode(hosted: MakeHost, agent: str) -> None:
    options = {"policy": "fake:0.5", "gate": "dtw", "threshold": 4.0, "selector": "medoid"} if agent == "attc" else {}
    session = hosted(agent, **options).session()

    def episode(seed: int) -> list[Any]:
        seen = [ask(session, look(0), reset=seed), *(ask(session, look(index)) for index in (1, 2))]
        return [answer["actions"].tolist() for answer in seen]

    first = episode(7)
    assert episode(8) != first
    assert episode(7) == first


def test_sessions_know_nothing_of_each_other(hosted: MakeHost) -> None:
    host = hosted("fake")
    alone, one, other = host.session(), host.session(), host.session()
    wanted = [ask(alone, look(index))["actions"].tolist() for index in range(3)]
    mixed = []
    for index in range(3):
        mixed.append(ask(one, look(index))["actions"].tolist())
        ask(other, look(9))
        ask(other, look(8))
    assert mixed == wanted


def test_sessions_share_the_policy(hosted: MakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    monkeypatch.setattr(
        "thinktwice.agents.policies.simple.RandomPolicy.__init__",
        lambda policy, space: built.append(policy) or setattr(policy, "_space", space),
    )
    host = hosted(policy="random")
    sessions = [host.session() for _ in range(3)]
    assert len({id(session) for session in sessions}) == 3
    assert len(built) == 1


def test_candidates_are_those_of_the_policy(hosted: MakeHost) -> None:
    session = hosted().session()
    three = ask(session, look(), propose={"n": 3, "seed": 5})
    one = ask(session, look(), propose={"n": 1, "seed": 5})
    assert three["thinktwice"]["chunks"].shape == (3, 4, 2)
    np.testing.assert_array_equal(one["actions"], three["thinktwice"]["chunks"][0])
    assert three["thinktwice"]["cost"]["candidates"] == 3


def test_no_more_of_a_chunk_is_sent_than_is_executed(hosted: MakeHost) -> None:
    session = hosted(execute=2).session()
    assert ask(session, look())["actions"].shape == (2, 2)
    assert ask(session, look(), propose={"n": 3, "seed": 5})["thinktwice"]["chunks"].shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"propose": {"n": 0, "seed": 1}}, "propose.n"),
        ({"propose": {"n": 2}}, "propose.seed"),
        ({"rset": 3}, "rset"),
        ({"reset": "now"}, "reset"),
    ],
)
def test_a_wrong_wish_is_refused(hosted: MakeHost, extra: dict[str, Any], words: str) -> None:
    with pytest.raises(ContractError, match=words):
        ask(hosted().session(), look(), **extra)


def test_an_agent_that_decides_proposes_nothing(hosted: MakeHost) -> None:
    with pytest.raises(ContractError, match="proposes no candidates"):
        ask(hosted("fake").session(), look(), propose={"n": 2, "seed": 1})


@pytest.mark.parametrize("frame", ["text", b"\xc1", msgpack_numpy.packb([1, 2]), msgpack_numpy.packb({"state": 1})])
def test_what_is_no_request_is_refused(hosted: MakeHost, frame: bytes | str) -> None:
    with pytest.raises(ContractError):
        hosted().session().answer(frame)


def test_actions_that_are_not_finite_never_leave(hosted: MakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thinktwice.agents.fakes.NOISE", np.nan)
    with pytest.raises(ContractError, match="not finite"):
        ask(hosted().session(), look())


def test_warming_up_decides_once_and_says_so(hosted: MakeHost) -> None:
    host = hosted("fake")
    assert not host.about.warm
    host.warm_up()
    assert host.about.warm


@pytest.mark.parametrize(
    ("agent", "options", "words"),
    [
        ("reflex", {"policy": "expert"}, "expert is privileged"),
        ("attc", {"policy": "random", "gate": "always", "selector": "oracle"}, "privileged"),
        ("pairs", {"policy": "random"}, "works on the simulator"),
        ("demonstrator", {}, "works on the simulator"),
    ],
)
def test_what_reads_the_simulator_is_not_served(agent: str, options: dict[str, Any], words: str) -> None:
    from thinktwice.agents.serving import KEYS
    from thinktwice.envs.libero.world import LiberoOptions, open_libero

    world = open_libero("libero_object", LiberoOptions(cameras=()))
    with pytest.raises(UsageError, match=words):
        Host(world, agent, agent_entry(agent).load()[0](**options), keys=KEYS["thinktwice"])


def test_mismatching_conventions_are_refused(hosted: MakeHost) -> None:
    with pytest.raises(ConventionError, match="cannot act"):
        hosted(policy="fake:foreign")
    with pytest.raises(ConventionError, match="openpi-libero keys cannot act in fake"):
        hosted(keys="openpi-libero")
