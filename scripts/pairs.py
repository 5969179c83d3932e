"""``thinktwice pairs WORLD --policy … --out DIR``: preference pairs of a policy's candidates, without annotation."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from ..agents.pairs.collector import CollectorOptions
from ..agents.pairs.contract import LabelOptions
from ..agents.pairs.labelling import Counts
from ..agents.pairs.offline import OfflineOptions
from ..errors import ConfigError, UsageError
from ..rollouts.pairs import PairOptions, collect_pairs, label_folder
from ..rollouts.progress import ShownProgress

_PROGRAM = "thinktwice pairs"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairsArgs(PairOptions, CollectorOptions, LabelOptions):
    """Make preference pairs for a critic: play a policy, and label the candidates of its decisions.

    Placements are fresh ones alone, so that stored initial states stay for evaluation.  A collection that was stopped
    continues with --resume, which also makes the labels anew.
    """

    world: tyro.conf.Positional[str]
    """The world, such as libero_object."""
    data: Path | None = None
    """Play nothing: label recorded data by --source steps.  frames/ of thinktwice demos, or a LeRobotDataset."""
    every: int = 8
    """With --data: every how many frames are labelled."""


def main(arguments: Sequence[str]) -> int:
    """Collect, label, and say what came of it.

    Returns:
        0 when it is done, 130 when it was interrupted.
    """
    args = tyro.cli(PairsArgs, prog=_PROGRAM, args=list(arguments))
    try:
        counts = _offline(args, args.data) if args.data is not None else _played(args)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was finished is kept; give the same command with --resume to continue.\n")
        return 130
    sys.stdout.write(
        f"pairs     {counts.pairs} of {counts.states} decisions in {len(counts.tasks)} tasks: {args.out}\n"
        f"dropped   {counts.ties} ties, {counts.identical} of equal chunks, {counts.repeated} repeated decisions, "
        f"{counts.undecided} decisions without a pair\n"
        f"train     thinktwice train critic --data {args.out} --out DIR\n"
    )
    return 0


def _played(args: PairsArgs) -> Counts:
    return collect_pairs(
        args.world,
        _part(args, PairOptions),
        _part(args, CollectorOptions),
        _part(args, LabelOptions),
        progress=ShownProgress(),
    )


def _offline(args: PairsArgs, data: Path) -> Counts:
    if args.source != "steps":
        raise ConfigError(f"recorded data can be labelled by --source steps alone, not by {args.source!r}.")
    if args.policy is None:
        raise UsageError("say whose candidates are labelled: --policy bundled:FOLDER, lerobot:FOLDER, …")
    offline = OfflineOptions(
        policy=args.policy, candidates=args.candidates, every=args.every, step_samples=args.step_samples
    )
    return label_folder(args.world, data, _part(args, PairOptions), offline, _part(args, LabelOptions), progress=_say)


def _say(done: int, total: int) -> None:
    sys.stderr.write(f"\rlabelled {done} of {total} episodes" + ("\n" if done == total else ""))


def _part[T](args: PairsArgs, options: type[T]) -> T:
    names = [field.name for field in dataclasses.fields(options)]  # pyright: ignore[reportArgumentType]  a dataclass
    return options(**{name: getattr(args, name) for name in names})
