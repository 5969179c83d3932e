"""Addresses of websocket servers, checked before anything connects."""

from __future__ import annotations

from urllib.parse import urlsplit

from .errors import UsageError


def check_websocket(url: str, whose: str) -> None:
    """Raise `UsageError` unless a url can be a websocket server's address.

    Args:
        url: ``ws://host:port`` or ``wss://host:port``.
        whose: begins the message, such as ``"a policy server"``.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"ws", "wss"} and bool(parts.hostname)
    except ValueError:  # an IPv6 address without its closing bracket
        usable = False
    if not usable:
        raise UsageError(f"{whose}'s address is ws://HOST:PORT or wss://HOST:PORT, got {url!r}.")
    try:
        _ = urlsplit(url).port
    except ValueError as error:
        raise UsageError(f"the port of {whose}'s address must be from 1 to 65535, got {url!r}.") from error
