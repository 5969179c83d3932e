"""Calibrating the clutch: from recorded rollouts of one checkpoint to the threshold that reaches a target.

Doubt is computed again from the candidates that the rollouts recorded, so that one set of rollouts serves several gates
and weights.  What asks a network, the velocity and the critic gate, is taken as recorded.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from ..agents import Proposal
from ..agents.attc import (
    COMMITTED,
    ChunkMetric,
    Clutch,
    Measure,
    MeasureSettings,
    action_weights,
    build_measure,
    policy_fingerprint,
)
from ..envs import Array, Conventions
from ..envs.split import split_of
from ..errors import ConfigError
from .files import write_atomically
from .records import Run
from .traces import Trace, TracedDecision

type TargetKind = Literal["percentile", "rate", "false-alarms", "misses"]

_RECORDED = ("velocity", "critic")
"""Gates whose doubt cannot be computed from candidates."""

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """What the threshold shall reach.

    Attributes:
        kind: ``percentile``: the K-th percentile of all decisions' doubts (the paper's, K = 80).  ``rate``: the least
            threshold that no larger share of the decisions is above.  ``false-alarms``: split conformal over episodes:
            a new episode that the reflex solves deliberates at all with a probability of at most the value.
            ``misses``: a new episode in which it fails never deliberates with a probability of at most the value.
        value: the percentile from 0 to 100, or the share from 0 to 1.
    """

    kind: TargetKind
    value: float

    def __post_init__(self) -> None:
        """Check the value.

        Raises:
            ConfigError: it is outside its range.
        """
        top = 100.0 if self.kind == "percentile" else 1.0
        if not 0.0 < self.value < top:
            raise ConfigError(f"{self.kind} must lie between 0 and {top:g}, got {self.value}.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpisodeDoubts:
    """The doubts of one episode.

    Attributes:
        doubts: ``float64[D]``, one per decision.
        success: whether the task was solved.
    """

    doubts: Array
    success: bool


def calibrate(
    runs: Sequence[Run],
    *,
    gate: str,
    target: Target,
    gripper_weight: float,
    candidates: int = 2,
    scaled: bool = True,
) -> Clutch:
    """The clutch that reaches a target on recorded rollouts.

    Args:
        runs: rollouts of ``--agent attc`` with one checkpoint; such as those with ``--observe``.
        gate: the measure of doubt.
        target: what the threshold shall reach.
        gripper_weight: of the gripper's entries.
        candidates: how many candidates ``pairwise`` compares.
        scaled: divide each entry by its standard deviation over all executed actions.

    Raises:
        ConfigError: the runs are of several policies or of another agent, lack what the gate reads, hold episodes that
            are kept for reporting, are too few, or show no doubt that varies.
        RecordError: a trace is missing or damaged.
        UsageError: there is no such gate.
    """
    policy, execute, conventions = _common(runs)
    _check_split(runs)
    traces = [(run.trace(record.key), record.status) for run in runs for record in run.episodes]
    judged = [(trace, status == "success") for trace, status in traces if status != "error"]
    if not judged:
        raise ConfigError(f"{_names(runs)} hold no episode that came to an end. Record rollouts first.")
    if gate in _RECORDED:
        settings = _recorded_settings(runs, gate)
        episodes = [EpisodeDoubts(doubts=_recorded(trace), success=solved) for trace, solved in judged]
    else:
        scale = np.concatenate([trace.actions for trace, _ in judged]).std(axis=0, dtype=np.float64) if scaled else None
        weights = action_weights(
            conventions.action, scale=None if scale is None else scale.tolist(), gripper=gripper_weight
        )
        metric = ChunkMetric(weights=weights, execute=execute)
        settings = MeasureSettings(name=gate, metric=metric, gripper_weight=gripper_weight, candidates=candidates)
        measure = build_measure(settings, None)
        episodes = [EpisodeDoubts(doubts=_computed(trace, measure), success=solved) for trace, solved in judged]
    doubts = np.concatenate([episode.doubts for episode in episodes])
    if np.ptp(doubts) == 0:
        raise ConfigError(
            f"the doubt is {doubts[0]:g} at each of the {len(doubts)} decisions, so no threshold tells them apart: the "
            "policy gives one answer to one observation, or the gate cannot see how its answers differ."
        )
    threshold = threshold_for(target, episodes)
    return Clutch(
        measure=settings,
        threshold=threshold,
        policy=policy,
        target={target.kind: target.value},
        rate=float((doubts > threshold).mean()),
        episodes=len(episodes),
        decisions=len(doubts),
        quantiles={f"{share:g}": float(np.quantile(doubts, share)) for share in _QUANTILES},
    )


def threshold_for(target: Target, episodes: Sequence[EpisodeDoubts]) -> float:
    """The threshold that reaches the target.

    The conformal ones are the split-conformal quantiles (Vovk, Gammerman and Shafer 2005) of an episode's largest
    doubt, because episodes are exchangeable and the decisions within one are not.

    Raises:
        ConfigError: there are too few episodes for the guarantee.
    """
    if target.kind in ("percentile", "rate"):
        doubts = np.concatenate([episode.doubts for episode in episodes])
        if target.kind == "percentile":
            return float(np.percentile(doubts, target.value))
        return float(np.quantile(doubts, 1.0 - target.value, method="inverted_cdf"))
    solved = target.kind == "false-alarms"
    largest = np.sort([episode.doubts.max() for episode in episodes if episode.success == solved])
    count = len(largest)
    # The k-th of n is not exceeded by a new one with probability k / (n + 1), ties aside.
    rank = math.ceil((count + 1) * (1 - target.value)) if solved else math.floor((count + 1) * target.value)
    if not 1 <= rank <= count:
        needed = math.ceil(1 / target.value) - 1
        raise ConfigError(
            f"{target.kind} {target.value:g} needs at least {needed} {'solved' if solved else 'failed'} episodes, the "
            f"runs have {count}. Record more, or allow more than {target.value:g}."
        )
    return float(largest[rank - 1])


def write_clutch(path: Path, clutch: Clutch) -> None:
    """Write a clutch file, complete or not at all.

    Raises:
        RecordError: it cannot be written.
    """
    text = json.dumps(clutch.to_json(), indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def _common(runs: Sequence[Run]) -> tuple[dict[str, Any], int | None, Conventions]:
    """What must be the same in all runs: the policy's fingerprint, how much is executed, and the conventions."""
    if not runs:
        raise ConfigError("give at least one run folder to calibrate on.")
    found: list[tuple[dict[str, Any], int | None, Conventions]] = []
    for run in runs:
        if run.agent.get("agent") != "attc":
            raise ConfigError(
                f"{run.path} was recorded by the agent {run.config['agent']!r}, which records no candidates. "
                "Record rollouts with --agent attc --gate dtw --observe."
            )
        policy = policy_fingerprint(cast("dict[str, Any]", run.agent["policy"]))
        found.append((policy, run.agent["execute"], Conventions.from_json(run.manifest["conventions"])))
    for run, (policy, execute, conventions) in zip(runs, found, strict=True):
        if policy != found[0][0]:
            raise ConfigError(
                f"{runs[0].path} and {run.path} are of different checkpoints or samplers: calibrate apart."
            )
        if execute != found[0][1] or conventions.action != found[0][2].action:
            raise ConfigError(f"{runs[0].path} and {run.path} execute chunks differently: calibrate apart.")
    return found[0]


