"""What our environment says to our policy through LeRobot, beside the observation.

LeRobot hands a policy images, a state and the instruction.  An agent also needs its episode's seed, so that it draws
what it draws in ``thinktwice rollout``, and has to know that the numbers mean what it assumes.  Policies that are not
ours leave both unread.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from lerobot.configs import PipelineFeatureType, PolicyFeature
from lerobot.processor import ObservationProcessorStep

from ...envs import Array, Conventions

SEED = "thinktwice_seed"
"""The environment's key of the seed; LeRobot puts ``observation.`` before it."""

CONVENTIONS = "observation.thinktwice_conventions"
"""The batch's key of the world's conventions, as JSON."""

_PIECES = 4


def seed_to_array(seed: int) -> Array:
    """A seed of at most 64 bits in pieces of 16, because LeRobot makes every array ``float32``.

    >>> array_to_seed(seed_to_array(2**63 - 1)) == 2**63 - 1
    True
    """
    return np.array([seed >> 16 * piece & 0xFFFF for piece in range(_PIECES)], np.float32)


def array_to_seed(pieces: Array) -> int:
    """The inverse of `seed_to_array`."""
    return sum(int(value) << 16 * piece for piece, value in enumerate(pieces))


@dataclasses.dataclass
class ConventionsStep(ObservationProcessorStep):
    """Adds what the world's numbers mean to every observation.

    Attributes:
        conventions: of the environment.
    """

    conventions: Conventions

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The observation with `CONVENTIONS`."""
        return {**observation, CONVENTIONS: json.dumps(self.conventions.to_json())}

    def transform_features(
        self, features: dict[PipelineFeatureType, dict[str, PolicyFeature]]
    ) -> dict[PipelineFeatureType, dict[str, PolicyFeature]]:
        """Unchanged: what is added is no feature of the data."""
        return features
