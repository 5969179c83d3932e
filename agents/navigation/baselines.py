"""What LESA is compared with: a random walk, and nearest frontiers."""

from __future__ import annotations

import abc
from typing import Any

import gymnasium as gym
import numpy as np

from ...cost import Cost, Stopwatch
from ...envs import Observation
from ...envs.rooms.actions import Move
from ...envs.rooms.env import RoomsEnv
from ...envs.rooms.expressions import understand
from ...envs.rooms.masks import encode
from ...envs.rooms.queries import Query
from ...perception import Detection, Perception
from ...perception.rooms_vocabulary import read_label
from ..agent import Agent, Decision
from ..lesa.build import NavigationOptions, build_perception, rooms_of
from .drawing import record_map
from .geometry import Pose
from .mapping import FloorMap
from .planning import Plan
from .steering import follow, turn_towards

CAMERA = "front"
_STOP_DISTANCE = 1.2
_SCAN_TURNS = 9


def fits(goal: Query, label: str) -> bool:
    """Whether a label has the goal's kind and contradicts none of its looks; where it is does not count."""
    phrase = read_label(label)
    pairs = ((goal.colour, phrase.colour), (goal.size, phrase.size), (goal.material, phrase.material))
    return phrase.kind in goal.kinds and all(not wanted or not seen or wanted == seen for wanted, seen in pairs)


class Searcher(abc.ABC):
    """The part that the two searching baselines share: see, map, and walk up to the first thing that fits.

    Args:
        perception: finds things by name.
        rooms: the world, whose mask port is written to; nothing is read from it.
    """

    name = "searcher"

    def __init__(self, perception: Perception, rooms: RoomsEnv) -> None:
        self.perception = perception
        self._port = rooms.submit_mask
        self.reset(seed=0)

    def reset(self, *, seed: int) -> None:
        """Forget everything."""
        self.rng = np.random.default_rng(seed)
        self.floor = FloorMap()
        self.target: tuple[float, float] | None = None
        self.lost = 0
        self.turns = 0
        self.dead: list[tuple[float, float]] = []

    def act(self, observation: Observation) -> Decision:
        """Walk to the first detection that fits, else wherever `wander` says."""
        watch = Stopwatch()
        goal = understand(str(observation["task"]))
        self.pose = Pose.of(observation)
        with watch("map"):
            cloud = self.floor.update(observation[f"depth.{CAMERA}"], self.pose)
        with watch("perceive"):
            found = self.perception.detect(observation, goal.kinds, camera=CAMERA)
            fitting = [d for d in found if d.mask is not None and d.score >= 0.5 and fits(goal, d.label)]
        best = fitting[0] if fitting else None
        shape = observation[f"images.{CAMERA}"].shape[:2]
        self._port(np.zeros(shape, np.bool_) if best is None or best.mask is None else best.mask)
        if best is not None and best.mask is not None:
            middle = np.median(cloud[best.mask], axis=0)
            self.target = float(middle[0]), float(middle[1])
        with watch("plan"):
            self.plan = Plan(self.floor, self.pose)
        move, why = self._move(best)
        with watch("record"):
            marks = [] if self.target is None else [self.target]
            notes = record_map(self.plan, self.floor, self.pose, self.target, marks).notes()
            if best is not None and best.mask is not None:
                notes["mask"] = encode(best.mask)
        return Decision(chunk=[int(move)], why=why, cost=Cost(seconds=watch.seconds), notes=notes)

    def _move(self, best: Detection | None) -> tuple[Move, str]:
        if self.target is None:
            return self.wander()
        turn = turn_towards(self.pose, *self.target)
        if self.pose.distance(*self.target) <= _STOP_DISTANCE:
            if turn is not None:
                return turn, "face it"
            if best is not None or self.lost > 3:
                return Move.STOP, "stop at it"
            self.lost += 1
            return (Move.DOWN if self.lost < 3 else Move.UP), "look for it"
        cell = self.plan.standpoint(*self.target, 0.5, _STOP_DISTANCE, [])
        path = [] if cell is None else self.plan.path(*self.plan.point(cell))
        if len(path) < 2:
            self.target = None
            return self.wander()
        return follow(self.pose, self.plan, path), "walk to it"

    @abc.abstractmethod
    def wander(self) -> tuple[Move, str]:
        """Where to go while nothing fits."""

    def describe(self) -> dict[str, Any]:
        """Kind and perception."""
        return {"agent": self.name, "perception": self.perception.name}


class FrontierAgent(Searcher):
    """Always to the nearest frontier (Yamauchi, 1997)."""

    name = "frontier"

    def wander(self) -> tuple[Move, str]:
        """A look around, then the nearest frontier that is no dead end."""
        if self.turns < _SCAN_TURNS:
            self.turns += 1
            return Move.LEFT, "look around"
        for frontier in self.plan.frontiers():
            if all(np.hypot(frontier.x - x, frontier.y - y) > 0.6 for x, y in self.dead):
                path = self.plan.path(frontier.x, frontier.y)
                if self.pose.distance(frontier.x, frontier.y) < 0.35 or len(path) < 2 or self.pose.bump:
                    self.dead = [*self.dead, (frontier.x, frontier.y)][-64:]
                    continue
                return follow(self.pose, self.plan, path), "nearest frontier"
        return Move.STOP, "nothing left to explore"


class RandomWalk(Searcher):
    """Forward with random turns, until something fits."""

    name = "random"

    def wander(self) -> tuple[Move, str]:
        """Three steps in five go forward; a bump turns."""
        if self.pose.bump:
            return Move.LEFT, "bumped"
        draw = float(self.rng.random())
        return (Move.FORWARD if draw < 0.6 else Move.LEFT if draw < 0.8 else Move.RIGHT), "random walk"


def build_frontier(options: NavigationOptions, env: gym.Env[Any, Any]) -> Agent:
    """The nearest-frontier agent."""
    rooms = rooms_of(env)
    return FrontierAgent(build_perception(options.perception, rooms), rooms)


def build_random_walk(options: NavigationOptions, env: gym.Env[Any, Any]) -> Agent:
    """The random walk."""
    rooms = rooms_of(env)
    return RandomWalk(build_perception(options.perception, rooms), rooms)
