"""Labels at on-policy states by the distance to what a stateless expert would do there."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from ...critics.inputs import distances, medoid
from ...envs import Array
from ...errors import ConfigError
from ..policy import Policy
from .contract import SAMPLE, Case, Evidence, LabelOptions, Moment
from .simulation import Simulation

if TYPE_CHECKING:
    from .pairset import LabelledState

WAYS = "ways"
"""The fact: ``float32[M, T, A]``, the expert's chunk by each of its ways; the first is the episode's own."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpertOptions:
    """Options of the source ``expert``."""

    expert: str = "expert"
    """Who labels: 'expert' is the library's own for LIBERO, elsewhere a policy that acts by the present state alone."""
    ways: int = 4
    """Source expert: in how many ways the expert may do the task; the nearest or the one under way counts."""
    ahead: int = 0
    """Source expert: how many actions the expert is played ahead, which costs the most; the whole chunk when 0."""


class ExpertSource:
    """Asks the expert what it would do, by playing it ahead and taking it back.

    Args:
        simulation: the world.
        expert: a stateless policy; None for the library's own expert.
        options: how many ways.

    Raises:
        ConfigError: fewer than one way, or less than nothing ahead.
    """

    def __init__(self, simulation: Simulation, expert: Policy | None, options: ExpertOptions) -> None:
        if options.ways < 1:
            raise ConfigError(f"ways must be at least 1, got {options.ways}.")
        if options.ahead < 0:
            raise ConfigError(f"ahead must be a number of actions, or 0 for the whole chunk, got {options.ahead}.")
        self._simulation, self._expert, self._options = simulation, expert, options

    def evidence(self, moment: Moment) -> Evidence:
        """The expert's chunks, as long as the candidates or as it is played ahead."""
        length = np.shape(moment.proposal.chunks)[1]
        if self._options.ahead:
            length = min(length, self._options.ahead)
        if self._expert is None:
            return Evidence(facts={WAYS: self._simulation.expert_modes(length, self._options.ways)})
        with self._simulation.taken_back():
            ahead = self._simulation.play(
                self._expert,
                moment.observation,
                opening=np.zeros((0, 0), np.float32),
                execute=1,
                horizon=length,
                seed=moment.seed,
            )
        # An episode that ends inside the chunk has no more actions: the last one stands for the rest.
        missing = length - len(ahead.actions)
        chunk = np.concatenate([ahead.actions, np.repeat(ahead.actions[-1:], missing, axis=0)])
        return Evidence(facts={WAYS: chunk[None]})

    def describe(self) -> dict[str, Any]:
        """Who labels."""
        described = "the library's own" if self._expert is None else self._expert.describe()
        return {"source": "expert", **dataclasses.asdict(self._options), "expert": described}


def judge_by_expert(case: Case, options: LabelOptions) -> Array:
    """Minus the distance to the expert: root mean square over the first actions, each entry divided by its spread.

    Where several ways are right, see `LabelOptions.mode`.

    Raises:
        ConfigError: the expert was not played so far ahead.
    """
    horizon, ahead = options.label_horizon, case.facts[WAYS].shape[1]
    if ahead < min(horizon, case.chunks.shape[1]):
        raise ConfigError(
            f"the expert was played {ahead} actions ahead, so that --label-horizon {horizon} cannot be compared: give "
            f"--label-horizon {ahead} or less, or collect anew with --ahead {horizon}."
        )
    ways, chunks = case.facts[WAYS][:, :horizon], case.chunks[:, :horizon]
    if options.mode == "committed":
        own = [index for index, role in enumerate(case.roles) if role == SAMPLE]
        ways = ways[[_under_way(ways, chunks[own], case.committed, scale=case.scale)]]
    away = distances(chunks, ways, case.scale).min(axis=1)
    return (-away).astype(np.float32)


def expert_chunk(state: LabelledState, *, horizon: int, scale: Array) -> Array | None:
    """What the expert would have done at a decision, by the way that was under way: ``float32[horizon, A]``.

    None where an expert did not label it, or was not played so far ahead.
    """
    ways = state.stored.facts.get(WAYS)
    if ways is None or ways.shape[2] < horizon:
        return None
    ways, candidates = ways[state.row, :, :horizon], state.candidates[:, :horizon]
    return ways[_under_way(ways, candidates, state.stored.tail(state.row), scale=scale)]


def _under_way(ways: Array, candidates: Array, committed: Array | None, *, scale: Array) -> int:
    """The way nearest to the committed tail; at an episode's first decision, to the candidates' medoid.

    Args:
        ways: ``float32[M, H, A]``.
        candidates: ``float32[N, H, A]``: the policy's own.
        committed: ``float32[K, A]``, or None.
        scale: ``float32[A]``.
    """
    reference = candidates[medoid(candidates, scale)] if committed is None else committed[: ways.shape[1]]
    return int(distances(reference[None], ways[:, : len(reference)], scale)[0].argmin())
