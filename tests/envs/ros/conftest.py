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
from thinktwice.envs.ros.sim_faults import FAULTS, FaultControl
from thinktwice.errors import WorldError

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
    """A simulated arm as a real ROS 2 node, a real bridge server, and somebody beside the arm."""

    sim: SimProcess
    server: BridgeServer
    journal: Journal
    domain: int
    control: FaultControl
    bystander: BridgeClient

    def fault(self, name: str) -> None:
        """Make the arm's node misbehave, and wait until it says that it does."""
        self.control.set(FAULTS[name][0], timeout=60)

    def release(self) -> None:
        """Release the robot's own e-stop."""
        deadline = time.monotonic() + 60
        while True:
            try:
                # What is sent before the two sides have met is lost.
                self.bystander.call_service("/estop", "std_srvs/srv/SetBool", {"data": False}, timeout=2)
            except WorldError:
                assert time.monotonic() < deadline, "the robot's e-stop was not released"
                time.sleep(0.1)
            else:
                return

    def heal(self) -> None:
        """Bring both back to how they were started."""
        self.sim.process.send_signal(signal.SIGCONT)
        if self.server.process.poll() is None:
            self.server.process.send_signal(signal.SIGCONT)
        else:
            self.server.stop()
            self.server.start()
        self.fault("none")
        self.release()


_DOMAINS = itertools.count(1 + os.getpid() % 80)


@pytest.fixture(scope="session")
def shared_sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SimProcess, BridgeServer, Journal, int]]:
    pytest.importorskip("rclpy", reason="needs the extra: pip install -c constraints.txt -e '.[ros]'")
    folder, domain = tmp_path_factory.mktemp("sim_arm"), next(_DOMAINS)
    journal = folder / "journal.jsonl"
    with (
        SimProcess(domain=domain, camera_hz=10, journal=journal, log=folder / "node.log") as sim,
        BridgeServer(domain=domain) as server,
    ):
        yield sim, server, Journal(journal), domain


@pytest.fixture(scope="module")
def shared_peers(shared_sim: tuple[SimProcess, BridgeServer, Journal, int]) -> Iterator[Peers]:
    # Of a module and no more: a client's thread draws random numbers, which Hypothesis takes for a test's own.
    sim, server, journal, domain = shared_sim
    with FaultControl(server.url) as control, BridgeClient(server.url) as bystander:
        yield Peers(sim=sim, server=server, journal=journal, domain=domain, control=control, bystander=bystander)


@pytest.fixture
def peers(shared_peers: Peers) -> Iterator[Peers]:
    """Both, in order: they are started once, and whatever a test did to them is undone after it."""
    yield shared_peers
    shared_peers.heal()


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
