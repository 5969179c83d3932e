"""``thinktwice sim-fault NAME``: raise a fault of the simulated arm while it runs, and clear it again."""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections.abc import Sequence
from typing import Annotated

import tyro

from ..envs.ros.sim_faults import FAULTS, FaultControl
from ..errors import UsageError, choices

_HELP = "The fault. " + "; ".join(f"{name}: {what}" for name, (_, what) in FAULTS.items()) + "."


@dataclasses.dataclass(frozen=True, kw_only=True)
class SimFaultArgs:
    """Make a running `thinktwice sim-arm` misbehave, to see what `thinktwice deploy` does about it."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=_HELP)]
    after: float = 0.0
    """Wait so many seconds first."""
    duration: Annotated[float | None, tyro.conf.arg(name="for")] = None
    """End it after so many seconds; until `thinktwice sim-fault none` when not given."""
    port: int = 9090
    """The port that sim-arm was given."""


def main(arguments: Sequence[str]) -> int:
    """Raise the fault, wait, and clear it.

    Raises:
        UsageError: there is no fault of that name, or nobody can wait so long.
        WorldError: there is no simulated arm at that port.
    """
    args = tyro.cli(SimFaultArgs, prog="thinktwice sim-fault", args=list(arguments))
    if args.name not in FAULTS:
        raise UsageError(f"there is no fault {args.name!r}. {choices(args.name, FAULTS, limit=len(FAULTS))}")
    for flag, seconds in (("--after", args.after), ("--for", args.duration)):
        if seconds is not None and not 0 <= seconds < math.inf:
            raise UsageError(f"{flag} must be seconds, 0 or more, got {seconds:g}.")
    faults, what = FAULTS[args.name]
    with FaultControl(f"ws://127.0.0.1:{args.port}") as control:
        time.sleep(args.after)
        control.set(faults)
        _say(f"{args.name}: {what}")
        if args.duration is None:
            return 0
        try:
            time.sleep(args.duration)
        finally:
            control.set(FAULTS["none"][0])
            _say(f"none: {FAULTS['none'][1]}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
