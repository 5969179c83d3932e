"""The measures of Room-to-Room.

NE, SR, OSR: Anderson et al., Vision-and-Language Navigation (CVPR 2018).  SPL: Anderson et al., On Evaluation of
Embodied Navigation Agents (2018).  nDTW: Ilharco et al., General Evaluation for Instruction Conditioned Navigation
using Dynamic Time Warping (2019).  All distances are geodesic, in metres.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .graph import Scan

SUCCESS_RADIUS = 3.0
"""Metres from the goal within which stopping succeeds (Anderson et al., CVPR 2018)."""


def measures(scan: Scan, path: Sequence[str], reference: Sequence[str], *, stopped: bool) -> dict[str, float]:
    """The measures of one episode.

    Args:
        scan: where it was walked.
        path: the viewpoints that were visited, the start included.
        reference: the instruction's own way; its last viewpoint is the goal.
        stopped: whether the agent said that it had arrived.  Without that nothing is a success, wherever it stands.

    Returns:
        ``ne`` (metres), ``sr``, ``osr``, ``spl`` and ``ndtw`` in [0, 1].
    """
    goal = reference[-1]
    distances = [scan.distance(viewpoint, goal) for viewpoint in path]
    success = float(stopped and distances[-1] < SUCCESS_RADIUS)
    shortest, walked = scan.distance(path[0], goal), scan.length(path)
    efficiency = 1.0 if shortest == walked else shortest / max(shortest, walked)
    return {
        "ne": distances[-1],
        "sr": success,
        "osr": float(min(distances) < SUCCESS_RADIUS),
        "spl": success * efficiency,
        "ndtw": float(np.exp(-_warped(scan, path, reference) / (SUCCESS_RADIUS * len(reference)))),
    }


def _warped(scan: Scan, path: Sequence[str], reference: Sequence[str]) -> float:
    """The cost of the best dynamic time warping between two ways."""
    cost = np.full((len(path) + 1, len(reference) + 1), np.inf)
    cost[0, 0] = 0.0
    for i, here in enumerate(path, start=1):
        for j, there in enumerate(reference, start=1):
            best = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = scan.distance(here, there) + best
    return float(cost[-1, -1])
