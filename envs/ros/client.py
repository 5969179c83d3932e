"""A small rosbridge v2 client for the command path.

What it does differently from a general client, and why: a command is only good now.  So nothing is queued while the
bridge is away, only the newest value of a topic waits to be sent, and what waited too long is dropped.  Numbers that
are not finite are refused before sending, the server's ``status`` messages are surfaced, certificates are verified, and
compression is off because it costs more time than it saves on a local network.

Protocol: https://github.com/RobotWebTools/rosbridge_suite/blob/ros2/ROSBRIDGE_PROTOCOL.md
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, cast

from ...addresses import check_websocket
from ...errors import MissingDependency, WorldError, install_line
from .wire import ActionResult, Counters, Event, EventKind, Handler, Message, Outage, decode, encode

_RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0)
"""Between tries to connect again; the last one repeats.  A connection that held for as long begins anew."""
_OPEN_SECONDS = 5.0
"""How long one try may take: a stopped server accepts a socket and never answers."""
_WRITE_LIMIT = 4096
"""Bytes that may wait in this process before the sender waits too, so that newer commands replace older ones."""


class BridgeClient:
    """One connection to a rosbridge server, kept up by a thread of its own.

    Args:
        url: ``ws://host:port`` or ``wss://host:port``; a wss certificate is always verified.
        ca_file: a certificate authority for wss besides those of the system.
        max_message_bytes: a larger frame closes the connection.
        ping_seconds: how often the server is pinged, and how long its answer may take.
        on_event: called in the client's thread.

    Raises:
        UsageError: the url is neither ws nor wss, or names no host or no possible port.
        MissingDependency: websockets is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        ca_file: str | None = None,
        max_message_bytes: int = 8 * 2**20,
        ping_seconds: float = 2.0,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        check_websocket(url, "a bridge")
        if importlib.util.find_spec("websockets") is None:
            raise MissingDependency("websockets", purpose="a rosbridge connection", install=install_line("ros"))
        self.url = url
        self.counters = Counters()
        self.statuses: deque[Event] = deque(maxlen=100)
        self._tls = ssl.create_default_context(cafile=ca_file) if url.startswith("wss://") else None
        self._max_bytes, self._ping = max_message_bytes, ping_seconds
        self._on_event = on_event
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._newest: dict[str, tuple[str, float]] = {}
        self._outbox: deque[str] = deque()
        self._setup: dict[str, str] = {}
        self._handlers: dict[str, Handler] = {}
        self._waiting: dict[str, Future[Message]] = {}
        self._next_id = 0
        self._connected = False
        self._opened = 0.0
        self._outage = Outage(reason="no attempt yet", since=time.monotonic(), tries=0, next_try=0.0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._connection: Any = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> BridgeClient:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connected(self) -> bool:
        """Whether a connection is open.  It says nothing about the robot: only data does."""
        return self._connected

    @property
    def outage(self) -> Outage | None:
        """What is known of a connection that is away, or None while it is open."""
        return None if self._connected else self._outage

    @property
    def opened(self) -> float:
        """Monotonic seconds when the connection was last opened; 0.0 before the first time."""
        return self._opened

    def connect(self, *, timeout: float = 10.0) -> None:
        """Start, and wait for the first connection.

        Raises:
            WorldError: none was opened in time; the client is closed again.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"rosbridge {self.url}", daemon=True)
            self._thread.start()
        with self._changed:
            opened = self._changed.wait_for(lambda: self._connected, timeout)
        if not opened:
            self.close()
            raise WorldError(
                f"no rosbridge server answered at {self.url} within {timeout:g} s ({self._outage.reason}). "
                "Is it running, and is the address right? `thinktwice sim-arm` starts one with a simulated arm."
            )

    def close(self) -> None:
        """Close the connection and stop the thread; safe to repeat."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        loop, task = self._loop, self._task
        if loop is not None and task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        thread.join(timeout=5)

    def drop(self) -> None:
        """Forget what waits to be sent, and break the connection so that its buffers are discarded too."""
        with self._lock:
            self._newest.clear()
        loop, connection = self._loop, self._connection
        if loop is not None and connection is not None and not loop.is_closed():
            loop.call_soon_threadsafe(connection.transport.abort)

    def forget_pending(self) -> None:
        """Forget published messages that were not sent yet."""
        with self._lock:
            self._newest.clear()

    def advertise(self, topic: str, type_name: str) -> None:
        """Announce a topic, now and after every reconnection."""
        self._install(f"advertise {topic}", {"op": "advertise", "topic": topic, "type": type_name, "queue_size": 1})

    def subscribe(self, topic: str, type_name: str, handler: Handler, *, throttle_ms: int = 0) -> None:
        """Receive a topic, now and after every reconnection.

        Args:
            topic: ROS name; one handler per topic.
            type_name: ROS type.
            handler: receives each message in the client's thread.
            throttle_ms: the server sends no more than one message in this time.
        """
        self._handlers[topic] = handler
        request = {"op": "subscribe", "id": f"subscribe:{topic}", "topic": topic, "type": type_name}
        self._install(
            f"subscribe {topic}",
            {**request, "throttle_rate": throttle_ms, "queue_length": 1, "compression": "none"},
        )

    def publish(self, topic: str, message: Message, *, valid_seconds: float = 1.0) -> None:
        """Send the newest value of an advertised topic; an unsent older one is replaced.

        Args:
            topic: an advertised topic.
            message: JSON values.
            valid_seconds: it is dropped when it cannot be sent within this time.

        Raises:
            ContractError: it holds a number that is not finite, or something that JSON lacks.
            WorldError: there is no connection; nothing is kept for later.
        """
        text = encode({"op": "publish", "topic": topic, "msg": message})
        with self._lock:
            if not self._connected:
                raise WorldError(f"not connected to {self.url}; the message on {topic} was not sent and is not kept.")
            self.counters.superseded += topic in self._newest
            self._newest[topic] = (text, time.monotonic() + valid_seconds)
        self._nudge()

    def call_service(self, name: str, type_name: str, request: Message, *, timeout: float) -> Message:
        """Call a service and wait for its response.

        Raises:
            WorldError: no answer in time, the connection broke, or the server reported a failure.
        """
        answer = self._ask({"op": "call_service", "service": name, "type": type_name, "args": request}, name, timeout)
        if not answer.get("result", False):
            raise WorldError(f"service {name} failed: {answer.get('values')}.")
        return cast("Message", answer.get("values") or {})

    def send_goal(self, action: str, type_name: str, goal: Message, *, timeout: float) -> ActionResult:
        """Send an action goal and wait for its result.

        A rejected goal is a result with ``accepted=False``, never an exception: the caller decides.

        Raises:
            WorldError: no result in time, or the connection broke; a goal that timed out is cancelled.
        """
        request = {"op": "send_action_goal", "action": action, "action_type": type_name, "args": goal}
        answer = self._ask({**request, "feedback": False}, action, timeout, cancel=action)
        status = answer.get("status")
        return ActionResult(
            accepted=bool(answer.get("result", False)),
            status=int(status) if isinstance(status, int) else None,
            values=answer.get("values"),
        )

    def _ask(self, request: dict[str, Any], name: str, timeout: float, cancel: str | None = None) -> Message:
        future: Future[Message] = Future()
        with self._lock:
            if not self._connected:
                raise WorldError(f"not connected to {self.url}; {name} was not called.")
            self._next_id += 1
            identifier = f"{request['op']}:{self._next_id}"
            self._waiting[identifier] = future
            self._outbox.append(encode({**request, "id": identifier}))
        self._nudge()
        try:
            return future.result(timeout)
        except FutureTimeout as error:
            if cancel is not None:
                with self._lock:
                    self._outbox.append(encode({"op": "cancel_action_goal", "id": identifier, "action": cancel}))
                self._nudge()
            raise WorldError(f"{name} gave no answer within {timeout:g} s.") from error
        finally:
            with self._lock:
                self._waiting.pop(identifier, None)

    def _install(self, key: str, request: dict[str, Any]) -> None:
        text = encode(request)
        with self._lock:
            self._setup[key] = text
            if self._connected:
                self._outbox.append(text)
        self._nudge()

    def _nudge(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake.set)

    def _tell(self, kind: EventKind, text: str) -> None:
        event = Event(kind=kind, text=text)
        if kind == "status":
            self.statuses.append(event)
        if self._on_event is not None:
            self._on_event(event)

    def _run(self) -> None:
        try:
            asyncio.run(self._keep_connected())
        except asyncio.CancelledError:
            return

    async def _keep_connected(self) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        self._loop, self._task = asyncio.get_running_loop(), cast("asyncio.Task[None]", asyncio.current_task())
        while True:
            self._outage = dataclasses.replace(self._outage, tries=self._outage.tries + 1, next_try=0.0)
            try:
                connection = await connect(
                    self.url,
                    ssl=self._tls,
                    compression=None,
                    proxy=None,
                    max_size=self._max_bytes,
                    open_timeout=_OPEN_SECONDS,
                    close_timeout=0.5,
                    ping_interval=self._ping,
                    ping_timeout=self._ping,
                    write_limit=_WRITE_LIMIT,
                )
                await self._session(connection)
            except (OSError, TimeoutError, WebSocketException) as error:
                self._outage = dataclasses.replace(self._outage, reason=f"{type(error).__name__}: {error}")
            wait = _RETRY_SECONDS[min(self._outage.tries, len(_RETRY_SECONDS) - 1)]
            self._outage = dataclasses.replace(self._outage, next_try=time.monotonic() + wait)
            await asyncio.sleep(wait)

    async def _session(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        with self._changed:
            self._outbox = deque(self._setup.values())
            self._newest.clear()
            self._connection, self._connected, self._opened = connection, True, time.monotonic()
            self.counters.connections += 1
            self._changed.notify_all()
        self._wake.set()
        self._tell("connected", self.url)
        sender = asyncio.create_task(self._send(connection))
        reason = "closed by the server"
        try:
            async for frame in connection:
                self._receive(frame)
        except ConnectionClosed as error:
            reason = str(error)
        except asyncio.CancelledError:
            reason = "closed here"
            await connection.close()
            raise
        finally:
            sender.cancel()
            self._disconnect(reason)
            connection.transport.abort()

    def _disconnect(self, reason: str) -> None:
        now = time.monotonic()
        # A server that hangs up at once is no reason to try faster.
        tries = self._outage.tries if now - self._opened < _RETRY_SECONDS[-1] else 0
        with self._lock:
            self._outage = Outage(reason=reason, since=now, tries=tries, next_try=now)
            self._connection, self._connected = None, False
            self._newest.clear()
            self._outbox.clear()
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(WorldError(f"the connection to {self.url} broke while waiting: {reason}"))
        self._tell("disconnected", reason)

    async def _send(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        while True:
            await self._wake.wait()
            self._wake.clear()
            while (text := self._take()) is not None:
                try:
                    await connection.send(text)
                except ConnectionClosed:
                    return

    def _take(self) -> str | None:
        with self._lock:
            if self._outbox:
                return self._outbox.popleft()
            while self._newest:
                topic = next(iter(self._newest))
                text, deadline = self._newest.pop(topic)
                if time.monotonic() <= deadline:
                    self.counters.sent += 1
                    return text
                self.counters.expired += 1
            return None

    def _receive(self, frame: str | bytes) -> None:
        try:
            message = decode(frame)
        except ValueError as error:
            self.counters.malformed += 1
            self._tell("malformed", str(error))
            return
        operation = message["op"]
        if operation == "publish":
            handler, content = self._handlers.get(str(message.get("topic"))), message.get("msg")
            if handler is not None and isinstance(content, dict):
                self._hand_over(handler, cast("Message", content), str(message["topic"]))
        elif operation in ("service_response", "action_result"):
            with self._lock:
                future = self._waiting.pop(str(message.get("id")), None)
            if future is not None:
                future.set_result(message)
        elif operation == "status":
            self._tell("status", f"{message.get('level', 'error')}: {message.get('msg', '')}")

    def _hand_over(self, handler: Handler, content: Message, topic: str) -> None:
        try:
            handler(content)
        except Exception as error:  # noqa: BLE001  # one message must not end the connection of an arm
            self.counters.malformed += 1
            self._tell("malformed", f"{topic}: {type(error).__name__}: {error}")
