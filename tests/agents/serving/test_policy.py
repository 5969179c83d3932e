"""``--policy openpi:…`` at a server of ours: the same actions as in process, and nothing late or broken."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from websockets.asyncio.server import serve as listen

from thinktwice.agents import Agent, ReflexAgent
from thinktwice.agents.catalog import agent_entry, build_policy, trained
from thinktwice.agents.conformance import check_policy
from thinktwice.agents.policies.openpi import OpenpiPolicy
from thinktwice.agents.reflex import ReflexOptions
from thinktwice.agents.serving import KEYS, Host
from thinktwice.agents.serving.arrays import pack, unpack
from thinktwice.envs import Conventions, EpisodeId, MultiStep
from thinktwice.envs.fakes import FakeEnv, FakeOptions, FakeWorld
from thinktwice.errors import ConfigError, ContractError, ConventionError, ModelError, UsageError
from thinktwice.rollouts import rollout

type MakeHost = Callable[..., Host]
type Serving = Callable[..., contextlib.AbstractContextManager[Any]]

EPISODES = FakeWorld(name="fake", options=FakeOptions()).episodes(tasks=["fake/0", "fake/2"], count=1, seed=3)
ATTC = {"policy": "fake:0.5", "gate": "dtw", "threshold": 4.0, "selector": "medoid", "execute": 3}


def env() -> MultiStep:
    return MultiStep(FakeEnv())


def local(agent: str, **options: Any) -> Agent:
    options_class, build = agent_entry(agent).load()
    return build(options_class(**options), env())


@contextlib.contextmanager
def remote(url: str, *, agent: str = "reflex", query: str = "", **options: Any) -> Iterator[Agent]:
    acting = local(agent, policy=f"openpi:{url}{query}", **options)
    policy = acting.policy if isinstance(acting, ReflexAgent) else acting._policy
    with contextlib.closing(policy):
        yield acting


def actions(agent: Agent, episode: EpisodeId) -> list[Any]:
    return [np.asarray(step.executed).tolist() for step in rollout(env(), agent, episode)]


@pytest.mark.parametrize(
    ("agent", "options"),
    [("reflex", {"policy": "fake:0.5"}), ("reflex", {"policy": "random", "execute": 1}), ("fake", {}), ("attc", ATTC)],
)
def test_a_served_agent_acts_as_it_does_in_process(
    hosted: MakeHost, serving: Serving, agent: str, options: dict[str, Any]
) -> None:
    wanted = [actions(local(agent, **options), episode) for episode in EPISODES]
    with serving(hosted(agent, **options)) as server, remote(server.url) as asking:
        assert [actions(asking, episode) for episode in EPISODES] == wanted


def test_deliberating_here_over_a_served_policy_is_as_in_process(hosted: MakeHost, serving: Serving) -> None:
    wanted = [actions(local("attc", **ATTC), episode) for episode in EPISODES]
    here = {name: value for name, value in ATTC.items() if name != "policy"}
    with serving(hosted()) as server, remote(server.url, agent="attc", **here) as asking:
        assert [actions(asking, episode) for episode in EPISODES] == wanted


def test_clients_do_not_disturb_each_other(hosted: MakeHost, serving: Serving) -> None:
    wanted = [actions(local("fake"), episode) for episode in EPISODES]
    seen: dict[int, Any] = {}
    with serving(hosted("fake")) as server:

        def play(index: int) -> None:
            with remote(server.url) as asking:
                seen[index] = actions(asking, EPISODES[index])

        threads = [threading.Thread(target=play, args=(index,)) for index in range(len(EPISODES))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert [seen[index] for index in range(len(EPISODES))] == wanted


def test_the_policy_keeps_its_contract(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted()) as server, contextlib.closing(build_policy(f"openpi:{server.url}", env())) as policy:
        observation, _ = env().reset(seed=0)
        check_policy(policy, observation, FakeEnv().action_space)
        described = policy.describe()
    assert (described["policy"], described["skill"], described["repeats"]) == ("openpi", 0.5, True)
    assert described["served"]["agent"] == "reflex"


def test_the_servers_deliberation_is_in_the_ledger_and_the_notes(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted("fake")) as server, remote(server.url) as asking:
        steps = list(rollout(env(), asking, EPISODES[0]))
    second = steps[1].decision
    assert second.cost.comparisons == 6
    assert set(second.cost.seconds) == {"sample", "network"}
    assert second.notes["server"]["deliberated"] is True
    assert second.notes["server"]["candidates"] == 3
    assert steps[0].decision.notes["server"]["deliberated"] is False


def test_a_deliberating_server_gives_one_chunk_to_an_agent_that_tells_of_episodes(
    hosted: MakeHost, serving: Serving
) -> None:
    observation, _ = env().reset(seed=0)
    with serving(hosted("fake")) as server, contextlib.closing(build_policy(f"openpi:{server.url}", env())) as policy:
        with pytest.raises(ContractError, match="one chunk"):
            policy.propose(observation, 2, seed=0)
        with pytest.raises(ContractError, match="begin the episode"):
            policy.propose(observation, 1, seed=0)
        policy.begin_episode(seed=0)
        assert policy.propose(observation, 1, seed=0).chunks.shape == (1, 4, 2)


def test_conventions_are_compared_before_the_first_action(hosted: MakeHost, serving: Serving) -> None:
    class Turned(FakeEnv):
        @property
        def conventions(self) -> Any:
            cameras = tuple(dataclasses.replace(camera, mirrored=True) for camera in super().conventions.cameras)
            return dataclasses.replace(super().conventions, cameras=cameras, control_hz=10.0)

    options_class, build = agent_entry("reflex").load()
    with serving(hosted()) as server, pytest.raises(ConventionError) as raised:
        build(options_class(policy=f"openpi:{server.url}"), MultiStep(Turned()))
    assert f"openpi:{server.url} cannot act in" in str(raised.value)
    assert "the world runs at 10.0 Hz, the policy at 20.0 Hz" in str(raised.value)
    assert "mirrored=True" in str(raised.value)


def test_a_run_learns_what_the_server_wants_to_see(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted()) as server:
        found = trained(f"openpi:{server.url}")
    assert found is not None
    assert (found.conventions, found.execute) == (FakeEnv().conventions, None)


def test_the_token_comes_from_a_file(hosted: MakeHost, serving: Serving, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("a-secret-of-some-length\n")
    wrong.write_text("another-of-some-length\n")
    with serving(hosted(), token="a-secret-of-some-length") as server:
        with remote(server.url, query=f"?token_file={right}") as asking:
            assert "a-secret" not in str(asking.describe())
        with pytest.raises(UsageError, match="needs a token"):
            build_policy(f"openpi:{server.url}", env())
        with pytest.raises(UsageError, match="not accepted"):
            build_policy(f"openpi:{server.url}?token_file={wrong}", env())


@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        ("", UsageError, "ws://HOST:PORT"),
        ("127.0.0.1:8000", UsageError, "ws://HOST:PORT"),
        ("http://127.0.0.1:8000", UsageError, "ws://HOST:PORT"),
        ("ws://me:secret@127.0.0.1:8000", UsageError, "no password"),
        ("ws://127.0.0.1:8000?kees=x", ConfigError, "Did you mean 'keys'"),
        ("ws://127.0.0.1:8000?keys=openpi", ConfigError, "Did you mean 'openpi-libero'"),
        ("ws://127.0.0.1:8000?timeout=0", ConfigError, "more than 0"),
        ("ws://127.0.0.1:8000?timeout=soon", ConfigError, "more than 0"),
        ("ws://127.0.0.1:8000?keys", ConfigError, "key=value"),
        ("ws://127.0.0.1:1", ModelError, "thinktwice serve"),
    ],
)
def test_a_wrong_argument_is_explained(argument: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build_policy(f"openpi:{argument}", env())


class Talk(gym.Env[Any, Any]):
    """A text world in which only asking is accepted."""

    action_space = spaces.Text(16, charset="abcdefghijklmnopqrstuvwxyz ")
    observation_space = spaces.Dict({"text": spaces.Text(64), "task": spaces.Text(64)})
    conventions = Conventions()

    def reset(self, **_: Any) -> Any:
        return {"text": "a door", "task": "leave", "choices": ("ask", "ask again")}, {}


@dataclasses.dataclass(frozen=True)
class TalkWorld:
    """Its entry in a catalogue."""

    name: str = "talk"

    def make(self) -> Talk:
        return Talk()


def test_worlds_of_words_are_served_too(serving: Serving) -> None:
    host = Host(TalkWorld(), "reflex", ReflexOptions(policy="random"), keys=KEYS["thinktwice"])
    host.warm_up()
    observation, _ = Talk().reset()
    wanted = build_policy("random", Talk()).propose(observation, 3, seed=9)
    with serving(host) as server, contextlib.closing(build_policy(f"openpi:{server.url}", Talk())) as policy:
        assert policy.propose(observation, 3, seed=9).chunks == wanted.chunks
        with pytest.raises(ModelError, match="'choices'"):
            policy.propose(observation | {"choices": (1, 2)}, 1, seed=9)


# A server that misbehaves.


class Scripted:
    """A server that says what it is told to: ours by its metadata, with any answers after that."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about, self.requests, self.sessions = about, list[Any](), 0
        self.answer: Callable[[int], Any] = lambda _: None
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._run()), daemon=True)

    async def _run(self) -> None:
        async with listen(self._session, "127.0.0.1", 0) as server:
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._stop.wait()

    async def _session(self, connection: Any) -> None:
        self.sessions += 1
        await connection.send(pack(self.about))
        async for frame in connection:
            self.requests.append(unpack(frame))
            given = self.answer(len(self.requests))
            wait, reply = given if isinstance(given, tuple) else (0.0, given)
            await asyncio.sleep(wait)
            if reply is None:
                await connection.close()
            else:
                await connection.send(reply if isinstance(reply, str | bytes) else pack(reply))

    def __enter__(self) -> Scripted:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        self._loop.close()


