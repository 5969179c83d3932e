"""Actions over a real rosbridge server, with the e-stop beside them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from thinktwice.envs.ros import ActionResult, BridgeClient, EmergencyStop, load_robot, ros_environment
from thinktwice.errors import WorldError

pytestmark = pytest.mark.sim

FIBONACCI = ("/fibonacci", "test_msgs/action/Fibonacci")


def meet(client: BridgeClient) -> None:
    """Send goals until one is taken: what is sent before the bridge and the action server have met is lost."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(WorldError):
            if client.send_goal(*FIBONACCI, {"order": 1}, timeout=1).accepted:
                return
    raise AssertionError("the bridge never met the action server")


def test_a_goal_is_taken_or_rejected_and_never_blocks_the_estop(peers, tmp_path: Path) -> None:
    finish = tmp_path / "finish"
    node = Path(__file__).with_name("fibonacci_node.py")
    environment = ros_environment(peers.domain)
    with subprocess.Popen(
        [sys.executable, str(node), str(finish)], env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            panda = load_robot("panda_sim")
            estop = EmergencyStop(panda.estop, peers.server.url, ros=2, name="panda")
            estop.connect(timeout=20)
            assert estop.press(timeout=20) is True, "the first call makes the two sides meet"
            with BridgeClient(peers.server.url) as client:
                meet(client)
                results: list[ActionResult] = []
                long = threading.Thread(
                    target=lambda: results.append(client.send_goal(*FIBONACCI, {"order": 4}, timeout=60))
                )
                long.start()
                assert estop.press(timeout=20) is True
                assert not results, "the e-stop did not wait for the action"
                finish.touch()
                long.join()
                refused = client.send_goal(*FIBONACCI, {"order": 99}, timeout=60)
            estop.close()
        finally:
            server.kill()
    assert results[0].accepted
    assert list(results[0].values["sequence"]) == [0, 1, 1, 2]
    assert not refused.accepted
