"""Fakes and real peers for the tests of the ROS arm."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.envs.ros import (
    BridgeClient,
    BridgeServer,
    FakeArm,
    FakeBridge,
    Robot,
    RosArmEnv,
    SimProcess,
    load_robot,
    parse_robot,
)

# A pose over the table, in the middle of the workspace.
HOME = np.array([0.0, 0.19635, 0.0, -2.61799, 0.0, 2.94159, 0.785398])


@pytest.fixture
def until() -> Callable[..., None]:
    """Waits for a condition; a test fails when it never comes true."""

    def wait(condition: Callable[[], object], what: str, timeout: float = 20.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"never came true: {what}"
            time.sleep(0.005)

    return wait


@pytest.fixture
def patient_panda() -> Robot:
    """The shipped Panda with staleness limits that a loaded two-core machine keeps, and no wait for images."""
    data = load_robot("panda_sim").model_dump(mode="json")
    data["joint_states"]["max_age_ms"] = 1500
    data["joints"]["acceleration"], data["joints"]["jerk"] = [100.0] * 7, None
    data["cameras"] = {}
    return parse_robot(data)


@pytest.fixture
def bridge() -> Iterator[FakeBridge]:
    with FakeBridge() as running:
        running.services["/reset"] = lambda _: {"success": True}
        yield running


@pytest.fixture
def fake_arm(bridge: FakeBridge, patient_panda: Robot) -> Iterator[FakeArm]:
    with FakeArm(bridge, patient_panda, HOME) as arm:
        yield arm


@pytest.fixture
def arm_env(bridge: FakeBridge, fake_arm: FakeArm, patient_panda: Robot) -> Iterator[RosArmEnv]:
    env = RosArmEnv(patient_panda, bridge.url, task="wave")
    yield env
    env.close()


class Journal:
    """What the simulated arm itself says it received and how it moved, independent of any bridge."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self, since: float = 0.0) -> list[dict[str, Any]]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        read = []
        for line in lines:
            with contextlib.suppress(json.JSONDecodeError):  # the last line may be half written
                read.append(json.loads(line))
        return [entry for entry in read if entry["time"] > since]

    def accepted(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Trajectories that the arm followed."""
        return [e for e in self.entries(since) if e.get("command") == "trajectory" and e["verdict"] == "accepted"]

    def travel(self, since: float, until: float) -> float:
        """The furthest that any joint moved between two times, in rad."""
        moments = [e for e in self.entries() if "position" in e]
        within = [e for e in moments if since < e["time"] <= until]
        if not within:
            # A peer that was stopped can stall the arm's own publisher: compare the moments around the gap.
            within = [e for e in moments if e["time"] <= since][-1:] + [e for e in moments if e["time"] > until][:1]
        assert within, "the arm wrote no positions"
        places = [e["position"] for e in within]
        return float(np.ptp(np.array(places), axis=0).max())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Peers:
    """A simulated arm as a real ROS 2 node, and a real bridge server."""

    sim: SimProcess
    server: BridgeServer
    journal: Journal
    domain: int

    def fault(self, **faults: Any) -> None:
        """Make the arm's node misbehave, and wait until it says that it does."""
        began = time.time()
        with BridgeClient(self.server.url) as client:
            client.advertise("/sim/fault", "std_msgs/msg/String")
            while time.time() < began + 60:
                # A publisher that was just announced may not have met its subscriber yet.
                client.publish("/sim/fault", {"data": json.dumps(faults)})
                time.sleep(0.1)
                if any("fault" in entry for entry in self.journal.entries(began)):
                    return
        raise AssertionError("the simulated arm never heard of the fault")


_DOMAINS = itertools.count(1 + os.getpid() % 80)


@pytest.fixture(scope="session")
def shared_sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SimProcess, Journal, int]]:
    pytest.importorskip("rclpy", reason="needs the extra: pip install -c constraints.txt -e '.[ros]'")
    folder, domain = tmp_path_factory.mktemp("sim_arm"), next(_DOMAINS)
    journal = folder / "journal.jsonl"
    with SimProcess(domain=domain, camera_hz=10, journal=journal, log=folder / "node.log") as process:
        yield process, Journal(journal), domain


@pytest.fixture
def peers(shared_sim: tuple[SimProcess, Journal, int]) -> Iterator[Peers]:
    sim, journal, domain = shared_sim
    with BridgeServer(domain=domain) as server:
        yield Peers(sim=sim, server=server, journal=journal, domain=domain)
        sim.process.send_signal(signal.SIGCONT)
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)
        else:
            server.start()
        healthy = Peers(sim=sim, server=server, journal=journal, domain=domain)
        healthy.fault()
        with BridgeClient(server.url) as client:
            client.call_service("/estop", "std_srvs/srv/SetBool", {"data": False}, timeout=20)


@pytest.fixture
def real_panda() -> Robot:
    """The shipped Panda without cameras, and with limits that a loaded two-core machine keeps."""
    data = load_robot("panda_sim").model_dump(mode="json")
    data["joint_states"]["max_age_ms"] = 600
    data["timing"]["decision_timeout_s"] = 5.0
    # After a tick that a starved machine missed, the first command is compared with an arm that still lags.
    data["joints"]["acceleration"] = [100.0] * 7
    data["joints"]["jerk"] = None
    data["cameras"] = {}
    return parse_robot(data)


@pytest.fixture
def seeing_panda(real_panda: Robot) -> Robot:
    """The same with its camera."""
    data = real_panda.model_dump(mode="json")
    data["cameras"] = load_robot("panda_sim").model_dump(mode="json")["cameras"]
    data["cameras"]["front"]["max_age_ms"] = 2000
    return parse_robot(data)
