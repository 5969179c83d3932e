"""What the agent perceives and remembers: pose, map, landmarks and frames, updated once per look."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from ...cost import Stopwatch
from ...envs import Array, Observation
from ...envs.rooms.actions import Move
from ...envs.rooms.furniture import FURNITURE
from ...envs.rooms.masks import encode
from ...perception import Perception
from ..navigation.geometry import Pose
from ..navigation.mapping import FloorMap
from ..navigation.planning import Plan
from .landmarks import Landmarks
from .memory import FrameMemory, Memory

CAMERA = "front"
_STILL = 0.06
"""Metres; a forward step that moved less was blocked."""
_REACH = 0.22
"""Metres ahead where the invisible obstacle is then believed to be."""


class Senses:
    """Everything that is known of the episode's house.

    Args:
        perception: finds things by name.

    Attributes:
        floor: the map (level 3).
        landmarks: the things (level 2).
        memory: the frames (levels 1 and 0).
        frame: the index of the present frame; -1 before the first.
        pose: of the agent.
        plan: distances over the present map.
        image: the present view.
        in_view: the landmarks in it.
        stuck: forward steps that were blocked since the last that was not.
    """

    def __init__(self, perception: Perception) -> None:
        self._perception = perception
        self.floor = FloorMap()
        self.landmarks = Landmarks()
        self.memory = FrameMemory()
        self.frame = -1
        self.stuck = 0
        self.pose: Pose
        self.plan: Plan
        self.image: Array
        self.in_view: frozenset[int] = frozenset()

    def see(self, observation: Observation, wanted: Collection[str], last: Move | None, watch: Stopwatch) -> None:
        """Take in one look.

        Args:
            observation: the look.
            wanted: the kinds whose masks are remembered.
            last: the move that led here.
            watch: takes the seconds of each stage.
        """
        self.frame += 1
        before, self.pose = getattr(self, "pose", None), Pose.of(observation)
        self.image = observation[f"images.{CAMERA}"]
        if last is Move.FORWARD and before is not None:
            self._notice_bump(before)
        with watch("map"):
            cloud = self.floor.update(observation[f"depth.{CAMERA}"], self.pose)
        with watch("perceive"):
            found = self._perception.detect(observation, [*wanted, *FURNITURE], camera=CAMERA)
        placed = self.landmarks.update(found, cloud, self.pose, self.frame)
        masks: dict[int, Any] = {}
        for index, mark in placed.items():
            mask, landmark = found[index].mask, self.landmarks.get(mark)
            if mask is not None and landmark is not None and landmark.kind in wanted:
                masks[mark] = encode(mask)
        self.in_view = frozenset(placed.values())
        self.memory.add(Memory(frame=self.frame, pose=self.pose, masks=masks, shows=self.in_view), self.image)
        with watch("plan"):
            self.plan = Plan(self.floor, self.pose)

    def _notice_bump(self, before: Pose) -> None:
        if not self.pose.bump:
            self.stuck = 0
        elif before.distance(self.pose.x, self.pose.y) < _STILL:
            self.stuck += 1
            self.floor.bump(
                self.pose.x + _REACH * math.cos(self.pose.yaw), self.pose.y + _REACH * math.sin(self.pose.yaw)
            )
