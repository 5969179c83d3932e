"""FAKE: a rosbridge server in this process, for tests and for trying code without ROS.

It passes publications on to subscribers and answers services and actions from plain functions.  It knows no ROS types,
checks nothing, and its timing says nothing about a real server.  `bridge_server` starts a real one.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from ...errors import WorldError

type Answer = Callable[[dict[str, Any]], dict[str, Any]]


class FakeBridge:
    """FAKE rosbridge server on a free port of the loopback interface.

    Args:
        tls: serve wss with this context.
        port: 0 for a free one.

    Attributes:
        received: every publication as ``(monotonic seconds, topic, message)``.
        services: name to a function from the request's ``args`` to the response's ``values``; raise ValueError to fail.
        actions: name to a function from the goal to the result; raise ValueError to reject the goal.
        opened: operations other than publications, in order.
        silent: True makes it swallow everything while its sockets stay open, like a stopped process.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.received: list[tuple[float, str, dict[str, Any]]] = []
        self.opened: list[dict[str, Any]] = []
        self.services: dict[str, Answer] = {}
        self.actions: dict[str, Answer] = {}
        self.silent = False
        self._tls, self._port = tls, port
        self._subscribers: dict[str, set[Any]] = {}
        self._connections: set[Any] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fake bridge", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise WorldError("the fake bridge did not start.")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'wss' if self._tls else 'ws'}://127.0.0.1:{self._port}"

    def published(self, topic: str) -> list[dict[str, Any]]:
        """The messages that arrived on a topic, in order."""
        return [message for _, name, message in list(self.received) if name == topic]

    def publish(self, topic: str, message: dict[str, Any]) -> None:
        """Send a message to a topic's subscribers, as a node behind the server would."""
        self.send_raw(json.dumps({"op": "publish", "topic": topic, "msg": message}), topic)

    def send_raw(self, frame: str | bytes, topic: str | None = None) -> None:
        """Send any frame to every client, or to a topic's subscribers."""
        self._call(lambda: self._broadcast(frame, topic))

    def drop(self) -> None:
        """Break every connection without a close frame; clients may come back."""
        self._call(lambda: [connection.transport.abort() for connection in self._connections])

    def _call(self, function: Callable[[], object]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        async with serve(
            self._client, "127.0.0.1", self._port, ssl=self._tls, compression=None, max_size=None
        ) as server:
            self._port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _client(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        self._connections.add(connection)
        try:
            async for frame in connection:
                if not self.silent:
                    await self._answer(connection, json.loads(frame))
        except ConnectionClosed:
            pass
        finally:
            self._connections.discard(connection)
            for subscribers in self._subscribers.values():
                subscribers.discard(connection)

    async def _answer(self, connection: Any, request: dict[str, Any]) -> None:
        operation = request["op"]
        response: dict[str, Any] | None = None
        if operation == "publish":
            self.received.append((time.monotonic(), request["topic"], request["msg"]))
            self._broadcast(json.dumps(request), request["topic"])
            return
        self.opened.append(request)
        if operation == "subscribe":
            self._subscribers.setdefault(request["topic"], set()).add(connection)
        elif operation == "call_service":
            values, done = self._result(self.services.get(request["service"]), request["args"])
            response = {"op": "service_response", "service": request["service"], "values": values, "result": done}
        elif operation == "send_action_goal":
            values, done = self._result(self.actions.get(request["action"]), request["args"])
            response = {"op": "action_result", "action": request["action"], "values": values, "result": done}
            response["status"] = 4 if done else 6
        if response is not None and not self.silent:
            await connection.send(json.dumps({**response, "id": request["id"]}))

    @staticmethod
    def _result(function: Answer | None, argument: dict[str, Any]) -> tuple[Any, bool]:
        if function is None:
            return "it does not exist", False
        try:
            return function(argument), True
        except ValueError as error:
            return str(error), False

    def _broadcast(self, frame: str | bytes, topic: str | None) -> None:
        from websockets.asyncio.connection import broadcast

        if not self.silent:
            broadcast(self._connections if topic is None else self._subscribers.get(topic, set()), frame)
