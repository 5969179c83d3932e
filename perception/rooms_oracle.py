"""An oracle for the rooms: it reads the simulator's instance ids, and is only an upper bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..envs import Array, Observation
from ..envs.rooms.env import RoomsEnv
from ..envs.rooms.scoring import MIN_VISIBLE
from ..errors import require
from .contract import Detection
from .rooms_vocabulary import Phrase


class RoomsOracle:
    """Perfect masks, kinds, colours, sizes and materials of what the present frame shows.

    Args:
        env: the environment whose observations it will be shown.
    """

    name = "oracle"

    def __init__(self, env: RoomsEnv) -> None:
        self._env = env

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        """Everything of the queried kinds that covers at least half of `MIN_VISIBLE`, largest first.

        Raises:
            ContractError: there is no such camera, or this is not the environment's present observation.
        """
        key = f"images.{camera}"
        require(key in observation, f"the observation has no {key!r}; it has {sorted(observation)}")
        require(self._env.shows(observation), "the oracle only knows the environment's present observation")
        ids, counts = np.unique(self._env.instances, return_counts=True)
        least = self._env.instances.size * MIN_VISIBLE / 2
        found: list[Detection] = []
        for index in np.argsort(-counts, kind="stable"):
            item = self._env.house.by_id.get(int(ids[index]))
            if item is None or item.kind not in queries or counts[index] < least:
                continue
            mask = self._env.instances == item.id
            size = item.size if item.is_object else ""
            phrase = Phrase(kind=item.kind, size=size, colour=item.colour, material=item.material)
            found.append(Detection(label=str(phrase), score=1.0, box=box_of(mask), mask=mask))
        return found


def box_of(mask: Array) -> Array:
    """``float32[4]``: left, top, right, bottom of a mask that is not empty; right and bottom exclusive."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float32)
