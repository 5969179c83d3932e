"""``thinktwice sim-arm``: a simulated Panda as a real ROS 2 node behind a real rosbridge server."""

from __future__ import annotations

import dataclasses
import signal
import sys
from collections.abc import Sequence

import tyro

from ..envs.ros.sim_launch import run_simulated_arm


@dataclasses.dataclass(frozen=True, kw_only=True)
class SimArmArgs:
    """Start a simulated Panda and a rosbridge server on this machine, from PyPI wheels: no ROS installation."""

    port: int = 9090
    """Where the rosbridge server listens, on the loopback interface alone."""
    domain: int = 42
    """ROS_DOMAIN_ID; nodes of other domains do not see the arm."""
    camera_hz: float = 20.0
    """Images per second; 0 for none."""
    libero: str | None = None
    """Put a LIBERO task behind the bridge, such as libero_object/0, and judge its success."""


def main(arguments: Sequence[str]) -> int:
    """Run until interrupted."""
    args = tyro.cli(SimArmArgs, prog="thinktwice sim-arm", args=list(arguments))
    # A polite kill must end the node and the server too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_simulated_arm(port=args.port, domain=args.domain, camera_hz=args.camera_hz, libero=args.libero)
    except KeyboardInterrupt:
        sys.stdout.write("\nstopped\n")
    return 0
