"""Servers in a thread of this process: ours, and openpi's own from PyPI."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from openpi_server import WebsocketPolicyServer

from thinktwice.agents.catalog import agent_entry
from thinktwice.agents.serving import KEYS, Host, Listening, SessionEnd, serve
from thinktwice.envs.fakes import FakeOptions, FakeWorld


@contextlib.contextmanager
def in_thread(run: Callable[[], Coroutine[Any, Any, None]]) -> Iterator[None]:
    """Run a coroutine in a thread of its own until the block ends."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(run())

    def work() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)


@dataclasses.dataclass
class Running:
    """A server of ours: where it is, and the sessions that ended."""

    url: str
    ended: list[SessionEnd]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextlib.contextmanager
def served(host: Host, *, token: str | None = None) -> Iterator[Running]:
    addresses: list[str] = []
    ready, ended = threading.Event(), list[SessionEnd]()

    def tell(url: str) -> None:
        addresses.append(url)
        ready.set()

    async def run() -> None:
        await serve(host, Listening(port=0, token=token), ready=tell, ended=ended.append)

    with in_thread(run):
        assert ready.wait(20)
        yield Running(addresses[0], ended)


def fake_host(agent: str = "reflex", *, keys: str = "thinktwice", **options: Any) -> Host:
    """A host of the fake world."""
    given = {"policy": "fake:0.5"} if agent == "reflex" else {}
    options_class, _ = agent_entry(agent).load()
    world = FakeWorld(name="fake", options=FakeOptions())
    return Host(world, agent, options_class(**(given | options)), keys=KEYS[keys])


@contextlib.contextmanager
def openpi_served(policy: Any, metadata: dict[str, Any] | None = None) -> Iterator[str]:
    """openpi's own server with a policy that has ``infer``; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = WebsocketPolicyServer(policy, host="127.0.0.1", port=port, metadata=metadata)
    with in_thread(server.run):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield f"ws://127.0.0.1:{port}"


def wait_until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


@pytest.fixture
def serving() -> Callable[..., contextlib.AbstractContextManager[Running]]:
    return served


@pytest.fixture
def hosted() -> Callable[..., Host]:
    return fake_host


@pytest.fixture
def openpi_serving() -> Callable[..., contextlib.AbstractContextManager[str]]:
    return openpi_served


@pytest.fixture
def eventually() -> Callable[..., None]:
    return wait_until
