"""What every perception must do, as one function that a test calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..envs import Observation
from ..errors import ContractError, require
from .contract import Perception


def check_perception(perception: Perception, observation: Observation, queries: Sequence[str], *, camera: str) -> None:
    """Raise `ContractError` unless detections are valid, sorted, and repeat.

    Args:
        perception: what is checked.
        observation: has ``images.<camera>``.
        queries: at least one name that it knows.
        camera: the camera to look through.
    """
    height, width = observation[f"images.{camera}"].shape[:2]
    found = perception.detect(observation, queries, camera=camera)
    scores = [detection.score for detection in found]
    require(scores == sorted(scores, reverse=True), f"{perception.name} must list the most confident first: {scores}")
    for detection in found:
        require(0 <= detection.score <= 1, f"score {detection.score} is not in [0, 1]")
        left, top, right, bottom = (float(edge) for edge in detection.box)
        inside = 0 <= left < right <= width and 0 <= top < bottom <= height
        require(inside, f"box {detection.box} is not inside the image of {width} by {height}")
        if detection.mask is not None:
            good = detection.mask.shape == (height, width) and detection.mask.dtype == np.bool_
            require(good, f"mask must be bool[{height}, {width}]: {detection.mask.dtype}{list(detection.mask.shape)}")
    again = perception.detect(observation, queries, camera=camera)
    require(len(again) == len(found), f"{perception.name} found {len(found)} things, then {len(again)}")
    for ours, theirs in zip(found, again, strict=True):
        same = ours.label == theirs.label and ours.score == theirs.score and np.array_equal(ours.box, theirs.box)
        require(same, f"{perception.name} must find the same things again")
    require(perception.detect(observation, [], camera=camera) == [], "no queries must find nothing")
    try:
        perception.detect(observation, queries, camera="no such camera")
    except ContractError:
        return
    raise ContractError(f"{perception.name} accepted a camera that the observation lacks.")
