"""A client's connection to a server: one question at a time, and no answer that comes too late."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

from ...addresses import check_websocket
from ...errors import ContractError, MissingDependency, ModelError, UsageError, install_line
from .access import authorization
from .arrays import pack, unpack
from .protocol import MAX_BYTES

_CLOSE_SECONDS = 1.0
"""How long closing may take: a server that hangs does not answer a close frame either."""


class Line:
    """A connection that is opened, asked, and closed for good at the first thing that goes wrong.

    openpi's messages carry no numbers, so after a request that was given up, its answer would be taken for that of the
    next one.  Here the socket is cut when the time is over, and whoever wants to go on opens a new one.

    Args:
        url: ``ws://host:port`` or ``wss://host:port``; a wss certificate is always verified.
        token: sent as openpi-client's ``api_key``; None for none.
        timeout: seconds for connecting, and for each answer unless the question says otherwise.

    Raises:
        UsageError: the url is neither ws nor wss, has no possible port, or holds a password.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        check_websocket(url, "a policy server")
        if urlsplit(url).username is not None:
            raise UsageError(
                "a policy server's address must hold no password: it goes into records. Use token_file=FILE."
            )
        self.url, self._token, self._timeout = url, token, timeout
        self._connection: Any = None
        self._opened = contextlib.ExitStack()

    @property
    def is_open(self) -> bool:
        """Whether a session is going on."""
        return self._connection is not None

    def open(self) -> Any:
        """Connect; the server's metadata.

        Raises:
            UsageError: the server wants another token.
            ModelError: nobody answers there, or not with this protocol.
            MissingDependency: websockets is not installed.
        """
        try:
            from websockets.exceptions import InvalidStatus, WebSocketException
            from websockets.sync.client import connect
        except ImportError as error:
            raise MissingDependency("websockets", purpose="a policy server", install=install_line("serve")) from error
        self.close()
        headers = {"Authorization": authorization(self._token)} if self._token else None
        try:
            connecting = connect(
                self.url,
                additional_headers=headers,
                compression=None,
                proxy=None,
                max_size=MAX_BYTES,
                open_timeout=self._timeout,
                close_timeout=_CLOSE_SECONDS,
                # openpi's own server answers no ping while it computes; the time limit of a question is what counts.
                ping_interval=None,
            )
            self._connection = self._opened.enter_context(connecting)
        except InvalidStatus as error:
            if error.response.status_code in (401, 403):
                given = "the token was not accepted" if self._token else "it needs a token: ?token_file=FILE"
                raise UsageError(f"the policy server at {self.url} refuses: {given}.") from error
            raise ModelError(f"the policy server at {self.url} refuses: {error}.") from error
        except (OSError, TimeoutError, WebSocketException) as error:
            raise ModelError(
                f"no policy server answers at {self.url} ({type(error).__name__}: {error}). Start one with "
                "`thinktwice serve`, or see that the address is right."
            ) from error
        return self._exchange(None, self._timeout)

    def ask(self, message: Any, *, timeout: float | None = None) -> Any:
        """Send a message and wait for its answer.

        Args:
            message: what `thinktwice.agents.serving.arrays.pack` takes.
            timeout: seconds; the line's own when None.

        Raises:
            ContractError: the line is not open, or the message or the answer is no msgpack message.
            ModelError: the server reported an error, hung up, or was too slow; the line is closed.
        """
        if self._connection is None:
            raise ContractError(f"the line to {self.url} is not open.")
        return self._exchange(pack(message), self._timeout if timeout is None else timeout)

    def close(self) -> None:
        """Hang up; safe to repeat."""
        self._connection = None
        self._opened.close()

    def _exchange(self, data: bytes | None, timeout: float) -> Any:
        from websockets.exceptions import ConnectionClosed

        connection, late = self._connection, threading.Event()

        def cut() -> None:
            late.set()
            with contextlib.suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

        # Cutting the socket also ends a send that a stopped server does not take.
        watch = threading.Timer(timeout, cut)
        watch.daemon = True
        watch.start()
        try:
            if data is not None:
                connection.send(data)
            frame = connection.recv()
        except ConnectionClosed as error:
            self.close()
            raise ModelError(self._broken(late.is_set(), timeout, error)) from error
        finally:
            watch.cancel()
        if late.is_set():
            self.close()
            raise ModelError(self._broken(True, timeout, None))
        if isinstance(frame, str):
            self.close()
            raise ModelError(f"the policy server at {self.url} failed:\n{frame.rstrip()}")
        try:
            return unpack(frame)
        except ContractError:
            self.close()
            raise

    def _broken(self, late: bool, timeout: float, error: Exception | None) -> str:
        if late:
            return (
                f"the policy server at {self.url} gave no answer within {timeout:g} s. The session was closed, so that "
                "a late answer is not taken for the next one. ?timeout=SECONDS gives it more time."
            )
        return f"the policy server at {self.url} hung up: {error}."
