"""Perception's contracts: finding, segmenting and following things in images."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..envs import Array, Observation


@dataclasses.dataclass(frozen=True, kw_only=True)
class Detection:
    """One thing that was found in one image.

    Attributes:
        label: what it is said to be.
        score: confidence in [0, 1].
        box: ``float32[4]``: left, top, right, bottom, in pixels of the image, right and bottom exclusive.
        mask: ``bool[H, W]``, or None where only a box is known.
    """

    label: str
    score: float
    box: Array
    mask: Array | None = None


@runtime_checkable
class Perception(Protocol):
    """Finds things by name in an observation."""

    @property
    def name(self) -> str:
        """What a record calls it; an oracle's name says so."""
        ...

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        """Everything in ``images.<camera>`` that matches a query, most confident first.

        Pure given its arguments.  An empty list means that nothing was found.

        Raises:
            ContractError: the observation has no such camera.
        """
        ...
