"""Starts the simulated arm's node and a real bridge server beside it, and stops both."""

from __future__ import annotations

import contextlib
import importlib.util
import shlex
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from ...errors import MissingDependency, WorldError
from ..libero.suites import find_task
from .bridge_server import INSTALL, BridgeServer, ros_environment
from .client import BridgeClient


class SimProcess:
    """The simulated arm's node as a process of its own.

    Args:
        domain: ``ROS_DOMAIN_ID``.
        camera_hz: images per second; 0 for none.
        journal: where it writes what it received and how it moved; see `sim_node`.
        libero: put this LIBERO task behind the bridge instead of the Panda; see `libero_node`.
        log: where its output goes; None for this process's own.
        niceness: added to its own; for measurements, since a real arm does not take cores from its client.

    Raises:
        MissingDependency: the ROS wheels are not installed.
    """

    def __init__(
        self,
        *,
        domain: int,
        camera_hz: float = 20.0,
        journal: Path | None = None,
        libero: str | None = None,
        log: Path | None = None,
        niceness: int = 0,
    ) -> None:
        if importlib.util.find_spec("rclpy") is None:
            raise MissingDependency("rclpy", purpose="the simulated arm", install=INSTALL)
        options = ["--camera-hz", str(camera_hz)]
        if journal is not None:
            options += ["--journal", str(journal)]
        module = "sim_node"
        if libero is not None:
            module, options = "libero_node", ["--task", libero]
        self._command = [sys.executable, "-m", f"thinktwice.envs.ros.{module}", *options]
        if niceness:
            self._command = ["nice", "-n", str(niceness), *self._command]
        self._domain, self._log = domain, log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process, for faults in tests.

        Raises:
            WorldError: it was not started.
        """
        if self._process is None:
            raise WorldError("the simulated arm was not started.")
        return self._process

    def __enter__(self) -> Self:
        environment = ros_environment(self._domain)
        if self._log is None:
            self._process = subprocess.Popen(self._command, env=environment)
        else:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(self._command, env=environment, stdout=log, stderr=log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def run_simulated_arm(*, port: int, domain: int, camera_hz: float, libero: str | None = None) -> None:
    """Run node and server until interrupted; a server that ended, as when somebody tries that fault, is started again.

    Args:
        port: of the server, on loopback.
        domain: ``ROS_DOMAIN_ID``.
        camera_hz: images per second.
        libero: a LIBERO task instead of the Panda alone.

    Raises:
        WorldError: the port is taken, the node ended by itself, or the server cannot be started.
    """
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        raise WorldError(f"something listens on port {port} already, perhaps another sim-arm. Give another --port.")
    robot, policy = ("panda_sim", "wave") if libero is None else ("libero_sim", f"ros-expert:{libero}")
    node = SimProcess(domain=domain, camera_hz=camera_hz, libero=libero)
    with node as arm, BridgeServer(port=port, domain=domain) as server:
        _wait_for_joint_states(arm, server)
        sys.stdout.write(
            f"A simulated Panda moves behind {server.url} (ROS_DOMAIN_ID {domain}). Press Ctrl-C to stop.\n"
            f"In another terminal: thinktwice deploy --robot {robot} --bridge {server.url} --agent reflex "
            f"--policy {policy}\n"
        )
        if libero is not None:
            sys.stdout.write(
                "Or by sight: the same with --policy bundled --execute 8 --task "
                f"{shlex.quote(find_task(libero).language)}\n"
            )
        sys.stdout.flush()
        while True:
            _check_alive(arm, seconds=1)
            if server.process.poll() is not None:
                sys.stdout.write(f"the bridge server ended ({server.process.returncode}); it is started again\n")
                sys.stdout.flush()
                server.stop()
                server.start()


def _wait_for_joint_states(arm: SimProcess, server: BridgeServer) -> None:
    """A deployment waits some seconds for data, and a node may need longer to load on a slow machine."""
    heard = threading.Event()
    with BridgeClient(server.url) as client:
        client.subscribe("/joint_states", "sensor_msgs/msg/JointState", lambda _: heard.set())
        while not heard.is_set():
            _check_alive(arm, seconds=0.1)


def _check_alive(arm: SimProcess, *, seconds: float) -> None:
    """Watch the node for some seconds, and raise `WorldError` if it ends."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        raise WorldError(f"the simulated arm ended with status {arm.process.wait(timeout=seconds)}.")
