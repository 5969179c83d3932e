"""What this machine has: cores, free memory and GPUs, asked without loading anything that computes."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

_DEVICE = re.compile(r"nvidia(\d+)")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> float | None:
    """Bytes that new processes can use, within the control group's limit; None where the system does not say."""
    with contextlib.suppress(OSError, StopIteration, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = 1024.0 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
        return min(free, _within_group())
    return None


def _within_group(group: Path = Path("/sys/fs/cgroup")) -> float:
    """What a container's limit leaves (cgroup v2)."""
    with contextlib.suppress(OSError, ValueError):
        # The cache of files counts as used and is given up when it is needed.
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        used = int((group / "memory.current").read_text()) - int(statistics["inactive_file"])
        return float(int((group / "memory.max").read_text()) - used)
    return float("inf")


def gpus() -> tuple[str, ...]:
    """NVIDIA's GPUs as ``CUDA_VISIBLE_DEVICES`` names them: those that it lists, or all."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        listed = [name.strip() for name in visible.split(",")]
        # CUDA ignores everything from the first invalid entry on, which is how -1 hides all.
        return tuple(name for name in listed if name) if listed[0] not in ("-1", "") else ()
    found = (_DEVICE.fullmatch(path.name) for path in Path("/dev").glob("nvidia*"))
    return tuple(sorted((match[1] for match in found if match), key=int))