def _check_split(runs: Sequence[Run]) -> None:
    """Raise `ConfigError` for episodes that are kept for reporting: a threshold must not be chosen on them."""
    for run in runs:
        for record in run.episodes:
            if (split := split_of(record.episode)) in ("reporting", "untouched"):
                raise ConfigError(
                    f"{run.path} holds {record.key}: its initial state {record.episode.init_state} belongs to the "
                    f"split {split!r}, on which nothing is calibrated. Record rollouts of tuning states (LIBERO: "
                    "--init-states tuning) or of fresh placements."
                )


def _computed(trace: Trace, measure: Measure) -> Array:
    return np.array([_doubt(decision, measure, trace) for decision in trace.decisions])


def _doubt(decision: TracedDecision, measure: Measure, trace: Trace) -> float:
    several = len(decision.candidates) > 0
    chunks = np.asarray(decision.candidates if several else [decision.chunk])
    if len(chunks) < measure.candidates_needed:
        raise ConfigError(
            f"decision {decision.index} of episode {trace.episode.key} recorded {len(chunks)} candidates and the gate "
            f"compares {measure.candidates_needed}. Record rollouts with a gate that proposes as many, such as --gate "
            "pairwise --gate-candidates N --observe."
        )
    notes = {COMMITTED: decision.notes[COMMITTED]} if COMMITTED in decision.notes else {}
    return measure(Proposal(chunks=chunks, notes=notes))


def _recorded(trace: Trace) -> Array:
    return np.array([decision.doubt for decision in trace.decisions], float)


def _recorded_settings(runs: Sequence[Run], name: str) -> MeasureSettings:
    """The gate's settings as the runs were recorded with it."""
    recorded = [cast("dict[str, Any]", run.agent["gate"]) for run in runs]
    of_one = ("metric", "candidates", "critic")
    for run, gate in zip(runs, recorded, strict=True):
        if gate["name"] != name or any(gate.get(key) != recorded[0].get(key) for key in of_one):
            raise ConfigError(
                f"{run.path} did not record the {name} gate's doubt, or with other settings. Its doubt cannot be "
                f"computed from candidates: record rollouts with --gate {name} --observe."
            )
    gate = recorded[0]
    return MeasureSettings(
        name=name,
        metric=ChunkMetric(weights=tuple(gate["metric"]["weights"]), execute=gate["metric"]["execute"]),
        gripper_weight=gate["gripper_weight"],
        candidates=gate["candidates"],
        critic=gate.get("critic"),
    )


def _names(runs: Sequence[Run]) -> str:
    return ", ".join(str(run.path) for run in runs)
