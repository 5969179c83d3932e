"""Python processes that end with the one that started them, and what is known of one that ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from .machine import cores

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def start(module: str, *, log: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a new interpreter on a module's ``main``, which gets the descriptor of its socket as its argument.

    Args:
        module: its full name.
        log: what the process prints is appended here.
        environment: its variables.

    Returns:
        The process, and this end of a socket of its own.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    program = f"from {module} import main; main()"
    ours, theirs = socket.socketpair()
    with theirs, log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-X", "faulthandler", "-c", program, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[theirs.fileno()],
            env=environment,
            # Its own group: Ctrl-C reaches the parent alone, and killing the group reaches the process's children.
            process_group=0,
        )
    return process, Connection(ours.detach())


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that `start` made and whatever it started, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def numeric_environment(threads: int) -> dict[str, str]:
    """The variables that decide what numeric libraries compute.

    They are read when numpy and torch are first loaded.  The number of threads changes the last bits of a matrix
    product, so it is fixed by the run and not by how many processes happen to share the machine.
    """
    return {
        **dict.fromkeys(_THREADS, str(threads)),
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONHASHSEED": "0",
    }


def environment(*, threads: int, sharing: int) -> dict[str, str]:
    """The variables of a process of a run on this machine.

    Args:
        threads: of its numeric libraries.
        sharing: how many processes render at once.
    """
    return {
        **os.environ,
        **numeric_environment(threads),
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "LP_NUM_THREADS": render_threads(sharing),
    }


def render_threads(sharing: int) -> str:
    """Threads of Mesa's software rasteriser per process, which draws the same pixels with any number of them.

    ``LP_NUM_THREADS`` where that is set, else the machine's cores shared out, at most 8.
    """
    return os.environ.get("LP_NUM_THREADS") or str(max(1, min(8, cores() // sharing)))


def how_it_ended(code: int) -> str:
    """A return code of `subprocess.Popen` for people."""
    if code < 0:
        try:
            return f"signal {-code}, {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def tail(log: Path, size: int = 2000) -> str:
    """The end of what a process printed."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read().decode(errors="replace").strip() or "(nothing)"
    except OSError as error:
        return f"(unreadable: {error})"


def die_with_parent(parent: int, connection: Connection) -> None:
    """End this process when the parent ends, however it ends.

    Args:
        parent: its process id.
        connection: to it.
    """
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG (1), see prctl(2): works even while native code holds the interpreter's lock.
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(connection.fileno(),), daemon=True).start()


def _watch(descriptor: int) -> None:
    # The hang-up of the other end is reported without asking for it, and reads nothing.
    poll = select.poll()
    poll.register(descriptor, 0)
    poll.poll()
    os._exit(1)
