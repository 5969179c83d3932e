"""The server's sockets: one connection is one session, and inference happens one at a time.

The protocol is that of openpi's ``WebsocketPolicyServer`` (openpi-server 0.1.0): metadata first, then an answer for
each request; an error is a text frame with the traceback, after which the connection is closed.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
import http
import ipaddress
import logging
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...errors import MissingDependency, ThinkTwiceError, UsageError, install_line
from .access import authorization
from .arrays import pack
from .host import Host
from .protocol import EXTRA, MAX_BYTES
from .session import Session

_HEALTH = "/healthz"
"""openpi's path that answers OK to a plain GET, for those who watch over servers."""

_LAST_PORT = 65_535

_log = logging.getLogger("thinktwice.serving")
_log.addHandler(logging.NullHandler())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Listening:
    """Where and for whom a server listens.

    Attributes:
        host: an address of this machine.
        port: 0 for a free one.
        token: what clients must send as ``Authorization: Api-Key TOKEN``; None for no such check.

    Raises:
        UsageError: the address is not the loopback one and there is no token, or no port has that number.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _LAST_PORT:
            raise UsageError(f"--port must be from 1 to {_LAST_PORT}, or 0 for a free one, got {self.port}.")
        if self.token is None and not _is_loopback(self.host):
            raise UsageError(
                f"listening on {self.host or 'every address'!r} would let anybody on the network use this server. Give "
                "--token-file FILE with a secret of your choice, or listen on 127.0.0.1 and use an SSH tunnel."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SessionEnd:
    """How a session went.

    Attributes:
        number: counted from 1.
        client: its address.
        decisions: answers given.
        deliberated: how many of them were deliberated.
        seconds: from its beginning to its end.
        error: what ended it, in one line; None when the client left.
    """

    number: int
    client: str
    decisions: int
    deliberated: int
    seconds: float
    error: str | None


async def serve(
    host: Host,
    listening: Listening,
    *,
    ready: Callable[[str], None],
    ended: Callable[[SessionEnd], None],
) -> None:
    """Serve until cancelled.

    Args:
        host: what is served.
        listening: where.
        ready: told the address, ``ws://host:port``, once clients may come.
        ended: told of every session that ended.

    Raises:
        UsageError: the address cannot be listened on.
        MissingDependency: websockets is not installed.
    """
    try:
        from websockets.asyncio.server import serve as listen
    except ImportError as error:
        raise MissingDependency("websockets", purpose="a policy server", install=install_line("serve")) from error
    server = _Server(host, listening, ended)
    try:
        listener = listen(
            server.session,
            listening.host,
            listening.port,
            process_request=server.admit,
            # A page in a browser may open websockets to this machine, and says where it comes from; programs do not.
            origins=[None],
            compression=None,
            max_size=MAX_BYTES,
            logger=_log,
        )
        async with listener as listened:
            ready(_url(listened.sockets[0].getsockname()))
            await asyncio.get_running_loop().create_future()
    except OSError as error:
        raise UsageError(
            f"cannot listen on {listening.host}:{listening.port}: {error.strerror or error}. Choose another --port."
        ) from error
    finally:
        server.close()


class _Server:
    def __init__(self, host: Host, listening: Listening, ended: Callable[[SessionEnd], None]) -> None:
        self._host, self._listening, self._ended = host, listening, ended
        # One thread for everything that computes: its libraries keep state per thread, and never run twice at once.
        self._thread = ThreadPoolExecutor(1, "inference")
        self._turn = asyncio.Lock()
        self._sessions = 0

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def admit(self, connection: Any, request: Any) -> Any:
        """None to go on with the handshake, or the answer that refuses it."""
        if request.path == _HEALTH:
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        token = self._listening.token
        given = ", ".join(request.headers.get_all("Authorization"))
        if token is not None and not hmac.compare_digest(given.encode(), authorization(token).encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "This server needs its token as an API key.\n")
        return None

    async def session(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        self._sessions += 1
        number, began, error = self._sessions, time.monotonic(), None
        session: Session | None = None
        try:
            session = await self._compute(self._host.session)
            await connection.send(pack({EXTRA: self._host.about.model_dump()}))
            async for frame in connection:
                await self._answer(connection, session, frame)
        except ConnectionClosed:
            pass
        except Exception as failure:  # noqa: BLE001  whatever an agent raises is told to its client, as openpi does
            error = _one_line(failure)
            await _tell(connection, traceback.format_exc())
        finally:
            self._ended(
                SessionEnd(
                    number=number,
                    client=_address(connection.remote_address),
                    decisions=session.decisions if session else 0,
                    deliberated=session.deliberated if session else 0,
                    seconds=time.monotonic() - began,
                    error=error,
                )
            )

    async def _answer(self, connection: Any, session: Session, frame: bytes | str) -> None:
        from websockets.protocol import State

        async with self._turn:
            if connection.state is not State.OPEN:
                # It went away while others had their turn: nobody waits for this answer any more.
                return
            answer = await self._compute(session.answer, frame)
        await connection.send(answer)

    async def _compute[Result](self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)


async def _tell(connection: Any, report: str) -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.frames import CloseCode

    try:
        await connection.send(report)
        await connection.close(CloseCode.INTERNAL_ERROR, "Internal server error. Traceback in the frame before.")
    except ConnectionClosed:
        return


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _url(address: tuple[Any, ...]) -> str:
    return f"ws://{_address(address)}"


def _address(address: Any) -> str:
    if not isinstance(address, tuple):
        return "unknown"
    host, port = str(address[0]), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _one_line(error: Exception) -> str:
    kind = "" if isinstance(error, ThinkTwiceError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())}"[:300]
