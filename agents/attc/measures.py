"""Measures of doubt: how sure a policy is of what it proposes, read from its own candidates.

| name | doubt | candidates | what it costs besides |
| --- | --- | --- | --- |
| ``dtw`` | cumulative dynamic-time-warping cost between two chunks (the paper's) | 2 | nothing |
| ``pairwise`` | mean distance between any two of the chunks | 2 or more | nothing |
| ``temporal`` | distance of the chunk's beginning to the unexecuted tail of the one before | 1 | nothing |
| ``velocity`` | how much the flow's velocity changes on the way from noise to actions | 1 | evaluations of the field |
| ``random`` | a number in [0, 1) that knows nothing: the control at a matched rate | 1 | nothing |

(The gate ``critic`` measures no distance: see `thinktwice.agents.attc.gates.CriticGate`.)

A measure is a pure function of a proposal.  What it needs of the episode's past, the agent puts into the proposal's
notes under `COMMITTED`.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...envs import Array, derive_seed
from ...errors import ConfigError, UsageError, choices, require
from ..policy import Policy, Proposal
from .distances import ChunkMetric, dtw_cost, tail_distances

COMMITTED = "committed"
"""The note with the previous chunk's unexecuted tail, ``float32[K, A]``; absent at an episode's first decision."""

MEASURES = ("dtw", "pairwise", "temporal", "velocity", "random")


@runtime_checkable
class Measure(Protocol):
    """Doubt about a proposal, in the measure's own unit."""

    @property
    def candidates_needed(self) -> int:
        """How many candidates it reads."""
        ...

    @property
    def evaluations(self) -> int:
        """Evaluations of the policy's action head for one doubt, beside those of the candidates."""
        ...

    def __call__(self, proposal: Proposal) -> float:
        """Doubt: finite, larger is more doubtful.

        Raises:
            ContractError: a candidate is not finite, or no vectors of the metric's size.
        """
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class DtwMeasure:
    """The paper's clutch: the cumulative DTW cost between the first two candidates."""

    metric: ChunkMetric
    candidates_needed: int = 2
    evaluations: int = 0

    def __call__(self, proposal: Proposal) -> float:
        """In weighted action units, summed along the alignment."""
        first, second = self.metric.weigh(proposal.chunks[:2])
        return dtw_cost(first, second)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairwiseMeasure:
    """The mean distance between any two of the first candidates, action by action."""

    metric: ChunkMetric
    candidates_needed: int = 2
    evaluations: int = 0

    def __call__(self, proposal: Proposal) -> float:
        """In weighted action units, per action."""
        weighed = self.metric.weigh(proposal.chunks[: self.candidates_needed])
        pairs = itertools.combinations(weighed, 2)
        return float(np.mean([np.linalg.norm(a - b, axis=-1).mean() for a, b in pairs]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TemporalMeasure:
    """How far the reflex departs from what the chunk before would have gone on with; it needs no second candidate.

    Without a previous chunk, or when that was executed whole, there is nothing to depart from and the doubt is 0.
    """

    metric: ChunkMetric
    candidates_needed: int = 1
    evaluations: int = 0

    def __call__(self, proposal: Proposal) -> float:
        """In weighted action units, per action."""
        weighed = self.metric.weigh(proposal.chunks[:1])
        committed = proposal.notes.get(COMMITTED)
        if committed is None:
            return 0.0
        (tail,) = self.metric.weigh(committed[None])
        return float(tail_distances(weighed, tail)[0])


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomMeasure:
    """A uniform number that depends on the first candidate's bits and on nothing that they mean.

    Opening above ``1 - rate`` deliberates at that rate, whatever the doubt: what a gate must beat.
    """

    candidates_needed: int = 1
    evaluations: int = 0

    def __call__(self, proposal: Proposal) -> float:
        """In [0, 1)."""
        bits = np.ascontiguousarray(proposal.chunks[0]).tobytes()
        return float(np.random.default_rng(derive_seed("random gate", bits)).random())


@runtime_checkable
class HasVelocity(Protocol):
    """A flow policy that shows its velocity field, such as `thinktwice.agents.policies.bundled.BundledPolicy`."""

    def velocity(self, proposal: Proposal, chunks: Array, time: float) -> Array:
        """``float32[N, T, A]`` at ``chunks``, normalised; time 1 is noise and 0 is actions."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class VelocityMeasure:
    """How much the velocity changes halfway from noise to actions.

    Where one answer is certain, the flow leads to it in straight lines and the velocity is constant along each; it
    bends where answers compete (the straightness of Liu, Gong and Liu 2022, "Flow straight and fast", estimated with
    one Euler step of a half from fixed noises).

    Attributes:
        policy: shows its field.
        metric: of normalised actions: its weights hold no scale.
        noises: how many paths are followed.
    """

    policy: HasVelocity
    metric: ChunkMetric
    noises: int = 4
    candidates_needed: int = 1

    @property
    def evaluations(self) -> int:
        """Two for each path."""
        return 2 * self.noises

    def __call__(self, proposal: Proposal) -> float:
        """The root mean square change of velocity, in weighted normalised units."""
        shape = np.asarray(proposal.chunks[0]).shape
        noise = np.random.default_rng(0).standard_normal((self.noises, *shape)).astype(np.float32)
        start = self.policy.velocity(proposal, noise, 1.0)
        halfway = self.policy.velocity(proposal, noise - 0.5 * start, 0.5)
        return float(np.sqrt((self.metric.weigh(halfway - start) ** 2).mean()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasureSettings:
    """Which measure, and how it looks at chunks: plain data that a clutch file holds.

    Attributes:
        name: one of `MEASURES`, or ``critic``.
        metric: weights and executed length.
        gripper_weight: the gripper's own weight, which the metric's weights contain.
        candidates: how many candidates ``pairwise`` and ``critic`` compare.
        critic: of the gate ``critic``, the hash of the critic's weights; None where it has none.
    """

    name: str
    metric: ChunkMetric
    gripper_weight: float
    candidates: int = 2
    critic: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)


def build_measure(settings: MeasureSettings, policy: Policy | None) -> Measure:
    """The measure that the settings name.

    Args:
        settings: which one, and how it looks at chunks.
        policy: what will propose; only ``velocity`` asks it anything.

    Raises:
        UsageError: there is no such measure.
        ConfigError: it needs a velocity field that the policy does not show, or too few candidates.
    """
    name, metric = settings.name, settings.metric
    if settings.candidates < 2:
        raise ConfigError(f"a gate compares at least 2 candidates, got {settings.candidates}.")
    match name:
        case "dtw":
            return DtwMeasure(metric=metric)
        case "pairwise":
            return PairwiseMeasure(metric=metric, candidates_needed=settings.candidates)
        case "temporal":
            return TemporalMeasure(metric=metric)
        case "random":
            return RandomMeasure()
        case "velocity":
            if not isinstance(policy, HasVelocity):
                named = "no policy was given" if policy is None else f"{policy.name} shows none"
                raise ConfigError(
                    f"the gate 'velocity' needs the velocity field of a flow policy, and {named}. Use --policy bundled:"
                    "FOLDER, or another gate: dtw, pairwise or temporal read candidates alone."
                )
            return VelocityMeasure(policy=policy, metric=metric)
        case _:
            raise UsageError(f"there is no gate {name!r}. {choices(name, [*MEASURES, 'never', 'always'])}")


def check_candidates(proposal: Proposal, needed: int) -> None:
    """Raise `ContractError` unless the proposal holds enough candidates."""
    have = len(proposal.chunks)
    require(have >= needed, f"the gate compares {needed} candidates; the proposal has {have}")
