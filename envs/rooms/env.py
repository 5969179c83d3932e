"""The gymnasium environment: one agent in one house at a time."""

from __future__ import annotations

import math
from typing import Any, override

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...errors import ContractError, IdentityError, choices
from ..chunks import Array
from ..conventions import Camera, Conventions, Dim
from ..episodes import derive_seed
from ..observations import Observation
from ..registration import ROOMS
from .actions import CONTINUOUS, NAMES, action_space, command
from .generate import generate_house
from .house import House, Item
from .layout import DIFFICULTIES
from .motion import PITCH_LIMITS, START_PITCH, slide, wrap
from .occupancy import FloorMap, floor_map
from .recording import Recording, RoomsState
from .render import Frame, Renderer
from .scenarios import CHECK_SIZE, SUCCESS_RADIUS, Place, Scenario, draw_scenario
from .scene import OPEN_ANGLE, Scene, build_scene
from .scoring import MIN_VISIBLE

SPLITS = {"train": 0, "val": 1_000_000, "test": 2_000_000}
"""The first house seed of each split; each has a million."""
HOUSES = 1_000_000
_WIDEST = 100.0
"""Metres: no house is nearly this wide; the spaces need a bound."""
_REACH = 1.3
"""Metres from which a container can be opened."""

STATE = (
    Dim(name="position", size=2, unit="m", frame="world", representation="absolute"),
    Dim(name="yaw", size=1, unit="rad", frame="world", representation="absolute", positive="left"),
    Dim(name="pitch", size=1, unit="rad", frame="agent", representation="absolute", positive="up"),
    Dim(name="bump", size=1, unit="1", frame="none", representation="absolute", positive="touched something"),
)
"""``state``: odometry.  The position counts from the start; the yaw is a compass whose zero is the house's x axis."""


def task_name(split: str, difficulty: str) -> str:
    """The name of a family of episodes, such as ``"test/medium"``."""
    return f"{split}/{difficulty}"


