"""What one episode has gathered so far, and the metrics that come of it at its end."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np

from ...errors import ContractError
from ..chunks import Array
from .house import House
from .masks import Mask, decode, encode
from .occupancy import CELL, FloorMap
from .scenarios import Scenario
from .scene import CAMERA_HEIGHT, VERTICAL_FOV
from .scoring import FrameScore, mask_metrics, score_frame, soft_spl, spl

_COVERAGE_CELL = 5
"""Cells per side of the squares that coverage counts: 0.25 m."""
_STRIDE = 8
"""Coverage looks at every eighth pixel."""


class Recording:
    """Path, coverage and masks of one episode; bounded by the step cap.

    Args:
        house: where.
        floor: its map.
        scenario: the task.
        size: pixels a side of the images.
    """

    def __init__(self, house: House, floor: FloorMap, scenario: Scenario, size: int) -> None:
        self._scenario, self._floor = scenario, floor
        self.steps = self.collisions = 0
        self.travelled = 0.0
        self.first_sight: int | None = None
        width, height = house.size
        shape = math.ceil(height / CELL / _COVERAGE_CELL), math.ceil(width / CELL / _COVERAGE_CELL)
        rows, columns = np.nonzero(floor.navigable)
        self._open = np.zeros(shape, np.bool_)
        self._open[rows // _COVERAGE_CELL, columns // _COVERAGE_CELL] = True
        self._seen = np.zeros(shape, np.bool_)
        self._truth: list[dict[str, Any]] = []
        self._masks: dict[int, dict[str, Any]] = {}
        self._size = size
        offset = (np.arange(0, size, _STRIDE) + 0.5 - size / 2) / (size / 2 / math.tan(math.radians(VERTICAL_FOV) / 2))
        self._right, self._down = np.meshgrid(offset, offset)

    def copy(self) -> Recording:
        """The record so far, which later frames of this one do not change."""
        return copy.deepcopy(self, {id(shared): shared for shared in (self._scenario, self._floor)})

    @property
    def frame(self) -> int:
        """The index of the frame that the agent sees now."""
        return len(self._truth) - 1

    def see(self, truth: Mask, depth: Array, pose: tuple[float, float, float, float], visible: bool) -> None:
        """Note a new frame: the target's true mask, and which floor it shows."""
        self._truth.append(encode(truth))
        if visible and self.first_sight is None:
            self.first_sight = self.steps
        x, y, yaw, pitch = pose
        z = depth[::_STRIDE, ::_STRIDE]
        ahead = z * math.cos(pitch) + self._down * z * math.sin(pitch)
        height = CAMERA_HEIGHT + z * math.sin(pitch) - self._down * z * math.cos(pitch)
        side = -self._right * z
        world_x = x + ahead * math.cos(yaw) - side * math.sin(yaw)
        world_y = y + ahead * math.sin(yaw) + side * math.cos(yaw)
        ground = height < 0.1
        square = CELL * _COVERAGE_CELL
        rows = np.clip((world_y[ground] / square).astype(np.int64), 0, self._seen.shape[0] - 1)
        columns = np.clip((world_x[ground] / square).astype(np.int64), 0, self._seen.shape[1] - 1)
        self._seen[rows, columns] = True

    def submit(self, mask: Mask, frame: int | None) -> None:
        """Keep the agent's mask of a frame; a later one for the same frame replaces it.

        Raises:
            ContractError: the mask has a wrong shape or type, or there is no such frame.
        """
        index = self.frame if frame is None else frame
        if mask.dtype != np.bool_ or mask.shape != (self._size, self._size):
            raise ContractError(f"a mask must be bool[{self._size}, {self._size}], got {mask.dtype}{list(mask.shape)}.")
        if not 0 <= index <= self.frame:
            raise ContractError(f"there is no frame {index}; this episode has frames 0 to {self.frame}.")
        self._masks[index] = encode(mask)

    def metrics(self, *, success: bool, remaining: float, stopped: bool) -> dict[str, float]:
        """Everything that this episode defines; averaged over episodes, each over those that define it.

        Args:
            success: whether the task is solved.
            remaining: geodesic metres from the agent to the nearest viewpoint.
            stopped: whether the agent ended the episode itself.
        """
        shortest = self._scenario.shortest
        result = {
            "success": float(success),
            "spl": spl(success, shortest, self.travelled),
            "soft_spl": soft_spl(shortest, remaining, self.travelled),
            "path_length": self.travelled,
            "shortest_path": shortest,
            "steps": float(self.steps),
            "collisions": float(self.collisions),
            "coverage": float((self._seen & self._open).sum() / max(self._open.sum(), 1)),
            "stopped": float(stopped),
            "seen": float(self.first_sight is not None),
        }
        if math.isfinite(remaining):
            result["distance_to_goal"] = remaining
        if self.first_sight is not None:
            result["first_sight"] = float(self.first_sight)
        if self._masks:
            scores = self._scores()
            result |= mask_metrics(scores, scores[-1] if stopped else None)
        return result

    def _scores(self) -> list[FrameScore]:
        empty = np.zeros((self._size, self._size), np.bool_)
        # The agent decides on every frame but the one after its last action, which a stop does not make.
        decided = self._truth[: max(self.steps, 1)]
        return [
            score_frame(decode(self._masks[i]) if i in self._masks else empty, decode(truth))
            for i, truth in enumerate(decided)
        ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoomsState:
    """What `RoomsEnv.save_state` returns; it pickles, and any `RoomsEnv` of the same size can restore it.

    Attributes:
        house: its seed and difficulty.
        scenario: the task.
        pose: x, y, yaw and pitch in the house frame: metres and radians.
        bump: whether the last move touched something.
        opened: the containers that are open.
        steps_left: actions until the episode is truncated.
        ended: whether it is over.
        record: the path, coverage and masks so far.
    """

    house: tuple[int, str]
    scenario: Scenario
    pose: tuple[float, float, float, float]
    bump: bool
    opened: frozenset[int]
    steps_left: int
    ended: bool
    record: Recording
