"""The server's sockets: who gets in, what happens to a client that breaks, and that others do not notice."""

from __future__ import annotations

import contextlib
import gc
import threading
import urllib.request
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpi_client import msgpack_numpy
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from thinktwice.agents.fakes import FakePolicy
from thinktwice.agents.serving import Host, Listening
from thinktwice.agents.serving.access import read_token
from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import UsageError

type MakeHost = Callable[..., Host]
type Serving = Callable[..., contextlib.AbstractContextManager[Any]]

TOKEN = "a-secret-of-some-length"


def look() -> dict[str, Any]:
    return FakeEnv().reset(seed=0)[0]


def exchange(connection: Any, message: Any) -> Any:
    connection.send(msgpack_numpy.packb(message))
    answer = connection.recv(timeout=20)
    return answer if isinstance(answer, str) else msgpack_numpy.unpackb(answer)


@contextlib.contextmanager
def client(url: str, **options: Any) -> Any:
    with connect(url, proxy=None, compression=None, max_size=None, **options) as connection:
        connection.metadata = msgpack_numpy.unpackb(connection.recv(timeout=20))
        yield connection


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.168.0.7", "robot.example"])
def test_listening_to_the_network_needs_a_token(host: str) -> None:
    with pytest.raises(UsageError, match="--token-file"):
        Listening(host=host)
    assert Listening(host=host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_listening_to_this_machine_does_not(host: str) -> None:
    assert Listening(host=host).token is None


def test_the_metadata_says_what_is_expected(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted()) as server, client(server.url) as connection:
        about = connection.metadata["thinktwice"]
    assert (about["world"], about["keys"], about["proposes"]) == ("fake", "thinktwice", True)
    assert about["conventions"]["cameras"][0]["name"] == "front"
    assert about["conventions"]["control_hz"] == 20.0
    assert about["agent"]["policy"] == {"policy": "fake", "skill": 0.5}


@pytest.mark.parametrize("given", [None, "Api-Key wrong", f"Bearer {TOKEN}", "Api-Key ", f"Api-Key {TOKEN}x"])
def test_without_the_token_nobody_gets_in(hosted: MakeHost, serving: Serving, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    with serving(hosted(), token=TOKEN) as server:
        with pytest.raises(InvalidStatus, match="401"), client(server.url, additional_headers=headers):
            pass
        with client(server.url, additional_headers={"Authorization": f"Api-Key {TOKEN}"}) as connection:
            assert exchange(connection, look())["actions"].shape == (4, 2)


def test_pages_in_a_browser_do_not_get_in(hosted: MakeHost, serving: Serving) -> None:
    with (
        serving(hosted()) as server,
        pytest.raises(InvalidStatus, match="403"),
        client(server.url, origin="http://evil.example"),
    ):
        pass


def test_watchers_get_an_answer(hosted: MakeHost, serving: Serving) -> None:
    with serving(hosted(), token=TOKEN) as server:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{server.port}/healthz", timeout=20) as reply:
            assert reply.read() == b"OK\n"


def test_an_error_is_a_text_frame_with_the_traceback_and_the_end(
    hosted: MakeHost, serving: Serving, eventually: Callable[..., None]
) -> None:
    with serving(hosted()) as server:
        with client(server.url) as broken, client(server.url) as sound:
            report = exchange(broken, {"state": np.zeros(4)})
            assert report.startswith("Traceback")
            assert "images.front" in report.splitlines()[-1]
            with pytest.raises(ConnectionClosed) as closed:
                broken.recv(timeout=20)
            assert closed.value.rcvd.code == 1011
            assert exchange(sound, look())["actions"].shape == (4, 2)
        # A session ends a moment after its client has left.
        eventually(lambda: len(server.ended) == 2, "both ended")
    errors = {session.number: session.error for session in server.ended}
    assert "images.front" in errors[1]
    assert errors[2] is None


@pytest.mark.parametrize("frame", ["text", b"\xc1"])
def test_what_is_no_message_ends_the_session_alone(hosted: MakeHost, serving: Serving, frame: Any) -> None:
    with serving(hosted()) as server:
        with client(server.url) as broken:
            broken.send(frame)
            assert "ContractError" in broken.recv(timeout=20)
        with client(server.url) as sound:
            assert exchange(sound, look())["actions"].shape == (4, 2)


def test_a_message_beyond_the_limit_is_not_read(
    hosted: MakeHost, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thinktwice.agents.serving.server.MAX_BYTES", 10_000)
    with serving(hosted()) as server, client(server.url) as connection:
        with pytest.raises(ConnectionClosed) as closed:
            exchange(connection, {"state": np.zeros(10_000)})
        assert closed.value.rcvd.code == 1009


def test_every_session_is_told_of_when_it_ends(hosted: MakeHost, serving: Serving, eventually: Any) -> None:
    with serving(hosted("fake")) as server:
        with client(server.url) as connection:
            for _ in range(4):
                exchange(connection, look())
            assert server.ended == []
        with connect(server.url, proxy=None) as connection:
            connection.recv(timeout=20)
            connection.socket.shutdown(2)
        eventually(lambda: len(server.ended) == 2, "both ended")
    first, second = server.ended
    assert (first.number, first.decisions, first.deliberated, first.error) == (1, 4, 2, None)
    assert first.client.startswith("127.0.0.1:")
    assert (second.decisions, second.error) == (0, None)


def test_a_client_that_leaves_frees_its_agent(
    hosted: MakeHost, serving: Serving, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = hosted("fake")
    made: list[weakref.ref[Any]] = []
    build = host.session

    def session() -> Any:
        new = build()
        made.append(weakref.ref(new))
        return new

    monkeypatch.setattr(host, "session", session)
    with serving(host) as server:
        with client(server.url) as connection:
            exchange(connection, look())
            assert made[0]() is not None

        def freed() -> bool:
            gc.collect()
            return made[0]() is None

        eventually(freed, "the agent was freed")


class Slow:
    """The fake policy, held up until it is let go; it knows how many were in it at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go, self.entered = threading.Event(), threading.Event()
        self.calls = self.inside = self.most = 0
        propose = FakePolicy.propose

        def slow(policy: FakePolicy, *arguments: Any, **named: Any) -> Any:
            self.calls += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.entered.set()
            self.go.wait(20)
            self.inside -= 1
            return propose(policy, *arguments, **named)

        monkeypatch.setattr(FakePolicy, "propose", slow)


def test_one_at_a_time(hosted: MakeHost, serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    with serving(hosted()) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(client(server.url)) for _ in range(4)]
        for connection in clients:
            connection.send(msgpack_numpy.packb(look()))
        assert slow.entered.wait(20)
        slow.go.set()
        answers = [msgpack_numpy.unpackb(connection.recv(timeout=20)) for connection in clients]
    assert slow.most == 1
    assert slow.calls == 4
    assert all(np.array_equal(answer["actions"], answers[0]["actions"]) for answer in answers)


def test_nobody_decides_for_a_client_that_left_the_queue(
    hosted: MakeHost, serving: Serving, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    with serving(hosted()) as server, client(server.url) as patient:
        with client(server.url) as hasty:
            patient.send(msgpack_numpy.packb(look()))
            assert slow.entered.wait(20)
            hasty.send(msgpack_numpy.packb(look()))
        slow.go.set()
        assert msgpack_numpy.unpackb(patient.recv(timeout=20))["actions"].shape == (4, 2)
        eventually(lambda: len(server.ended) == 1, "the hasty one ended")
    assert slow.calls == 1


def test_a_port_in_use_is_said(hosted: MakeHost, serving: Serving) -> None:
    import asyncio

    from thinktwice.agents.serving import serve

    with serving(hosted()) as server, pytest.raises(UsageError, match="--port"):
        asyncio.run(serve(hosted(), Listening(port=server.port), ready=print, ended=print))


def test_a_token_is_one_long_word(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"  {TOKEN}\n")
    assert read_token(path) == TOKEN
    for text in ("", "short", "two words of some length", "pässword-of-some-length"):
        path.write_text(text)
        with pytest.raises(UsageError, match="at least 16"):
            read_token(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_token(tmp_path / "none")