@pytest.fixture
def scripted(hosted: MakeHost) -> Iterator[Scripted]:
    with Scripted({"thinktwice": hosted().about.model_dump()}) as server:
        yield server


def chunk(value: float) -> dict[str, Any]:
    actions = np.full((2, 2), value, np.float32)
    return {"actions": actions, "thinktwice": {"chunks": actions[None], "cost": {"candidates": 1}}}


@contextlib.contextmanager
def asked(server: Scripted, query: str = "?timeout=20") -> Iterator[OpenpiPolicy]:
    policy = build_policy(f"openpi:{server.url}{query}", env())
    assert isinstance(policy, OpenpiPolicy)
    with contextlib.closing(policy):
        yield policy


@pytest.mark.slow
def test_a_late_answer_is_never_taken_for_the_next_one(scripted: Scripted) -> None:
    observation, _ = env().reset(seed=0)
    scripted.answer = lambda count: (2.0, chunk(0.1)) if count == 1 else chunk(0.9)
    with asked(scripted, "?timeout=0.5") as policy:
        with pytest.raises(ModelError, match=rf"{scripted.url} gave no answer within 0.5 s"):
            policy.propose(observation, 1, seed=0)
        time.sleep(2.0)  # the first answer is on its way now
        second = policy.propose(observation, 1, seed=1)
    np.testing.assert_array_equal(second.chunks, np.full((1, 2, 2), 0.9, np.float32))
    assert scripted.sessions == 2


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ("Traceback (most recent call last):\nValueError: too hot", ModelError, "too hot"),
        (None, ModelError, "hung up"),
        (b"\xc1", ContractError, "no msgpack"),
        ([1, 2], ContractError, "must be a map"),
        (chunk(np.nan), ContractError, "not finite"),
        (chunk(np.inf), ContractError, "not finite"),
        ({"actions": np.zeros((2, 2), np.float32)}, ContractError, "0 candidates of 1"),
        ({"thinktwice": {"chunks": np.zeros((2, 2, 2), np.float32)}}, ContractError, "2 candidates of 1"),
        ({"thinktwice": {"chunks": np.zeros((1, 2, 7), np.float32)}}, ContractError, r"float32\[2, 7\]"),
        ({"thinktwice": {"chunks": np.zeros((1, 2), np.float32)}}, ContractError, "not executed"),
        ({"thinktwice": {"chunks": np.zeros((1, 0, 2), np.float32)}}, ContractError, "not executed"),
        ({"thinktwice": {"chunks": [["up"]]}}, ContractError, "not executed"),
        ({"thinktwice": {"chunks": [[["0", "1"]]]}}, ContractError, "not executed"),
        ({"thinktwice": {"chunks": [[[0.0, 1.0], [0.0]]]}}, ContractError, "not executed"),
        ({"thinktwice": {"chunks": 5}}, ContractError, "0 candidates"),
        ({"thinktwice": {"cost": {"candidates": "many"}}}, ContractError, "ledger"),
        ({"thinktwice": "yes"}, ContractError, "no Answer"),
    ],
)
def test_a_broken_answer_reaches_no_arm(scripted: Scripted, reply: Any, error: type[Exception], words: str) -> None:
    observation, _ = env().reset(seed=0)
    scripted.answer = lambda count: reply if count == 1 else chunk(0.5)
    with asked(scripted) as policy:
        with pytest.raises(error, match=words) as raised:
            policy.propose(observation, 1, seed=0)
        if error is ModelError:
            assert scripted.url in str(raised.value)
        # What came in one piece was only wrong, and the next answer belongs to the next question again.
        assert policy.propose(observation, 1, seed=1).chunks[0, 0, 0] == 0.5


