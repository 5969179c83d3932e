"""``thinktwice calibrate RUN…``: the clutch's threshold from recorded rollouts of one checkpoint."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ..agents.attc import Clutch
from ..agents.attc.build import GRIPPER_WEIGHT
from ..errors import ConfigError
from ..rollouts import open_run
from ..rollouts.calibration import Target, calibrate, write_clutch

PERCENTILE = 80.0
"""The paper's."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Find the threshold above which VLA-ATTC deliberates, from recorded rollouts of one checkpoint.

    Record them with: thinktwice rollout WORLD --agent attc --policy POLICY --execute 8 --gate dtw --observe --out RUN
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="RUN…"), tyro.conf.Positional]
    """Run folders of --agent attc, all with the same checkpoint and the same --execute."""
    out: Path
    """The clutch file to write; --agent attc reads it with --clutch."""
    gate: Literal["dtw", "pairwise", "temporal", "velocity", "critic"] = "dtw"
    """The measure of doubt. All but velocity and critic are computed again from the recorded candidates."""
    percentile: float | None = None
    """The threshold is this percentile of all decisions' doubts; 80, as in the paper, when no target is given."""
    rate: float | None = None
    """The largest share of decisions that may deliberate, from 0 to 1."""
    conformal: Literal["false-alarms", "misses"] | None = None
    """false-alarms: an episode that the reflex solves deliberates at all with probability alpha at most; misses: one
    that it fails never deliberates with probability alpha at most."""
    alpha: float = 0.1
    """With --conformal."""
    gate_candidates: int = 2
    """Candidates that --gate pairwise compares."""
    gripper_weight: float = GRIPPER_WEIGHT
    """Weight of the gripper's entries in distances."""
    scale: bool = True
    """Divide each entry by its standard deviation over the executed actions; --no-scale takes them as they are."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the status is 0 when the file was written."""
    options = tyro.cli(CalibrateOptions, prog="thinktwice calibrate", args=arguments)
    runs = [open_run(path) for path in options.runs]
    for run in runs:
        if not run.finished:
            sys.stderr.write(f"note: {run.path} is unfinished ({len(run.episodes)} of {len(run.planned)} episodes)\n")
    clutch = calibrate(
        runs,
        gate=options.gate,
        target=_target(options),
        gripper_weight=options.gripper_weight,
        candidates=options.gate_candidates,
        scaled=options.scale,
    )
    write_clutch(options.out, clutch)
    sys.stdout.write(_summary(clutch, options.out))
    return 0


def _target(options: CalibrateOptions) -> Target:
    given = [name for name in ("percentile", "rate", "conformal") if getattr(options, name) is not None]
    if len(given) > 1:
        raise ConfigError(f"give one target, not both --{given[0]} and --{given[1]}.")
    if options.conformal is not None:
        return Target(kind=options.conformal, value=options.alpha)
    if options.rate is not None:
        return Target(kind="rate", value=options.rate)
    return Target(kind="percentile", value=PERCENTILE if options.percentile is None else options.percentile)


def _summary(clutch: Clutch, out: Path) -> str:
    quantiles = ", ".join(f"{share}: {doubt:.4g}" for share, doubt in clutch.quantiles.items())
    return (
        f"{clutch.measure.name} above {clutch.threshold:.4g} deliberates at {clutch.rate:.1%} of the "
        f"{clutch.decisions} decisions in {clutch.episodes} episodes that it was calibrated on\n"
        f"quantiles of doubt  {quantiles}\n"
        f"clutch  {out}\n"
    )
