"""The rosbridge client against the fake server: what is never queued, never sent, never believed."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from thinktwice.envs.ros import BridgeClient, Event, FakeBridge
from thinktwice.errors import ContractError, UsageError, WorldError


def test_publish_and_subscribe(bridge: FakeBridge, until) -> None:
    heard: list[dict] = []
    with BridgeClient(bridge.url) as client:
        client.advertise("/x", "std_msgs/msg/String")
        client.subscribe("/x", "std_msgs/msg/String", heard.append, throttle_ms=40)
        until(lambda: any(op["op"] == "subscribe" for op in bridge.opened), "subscribed")
        client.publish("/x", {"data": "hello"})
        until(lambda: heard, "heard")
    assert heard == [{"data": "hello"}]
    subscribed = next(op for op in bridge.opened if op["op"] == "subscribe")
    assert (subscribed["throttle_rate"], subscribed["queue_length"], subscribed["compression"]) == (40, 1, "none")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), {1, 2}])
def test_what_is_not_finite_json_is_refused_before_sending(bridge: FakeBridge, value: object) -> None:
    with BridgeClient(bridge.url) as client:
        with pytest.raises(ContractError, match="nothing was sent"):
            client.publish("/x", {"data": [0.0, value]})
        assert client.counters.sent == 0
    assert bridge.published("/x") == []


def test_nothing_is_queued_while_the_bridge_is_away(bridge: FakeBridge, until) -> None:
    with BridgeClient(bridge.url) as client:
        client.publish("/x", {"data": 0})
        until(lambda: bridge.published("/x"), "the first one")
        bridge.drop()
        until(lambda: not client.connected, "disconnected")
        refused = 0
        while not client.connected:
            try:
                client.publish("/x", {"data": 1})
            except WorldError:
                refused += 1
        until(lambda: client.counters.connections == 2, "reconnected")
        client.publish("/x", {"data": 2})
        until(lambda: {"data": 2} in bridge.published("/x"), "the one after")
    assert refused > 0
    assert [message["data"] for message in bridge.published("/x")].count(1) <= 1


def test_only_the_newest_value_waits(bridge: FakeBridge, until) -> None:
    with BridgeClient(bridge.url) as client:
        blocked = threading.Event()
        loop = client._loop
        assert loop is not None
        loop.call_soon_threadsafe(blocked.wait)
        for number in range(100):
            client.publish("/x", {"data": number})
        blocked.set()
        until(lambda: bridge.published("/x"), "the newest")
        assert client.counters.superseded >= 98
    assert bridge.published("/x")[-1] == {"data": 99}
    assert len(bridge.published("/x")) <= 2


def test_what_waited_longer_than_it_is_valid_is_dropped(bridge: FakeBridge, until) -> None:
    with BridgeClient(bridge.url) as client:
        blocked = threading.Event()
        assert client._loop is not None
        client._loop.call_soon_threadsafe(blocked.wait)
        client.publish("/x", {"data": "old"}, valid_seconds=0.0)
        blocked.set()
        until(lambda: client.counters.expired == 1, "expired")
        client.publish("/x", {"data": "new"})
        until(lambda: bridge.published("/x"), "the new one")
    assert bridge.published("/x") == [{"data": "new"}]


def test_topics_are_announced_and_subscribed_again_after_a_reconnection(bridge: FakeBridge, until) -> None:
    heard: list[dict] = []
    with BridgeClient(bridge.url) as client:
        client.advertise("/x", "std_msgs/msg/String")
        client.subscribe("/y", "std_msgs/msg/String", heard.append)
        until(lambda: len(bridge.opened) == 2, "installed")
        bridge.drop()
        until(lambda: len(bridge.opened) == 4, "installed again")
        bridge.publish("/y", {"data": "after"})
        until(lambda: heard, "heard")
    assert [op["op"] for op in bridge.opened] == ["advertise", "subscribe"] * 2


def test_the_servers_status_is_surfaced(bridge: FakeBridge, until) -> None:
    events: list[Event] = []
    with BridgeClient(bridge.url, on_event=events.append) as client:
        bridge.send_raw('{"op": "status", "level": "error", "msg": "no such type"}')
        until(lambda: client.statuses, "a status")
    assert Event(kind="status", text="error: no such type") in events


@pytest.mark.parametrize(
    "frame", ["{", "[]", "null", '{"op": 3}', '"text"', b"\x00\x01", "[" * 100_000, '{"topic": "/x"}', "1" * 5000]
)
def test_malformed_frames_are_counted_and_survived(bridge: FakeBridge, until, frame) -> None:
    heard: list[dict] = []
    with BridgeClient(bridge.url) as client:
        client.subscribe("/x", "std_msgs/msg/String", heard.append)
        until(lambda: bridge.opened, "subscribed")
        bridge.send_raw(frame)
        until(lambda: client.counters.malformed == 1, "counted")
        bridge.publish("/x", {"data": "still alive"})
        until(lambda: heard, "heard")
        assert client.counters.connections == 1


def test_a_handler_that_fails_ends_nothing(bridge: FakeBridge, until) -> None:
    heard: list[dict] = []

    def fragile(message: dict) -> None:
        heard.append(message)
        raise KeyError(message["data"])

    with BridgeClient(bridge.url) as client:
        client.subscribe("/x", "std_msgs/msg/String", fragile)
        until(lambda: bridge.opened, "subscribed")
        bridge.publish("/x", {"data": "first"})
        bridge.publish("/x", {"data": "second"})
        until(lambda: len(heard) == 2, "the second one")
        until(lambda: client.counters.malformed == 2, "counted")
        assert client.counters.connections == 1


def test_a_connection_that_is_away_says_why_how_long_and_how_often_it_was_tried(until) -> None:
    with FakeBridge() as bridge:
        client = BridgeClient(bridge.url)
        client.connect()
        assert client.outage is None
        bridge.drop()
    try:
        until(lambda: client.outage is not None and client.outage.tries >= 3, "three tries")
        outage = client.outage
        assert outage is not None
        assert "refused" in outage.reason or "Connect call failed" in outage.reason
        now = outage.since + 2.0
        assert outage.describe(now).startswith("away for 2.0 s (")
        assert f"{outage.tries} tries" in outage.describe(now)
        assert outage.next_try - outage.since < 2 * outage.tries, "it goes on trying once a second"
    finally:
        client.close()


def test_a_frame_beyond_the_limit_closes_the_connection(bridge: FakeBridge, until) -> None:
    with BridgeClient(bridge.url, max_message_bytes=10_000) as client:
        bridge.send_raw("x" * 20_000)
        until(lambda: client.counters.connections == 2, "a new connection")


def test_services_answer_fail_and_time_out(bridge: FakeBridge) -> None:
    bridge.services["/double"] = lambda request: {"value": 2 * request["value"]}
    with BridgeClient(bridge.url) as client:
        assert client.call_service("/double", "x/Double", {"value": 4}, timeout=5) == {"value": 8}
        with pytest.raises(WorldError, match="does not exist"):
            client.call_service("/nothing", "x/Double", {}, timeout=5)
        bridge.silent = True
        with pytest.raises(WorldError, match=r"no answer within 0\.2 s"):
            client.call_service("/double", "x/Double", {"value": 4}, timeout=0.2)


def test_a_call_in_flight_fails_when_the_connection_breaks(bridge: FakeBridge) -> None:
    def break_it(_: dict) -> dict:
        bridge.silent = True
        bridge.drop()
        return {}

    bridge.services["/break"] = break_it
    with BridgeClient(bridge.url) as client, pytest.raises(WorldError, match="broke while waiting"):
        client.call_service("/break", "x/Y", {}, timeout=10)


def test_an_action_goal_that_is_rejected_is_a_result(bridge: FakeBridge) -> None:
    def refuse(_: dict) -> dict:
        raise ValueError("joint names do not match")

    bridge.actions["/refuse"] = refuse
    bridge.actions["/go"] = lambda goal: {"error_code": 0, "got": goal["x"]}
    with BridgeClient(bridge.url) as client:
        taken = client.send_goal("/go", "x/Go", {"x": 3}, timeout=5)
        refused = client.send_goal("/refuse", "x/Go", {}, timeout=5)
    assert taken.accepted
    assert taken.values["got"] == 3
    assert not refused.accepted
    assert "do not match" in str(refused.values)


def test_no_server_is_told_with_what_to_do() -> None:
    client = BridgeClient("ws://127.0.0.1:1")
    with pytest.raises(WorldError, match="sim-arm"):
        client.connect(timeout=0.5)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1", "is ws://HOST:PORT or wss://HOST:PORT"),
        ("ws://", "is ws://HOST:PORT or wss://HOST:PORT"),
        ("ws://127.0.0.1:99999", "from 1 to 65535, got"),
        ("ws://127.0.0.1:bridge", "from 1 to 65535, got"),
    ],
)
def test_an_address_that_no_server_can_have_is_refused(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BridgeClient(url)


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[[str], Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def make(host: str) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        try:
            alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            alternative = x509.DNSName(host)
        now = dt.datetime.now(dt.UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        path = tmp_path / f"{host}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
        return path

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "trusted", "accepted"),
    [("127.0.0.1", True, True), ("127.0.0.1", False, False), ("robot.example", True, False)],
)
def test_certificates_are_verified(certificate, host: str, trusted: bool, accepted: bool) -> None:
    path = certificate(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with FakeBridge(tls=context) as bridge:
        client = BridgeClient(bridge.url, ca_file=str(path) if trusted else None)
        if accepted:
            client.connect(timeout=10)
            assert client.connected
            client.close()
        else:
            with pytest.raises(WorldError, match="CERTIFICATE_VERIFY_FAILED"):
                client.connect(timeout=1)
