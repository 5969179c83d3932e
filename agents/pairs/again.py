"""An earlier pair set's episodes, played again: another checkpoint's candidates at the same decisions.

What the expert would do at a state does not depend on whose candidates are compared there, and finding it out is most
of what a label costs.  So a new checkpoint's first pairs come from the labels of the old one: the same actions are
executed, the same expert's chunks stand beside new candidates.  They are at the old policy's states; label the new
one's own rollouts too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...envs import Array, Observation
from ...envs.observations import STATE
from ...errors import RecordError, UsageError
from .expert import WAYS
from .states import StoredStates, read_all


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordedMoment:
    """What was found out and done at a decision.

    Attributes:
        executed: ``float32[T, A]``: the chunk that was executed, not cut.
        committed: ``float32[K, A]``: the tail of the chunk before it, or None.
        facts: what the expert would have done.
        phase: what it would have been doing.
    """

    executed: Array
    committed: Array | None
    facts: Mapping[str, Array]
    phase: str


class RecordedEpisodes:
    """The decisions of a pair set by episode.

    Args:
        folder: the pair set's.

    Raises:
        UsageError: there is no pair set, or none that can be played again: one whose every decision an expert labelled.
        RecordError: a file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_seed = {states.episode.seed: states for states in read_all(folder).values()}
        if not self._by_seed:
            raise UsageError(f"{folder} holds no labelled decisions to play again. Make some: thinktwice pairs --help")
        for states in self._by_seed.values():
            whole = WAYS in states.facts and np.array_equal(states.decision, np.arange(len(states)))
            if not whole:
                raise UsageError(
                    f"the episodes of {folder} cannot be played again: {states.episode.key} lacks decisions, or an "
                    "expert did not label them. It takes a set of --source expert with --share 1."
                )

    def find(self, seed: int) -> StoredStates:
        """The episode with a seed.

        Raises:
            UsageError: it is not in the set.
        """
        if seed not in self._by_seed:
            raise UsageError(
                f"{self._folder} has no episode with seed {seed}: give the --tasks, --episodes and --seed that it was "
                "collected with."
            )
        return self._by_seed[seed]


def recorded_moment(states: StoredStates, index: int, observation: Observation) -> RecordedMoment:
    """What was done at a decision of an episode.

    Args:
        states: the episode.
        index: which decision.
        observation: what is seen now.

    Raises:
        RecordError: the world is not where it was then.
    """
    seen = np.asarray(observation.get(STATE, ()), np.float32)
    if index >= len(states) or not np.array_equal(seen, states.state[index]):
        raise RecordError(
            f"{states.episode.key} goes another way at decision {index} than when it was recorded: it was played with "
            "other versions, another --execute, or by a critic's choice."
        )
    return RecordedMoment(
        executed=states.chunks[index, 0],
        committed=states.tail(index),
        facts={name: array[index] for name, array in states.facts.items()},
        phase=states.phases[index],
    )
