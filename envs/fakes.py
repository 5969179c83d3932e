"""A small fake world for tests: fast, repeatable, and able to break on demand.  It simulates nothing real.

A point moves on a square towards a goal.  The world's options make chosen episodes raise, hang, take long or kill
their own process, which is how the tests of running and resuming know that nothing is lost.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ..errors import ConfigError, ConventionError, IdentityError, WorldError, choices
from .chunks import Array
from .conventions import Camera, Conventions, Dim
from .episodes import EpisodeId, derive_seed
from .observations import Observation
from .registration import FAKE

ENV_ID = FAKE
TASKS = ("fake/0", "fake/1", "fake/2", "fake/3")
INIT_STATES = 50
REACH = 0.05
"""Metres per step at full action."""
SOLVED_WITHIN = 0.1
"""Metres from the goal."""
_PIXELS = 32
_WORDS = "abcdefghijklmnopqrstuvwxyz0123456789 "

type Fault = Literal["raise", "hang", "kill", "slow"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeOptions:
    """Options of the fake world, which exists for tests."""

    cap: int = 40
    """Steps after which an episode is truncated."""
    stay: bool = False
    """Do not end an episode at the goal: it must still be there at the cap."""
    crash: str = ""
    """Episodes that raise, as TASK:INIT_STATE pairs such as 0:3,1:0."""
    hang: str = ""
    """Episodes that never come back."""
    fail: str = ""
    """Episodes that cannot be solved."""
    kill: str = ""
    """Episodes that kill their own process (signal 9)."""
    slow: str = ""
    """Episodes whose second step takes `delay` seconds; 'all' for every one, here and above."""
    delay: float = 0.2
    """Seconds of the slow ones."""
    once: Path | None = None
    """A folder of markers: each fault happens once and the next try of its episode is sound."""
    build: Literal["sound", "raise", "refuse", "exit", "hang"] = "sound"
    """What making the environment does."""
    init_states: Literal["stored", "fresh"] = "stored"
    """stored: episode i begins in init state i; fresh: its seed draws where it begins."""


class FakeEnv(gym.Env[dict[str, Any], Array]):
    """The fake world as an environment.

    The state is ``float32[4]``: the point and the goal, metres.  An action is ``float32[2]`` in [-1, 1], a velocity.

    Args:
        options: the options; their defaults when None.
    """

    def __init__(self, options: FakeOptions | None = None) -> None:
        self._options = options or FakeOptions()
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = spaces.Dict(
            {
                "images.front": spaces.Box(0, 255, (_PIXELS, _PIXELS, 3), np.uint8),
                "state": spaces.Box(-np.inf, np.inf, (4,), np.float32),
                "task": spaces.Text(64, charset=_WORDS),
            }
        )
        self._task = TASKS[0]
        self._init_state: int | None = 0
        self._point, self._goal = np.zeros(2, np.float32), np.zeros(2, np.float32)
        self._start = self._point
        self._steps, self._path = 0, 0.0

    @property
    def conventions(self) -> Conventions:
        """What the numbers mean."""
        return Conventions(
            action=(Dim(name="velocity", size=2, unit=f"{REACH} m", frame="world", representation="delta"),),
            state=(
                Dim(name="position", size=2, unit="m", frame="world", representation="absolute"),
                Dim(name="goal", size=2, unit="m", frame="world", representation="absolute"),
            ),
            cameras=(Camera(name="front", height=_PIXELS, width=_PIXELS),),
            control_hz=20.0,
        )

    @property
    def max_steps(self) -> int:
        """The step cap."""
        return self._options.cap

    def hold_action(self) -> Array:
        """No velocity."""
        return np.zeros(2, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Place the point by the init state and the goal by the task.

        Raises:
            IdentityError: there is no such task or init state.
        """
        super().reset(seed=seed)
        given: dict[str, Any] = {"task": TASKS[0], "init_state": 0} | (options or {})
        _check_identity(given["task"], given["init_state"])
        self._task, self._init_state = given["task"], given["init_state"]
        begins = seed if self._init_state is None else self._init_state
        placed = np.random.default_rng(derive_seed("fake", self._task, begins))
        jitter = self.np_random.uniform(-0.02, 0.02, 2)
        self._point = (placed.uniform(-0.5, 0.5, 2) + jitter).astype(np.float32)
        angle = 0.5 * np.pi * TASKS.index(self._task)
        self._goal = (0.8 * np.array([np.cos(angle), np.sin(angle)])).astype(np.float32)
        self._start, self._steps, self._path = self._point, 0, 0.0
        return self._observation(), {"is_success": self._solved(), "metrics": self._metrics()}

    def step(self, action: Array) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Move the point; the reward is 1 for every step that ends at the goal."""
        self._steps += 1
        if self._steps == 2:
            self._misbehave()
        move = np.clip(np.asarray(action, np.float32), -1.0, 1.0) * np.float32(REACH)
        self._point = self._point + move
        self._path += float(np.linalg.norm(move))
        solved = self._solved()
        info = {"is_success": solved, "metrics": self._metrics()}
        terminated = solved and not self._options.stay
        truncated = not terminated and self._steps >= self._options.cap
        return self._observation(), float(solved), terminated, truncated, info

    def render(self) -> Array:
        """The picture that the observation shows."""
        image = np.full((_PIXELS, _PIXELS, 3), 255, np.uint8)
        for place, colour in ((self._goal, (0, 160, 0)), (self._point, (200, 0, 0))):
            column, row = (int(value) for value in np.clip((place + 1) / 2 * (_PIXELS - 3), 0, _PIXELS - 3))
            image[_PIXELS - 3 - row : _PIXELS - row, column : column + 3] = colour
        return image

    def save_state(self) -> tuple[Any, ...]:
        """Everything that decides the future."""
        return self._task, self._init_state, self._point, self._goal, self._start, self._steps, self._path

    def restore_state(self, state: tuple[Any, ...]) -> None:
        """Put the world back where `save_state` was called."""
        (self._task, self._init_state, self._point, self._goal, self._start, self._steps, self._path) = state

    def chunk_paths(self, state: Array, chunk: Array) -> dict[str, Array]:
        """The point's way on the picture, ``float32[T + 1, 2]`` as shares of it."""
        moves = np.clip(np.asarray(chunk, np.float32), -1.0, 1.0) * np.float32(REACH)
        points = np.concatenate([state[:2][None], state[:2] + np.cumsum(moves, axis=0)])
        column, row = ((points + 1) / 2 * (_PIXELS - 3) + 1.5).T / _PIXELS
        return {"front": np.stack([column, 1 - row], axis=1).astype(np.float32)}

    def _observation(self) -> dict[str, Any]:
        return {
            "images.front": self.render(),
            "state": np.concatenate([self._point, self._goal]),
            "task": f"go to goal {TASKS.index(self._task)}",
        }

    def _solved(self) -> bool:
        near = bool(np.linalg.norm(self._point - self._goal) < SOLVED_WITHIN)
        return near and not self._is_among(self._options.fail)

    def _metrics(self) -> dict[str, float]:
        shortest = float(np.linalg.norm(self._start - self._goal))
        return {
            "distance": float(np.linalg.norm(self._point - self._goal)),
            "spl": shortest / max(self._path, shortest) if self._solved() else 0.0,
        }

    def _misbehave(self) -> None:
        options = self._options
        asked: dict[Fault, str] = {
            "raise": options.crash,
            "hang": options.hang,
            "kill": options.kill,
            "slow": options.slow,
        }
        for fault, episodes in asked.items():
            if self._is_among(episodes) and self._due(fault):
                self._break(fault)

    def _is_among(self, episodes: str) -> bool:
        return episodes == "all" or f"{TASKS.index(self._task)}:{self._init_state}" in episodes.split(",")

    def _due(self, fault: Fault) -> bool:
        if self._options.once is None or fault == "slow":
            return True
        marker = self._options.once / f"{fault}-{TASKS.index(self._task)}-{self._init_state}"
        if marker.exists():
            return False
        marker.touch()
        return True

    def _break(self, fault: Fault) -> None:
        if fault == "raise":
            raise WorldError("the fake world was told to raise here")
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self._options.delay if fault == "slow" else 86_400.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeWorld:
    """The fake world's entry in the catalogue.

    Attributes:
        name: what the command line calls it.
        options: its options.
    """

    name: str
    options: FakeOptions

    def tasks(self) -> Sequence[str]:
        """Four goals."""
        return TASKS

    def episodes(self, *, tasks: Sequence[str], count: int, seed: int) -> list[EpisodeId]:
        """The first ``count`` init states of each task, or as many fresh placements.

        Raises:
            IdentityError: there is no such task, or there are fewer init states.
        """
        fresh = self.options.init_states == "fresh"
        if count > INIT_STATES and not fresh:
            raise IdentityError(f"{count} episodes of a task were asked for; the fake world has {INIT_STATES}.")
        for task in tasks:
            _check_identity(task, 0)
        return [
            EpisodeId(world=ENV_ID, task=task, init_state=None if fresh else index, seed=derive_seed(seed, task, index))
            for task in tasks
            for index in range(count)
        ]

    def make(self) -> gym.Env[Any, Any]:
        """A new environment, or what `FakeOptions.build` says."""
        build = self.options.build
        if build == "raise":
            raise RuntimeError("the fake world was told to fail while it is made")
        if build == "refuse":
            raise ConventionError("the fake world was told to refuse")
        if build == "exit":
            os._exit(3)
        if build == "hang":
            time.sleep(86_400.0)
        return FakeEnv(self.options)

    def describe(self) -> dict[str, Any]:
        """Its caps; faults do not belong to what the world is."""
        return {"world": self.name, "fake": True, "cap": self.options.cap, "stay": self.options.stay}


def open_fake(name: str, options: FakeOptions) -> FakeWorld:
    """The fake world.

    Raises:
        ConfigError: the cap is less than 1.
    """
    if options.cap < 1:
        raise ConfigError(f"cap must be at least 1, got {options.cap}.")
    return FakeWorld(name=name, options=options)


def goal_of(observation: Observation) -> tuple[Array, Array]:
    """The point and the goal of a fake observation, ``float32[2]`` each, metres."""
    state = observation["state"]
    return state[:2], state[2:]


def _check_identity(task: Any, init_state: Any) -> None:
    if task not in TASKS:
        raise IdentityError(f"the fake world has no task {task!r}. {choices(task, TASKS)}")
    if init_state is not None and (not isinstance(init_state, int) or not 0 <= init_state < INIT_STATES):
        raise IdentityError(f"the fake world has init states 0 to {INIT_STATES - 1}, not {init_state!r}.")