def test_a_server_that_offers_something_else_after_a_break_is_refused(scripted: Scripted) -> None:
    observation, _ = env().reset(seed=0)
    with asked(scripted) as policy:
        with pytest.raises(ModelError, match="hung up"):
            policy.propose(observation, 1, seed=0)
        scripted.about = {"thinktwice": scripted.about["thinktwice"] | {"agent": {"agent": "another"}}}
        with pytest.raises(ContractError, match="something else"):
            policy.propose(observation, 1, seed=0)


def test_an_episode_is_not_continued_after_its_session_broke(hosted: MakeHost) -> None:
    observation, _ = env().reset(seed=0)
    actions = {"actions": np.zeros((2, 2), np.float32), "thinktwice": {"cost": {"candidates": 1}}}
    with Scripted({"thinktwice": hosted("fake").about.model_dump()}) as server:
        server.answer = lambda count: None if count == 2 else actions
        with asked(server) as policy:
            policy.begin_episode(seed=5)
            policy.propose(observation, 1, seed=0)
            with pytest.raises(ModelError, match="hung up"):
                policy.propose(observation, 1, seed=0)
            with pytest.raises(ContractError, match="lost it"):
                policy.propose(observation, 1, seed=0)
            policy.begin_episode(seed=6)
            policy.propose(observation, 1, seed=0)
        resets = [request["thinktwice"].get("reset") for request in server.requests]
    assert resets == [5, None, 6]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"protocol": 2}, ContractError, "protocol"),
        ({"keys": "martian"}, ConventionError, "martian"),
        ({"conventions": {"action": [{"name": "x"}]}}, ConventionError, "cannot be read"),
        ({"proposes": "sometimes"}, ContractError, "proposes"),
    ],
)
def test_metadata_that_cannot_be_understood_is_refused(
    scripted: Scripted, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    scripted.about = {"thinktwice": scripted.about["thinktwice"] | change}
    with pytest.raises(error, match=words):
        build_policy(f"openpi:{scripted.url}", env())
