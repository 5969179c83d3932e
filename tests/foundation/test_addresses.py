"""The one check of websocket addresses."""

from __future__ import annotations

import pytest

from thinktwice.addresses import check_websocket
from thinktwice.errors import UsageError


@pytest.mark.parametrize("url", ["ws://localhost", "ws://10.0.0.2:9090", "wss://arm.example:443/path", "ws://[::1]:1"])
def test_addresses(url: str) -> None:
    check_websocket(url, "a bridge")


@pytest.mark.parametrize("url", ["", "localhost:9090", "http://localhost", "ws://", "ws://:9090", "ws://[::1:9090"])
def test_no_addresses(url: str) -> None:
    with pytest.raises(UsageError, match=r"^a bridge's address is ws://HOST:PORT or wss://HOST:PORT, got '"):
        check_websocket(url, "a bridge")


@pytest.mark.parametrize("port", ["65536", "-1", "PORT"])
def test_impossible_ports(port: str) -> None:
    with pytest.raises(UsageError, match=rf"port of a bridge's address .* got 'ws://localhost:{port}'"):
        check_websocket(f"ws://localhost:{port}", "a bridge")
