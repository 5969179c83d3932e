"""The connection to a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Generator
from typing import Any

from ...errors import MissingDependency, UsageError, install_line

_REACHED_WITHIN = 10.0


def load_ray() -> Any:
    """The module ``ray``, with its usage statistics off.

    Raises:
        MissingDependency: it is not installed.
    """
    # Read when ray is imported and when it starts a cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingDependency("ray", purpose="--engine ray", install=install_line("ray")) from error
    return ray


@contextlib.contextmanager
def connected(address: str | None) -> Generator[Any]:
    """Be connected to a cluster: the one at the address, or one that is started on this machine.

    A connection that is there already is used and kept.

    Args:
        address: ``HOST:PORT`` of its head, or ``auto`` for the one that this machine belongs to; None to start one.

    Yields:
        The module ``ray``.

    Raises:
        MissingDependency: ray is not installed.
        UsageError: there is no cluster at the address.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    _check_reachable(address)
    try:
        # Only a cluster that is started can be told to do without a dashboard.
        started = {"include_dashboard": False} if address is None else {}
        ray.init(address=address or "local", logging_level=logging.ERROR, log_to_driver=False, **started)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _absent(address, error) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Raise `UsageError` when nothing listens there: Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdecimal() or "://" in host:
        return
    try:
        socket.create_connection((host, int(port)), timeout=_REACHED_WITHIN).close()
    except OSError as error:
        raise _absent(address, error) from error


def _absent(address: str | None, error: Exception) -> UsageError:
    where = f"at {address}" if address else "on this machine"
    return UsageError(
        f"there is no Ray cluster {where} ({' '.join(str(error).split())[:300]}). Start one with `ray start --head`, "
        "and give --address HOST:PORT, or auto on a machine that belongs to it."
    )


def gpus(address: str | None) -> tuple[str, ...]:
    """One name for each GPU that the cluster has now.

    Raises:
        MissingDependency: ray is not installed.
        UsageError: there is no cluster at the address.
    """
    with connected(address) as ray:
        return tuple(str(number) for number in range(int(ray.cluster_resources().get("GPU", 0))))