class RoomsEnv(gym.Env[Any, Any]):
    """Find, approach and segment what an expression means.

    ``reset(seed=…, options={"task": "test/medium", "init_state": 3})`` plays house 3 of a split at a difficulty;
    the seed draws target, expression and start.  ``options["expression"]`` asks for something in one's own words.

    An episode succeeds when the agent stops within `SUCCESS_RADIUS` geodesic metres of a pose from which the target
    was seen when the episode was made, and sees it.  Masks are handed over by `submit_mask`, a write-only port.

    ``info`` holds ``is_success``, ``instances`` (int32[H, W], for oracles and scoring), ``visible``, ``collided``,
    ``opened``, and at the episode's end ``metrics``.

    Args:
        size: pixels a side of image, depth and ids.
        continuous: use the continuous action space.
        max_steps: the step cap; the difficulty's own when None.

    Raises:
        ContractError: the size is outside 32 to 1024.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012  (gymnasium's own declaration)

    def __init__(
        self,
        *,
        size: int = 256,
        continuous: bool = False,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not 32 <= size <= 1024:
            raise ContractError(f"size must be between 32 and 1024 pixels, got {size}.")
        self.render_mode = render_mode
        self._size, self._continuous, self._cap = size, continuous, max_steps
        self.action_space = action_space(continuous=continuous)
        limit = np.array([_WIDEST, _WIDEST, np.pi, np.pi, 1.0], np.float32)
        self.observation_space = spaces.Dict(
            {
                "images.front": spaces.Box(0, 255, (size, size, 3), np.uint8),
                "depth.front": spaces.Box(0.0, _WIDEST, (size, size), np.float32),
                "state": spaces.Box(-limit, limit, dtype=np.float32),
                "task": spaces.Text(200, min_length=1, charset=_PRINTABLE),
            }
        )
        self._house: House | None = None
        self._renderer: Renderer | None = None
        self._ended = True

    @property
    def conventions(self) -> Conventions:
        """Actions, state and camera."""
        return Conventions(
            action=CONTINUOUS if self._continuous else (),
            actions_named=() if self._continuous else NAMES,
            state=STATE,
            cameras=(Camera(name="front", height=self._size, width=self._size),),
        )

    @property
    def house(self) -> House:
        """The present house: privileged, for oracles, data sets and reports."""
        if self._house is None:
            raise ContractError("the world has no house before the first reset.")
        return self._house

    @property
    def scenario(self) -> Scenario:
        """The present task: privileged."""
        self._require_reset()
        return self._scenario

    @property
    def floor(self) -> FloorMap:
        """The true map: privileged."""
        self._require_reset()
        return self._floor

    @property
    def pose(self) -> tuple[float, float, float, float]:
        """The true (x, y, yaw, pitch) in the house frame: privileged."""
        self._require_reset()
        return self._x, self._y, self._yaw, self._pitch

    @property
    def opened(self) -> frozenset[int]:
        """The containers that are open: privileged."""
        self._require_reset()
        return frozenset(self._opened)

    @property
    def instances(self) -> Array:
        """``int32[H, W]``, the instance id under every pixel of the present frame: privileged."""
        self._require_reset()
        return self._instances

    def shows(self, observation: Observation) -> bool:
        """Whether an observation is the present one."""
        self._require_reset()
        present = self._observation
        return observation is present or np.array_equal(observation["images.front"], present["images.front"])

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode.

        Raises:
            IdentityError: the task or house does not exist, or an asked expression denotes no single object.
            UsageError: an asked expression is empty or names nothing known.
        """
        super().reset(seed=seed)
        asked = dict(options or {})
        episode = int(self.np_random.integers(2**62)) if seed is None else seed
        split, difficulty = _parse_task(asked.get("task") or task_name("train", "medium"))
        index = asked.get("init_state")
        if index is None:
            index = derive_seed("rooms/house", episode) % HOUSES
        if not isinstance(index, int) or not 0 <= index < HOUSES:
            raise IdentityError(f"house {index!r} does not exist; a split has houses 0 to {HOUSES - 1}.")
        self._enter(SPLITS[split] + index, difficulty)
        rng = np.random.default_rng(derive_seed("rooms/scenario", self.house.seed, difficulty, episode))
        place = Place(house=self.house, floor=self._floor, look=self._check)
        self._scenario = draw_scenario(place, self._set_open, rng, expression=asked.get("expression"))
        self._x, self._y, self._yaw = self._scenario.x, self._scenario.y, wrap(self._scenario.yaw)
        self._pitch, self._bump = START_PITCH, False
        self._steps_left = self._cap or DIFFICULTIES[difficulty].steps
        self._record = Recording(self.house, self._floor, self._scenario, self._size)
        self._ended = False
        observation = self._observe()
        return observation, self._info(success=False, opened=None)

    @override
    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take one action; the reward is 1 for a successful stop and 0 otherwise.

        Raises:
            ContractError: the action is not in the space, or the episode has ended.
        """
        if self._ended:
            raise ContractError("step was called after the episode ended; call reset first.")
        wanted = command(action, continuous=self._continuous)
        self._record.steps += 1
        self._steps_left -= 1
        if wanted.stop:
            success = self._visible and self._remaining() <= SUCCESS_RADIUS
            info = self._info(success=success, opened=None)
            info["metrics"] = self._finish(success=success, stopped=True)
            # A caller may keep and change what it was given, so the unchanged view is handed out as a copy.
            copy = {key: np.copy(value) if key != "task" else value for key, value in self._observation.items()}
            return copy, float(success), True, False, info
        self._yaw = wrap(self._yaw + wanted.turn)
        self._pitch = min(max(self._pitch + wanted.look, PITCH_LIMITS[0]), PITCH_LIMITS[1])
        before = self._x, self._y
        self._bump = False
        if wanted.forward > 0:
            self._x, self._y, self._bump = slide(self._floor, *before, self._yaw, wanted.forward)
        self._record.collisions += self._bump
        self._record.travelled += math.dist(before, (self._x, self._y))
        opened = self._open() if wanted.open else None
        observation = self._observe()
        truncated = self._steps_left <= 0
        info = self._info(success=False, opened=opened)
        if truncated:
            info["metrics"] = self._finish(success=False, stopped=False)
        return observation, 0.0, False, truncated, info

    def submit_mask(self, mask: Array, *, frame: int | None = None) -> None:
        """Hand over the agent's mask of the present frame, or revise that of an earlier one.

        Args:
            mask: ``bool[H, W]``.
            frame: the frame's index, 0 for the first observation; None for the present one.

        Raises:
            ContractError: the mask has a wrong shape or type, or there is no such frame.
        """
        self._require_reset()
        self._record.submit(mask, frame)

    def save_state(self) -> RoomsState:
        """Everything that decides the future; a copy that later steps do not change."""
        self._require_reset()
        return RoomsState(
            house=(self.house.seed, self.house.difficulty),
            scenario=self._scenario,
            pose=self.pose,
            bump=self._bump,
            opened=self.opened,
            steps_left=self._steps_left,
            ended=self._ended,
            record=self._record.copy(),
        )

    def restore_state(self, state: RoomsState) -> None:
        """Put the world back, in the same process or another; what follows is what followed the save."""
        self._enter(*state.house)
        for container in state.opened:
            self._set_open(container, True)
        self._scenario = state.scenario
        self._x, self._y, self._yaw, self._pitch = state.pose
        self._bump, self._steps_left, self._ended = state.bump, state.steps_left, state.ended
        self._view()
        self._record = state.record.copy()

    @override
    def render(self) -> Any:
        """The present image, ``uint8[H, W, 3]``."""
        self._require_reset()
        return self._observation["images.front"]

    @override
    def close(self) -> None:
        """Free the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
            self._house = None
        self._ended = True

    def _enter(self, seed: int, difficulty: str) -> None:
        """Build the house unless it is the present one."""
        known = self._house
        if known is None or known.seed != seed or known.difficulty != difficulty:
            self.close()
            house = generate_house(seed, difficulty)
            largest = max(self._size, CHECK_SIZE)
            self._scene: Scene = build_scene(house, largest)
            self._renderer = Renderer(self._scene, largest)
            self._floor = floor_map(house)
            self._house = house
        self._opened: set[int] = set()
        for container in self._scene.hinges:
            self._set_open(container, False)
        self._opened.clear()

    def _require_reset(self) -> None:
        if self._renderer is None:
            raise ContractError("call reset first.")

    def _look(self, size: int, pose: tuple[float, float, float, float], *, colour: bool) -> Frame:
        if self._renderer is None:
            raise ContractError("call reset first.")
        return self._renderer.look(*pose, size=size, colour=colour)

    def _check(self, x: float, y: float, yaw: float, pitch: float) -> Frame:
        return self._look(CHECK_SIZE, (x, y, yaw, pitch), colour=False)

    def _set_open(self, container: int, opened: bool) -> None:
        self._scene.data.qpos[self._scene.hinges[container]] = OPEN_ANGLE if opened else 0.0
        if self._renderer is not None:
            self._renderer.refresh()
        (self._opened.add if opened else self._opened.discard)(container)

    def _open(self) -> int | None:
        """Open the container in front of the agent: the largest closed one in view within reach."""
        ids, counts = np.unique(self._instances, return_counts=True)
        for index in np.argsort(-counts):
            item = self.house.by_id.get(int(ids[index]))
            if item is None or item.id not in self._scene.hinges or item.id in self._opened:
                continue
            if self._in_reach(item):
                self._set_open(item.id, True)
                return item.id
        return None

    def _in_reach(self, item: Item) -> bool:
        """Whether the agent stands before the container's front, near enough."""
        dx, dy = self._x - item.x, self._y - item.y
        ahead = math.cos(item.yaw) * dx + math.sin(item.yaw) * dy
        return ahead > 0 and math.hypot(dx, dy) <= _REACH + item.shape.extent[0] / 2

    def _observe(self) -> dict[str, Any]:
        """The view from here, noted as the episode's next frame."""
        truth, depth = self._view()
        self._record.see(truth, depth, self.pose, self._visible)
        return self._observation

    def _view(self) -> tuple[Array, Array]:
        """Look from here; returns the target's true mask and the depth."""
        frame = self._look(self._size, self.pose, colour=True)
        self._instances = frame.instances
        truth = frame.instances == self._scenario.target
        self._visible = bool(truth.mean() >= MIN_VISIBLE)
        odometry = self._x - self._scenario.x, self._y - self._scenario.y
        self._observation = {
            "images.front": frame.image,
            "depth.front": frame.depth,
            "state": np.array([*odometry, self._yaw, self._pitch, float(self._bump)], np.float32),
            "task": self._scenario.expression,
        }
        return truth, frame.depth

    def _remaining(self) -> float:
        return float(self._scenario.distance[self._floor.cell(self._x, self._y)])

    def _info(self, *, success: bool, opened: int | None) -> dict[str, Any]:
        return {
            "is_success": success,
            "instances": self._instances.copy(),
            "visible": self._visible,
            "collided": self._bump,
            "opened": opened,
        }

    def _finish(self, *, success: bool, stopped: bool) -> dict[str, float]:
        self._ended = True
        return self._record.metrics(success=success, remaining=self._remaining(), stopped=stopped)

    def __str__(self) -> str:
        return f"<{ROOMS} {self._size}x{self._size}>"


_PRINTABLE = frozenset(chr(code) for code in range(32, 127))


def _parse_task(task: str) -> tuple[str, str]:
    split, _, difficulty = task.partition("/")
    if split not in SPLITS or difficulty not in DIFFICULTIES:
        valid = [task_name(s, d) for s in SPLITS for d in DIFFICULTIES]
        raise IdentityError(f"there is no task {task!r}. {choices(task, valid)}")
    return split, difficulty
