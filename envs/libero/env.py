"""``thinktwice/Libero-v0``: LIBERO's tasks as a gymnasium environment."""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...errors import ConfigError, ContractError, IdentityError, choices
from ..chunks import Array
from ..conventions import Conventions
from ..observations import IMAGES, STATE, TASK, Observation
from .conventions import CONTROL_HZ, STATE_BOUNDS, libero_conventions
from .paths import commanded_way, project
from .problem import Problem
from .rendering import CAMERAS, RENDERINGS, Cameras, Rendering
from .simulator import Simulator
from .state import PhysicsState, read_state, write_state
from .stepping import STEPPINGS, Stepping
from .suites import LiberoTask, check_init_state, find_task, step_cap

_STANDING = "agentview"
"""The camera that does not move with the arm."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiberoState:
    """What `LiberoEnv.save_state` returns; it pickles, and any `LiberoEnv` can restore it.

    Attributes:
        task: the task's name.
        init_state: the stored state that the episode began with, or None.
        seed: the episode's seed.
        elapsed_steps: control steps since the episode began.
        physics: the simulation.
    """

    task: str
    init_state: int | None
    seed: int
    elapsed_steps: int
    physics: PhysicsState


class LiberoEnv(gym.Env[dict[str, Any], Array]):
    """LIBERO's manipulation tasks; each reset may choose another task of any suite.

    An episode is decided by ``(task, init_state, seed)`` alone: ``reset(seed=…, options={"task": "libero_goal/3",
    "init_state": 7})``.  Without ``init_state`` (or with None) the seed draws a fresh placement from the task's
    BDDL regions.  The simulator is built at the first reset and lives as long as its task.

    Observations: ``images.<camera>`` ``uint8[height, width, 3]`` upright, ``state`` ``float32[8]``, ``task`` the
    instruction.  Actions: ``float32[7]``, see `conventions`; values outside [-1, 1] act as the nearest bound, as in
    robosuite's controller.  The reward is 1 at success and otherwise 0; success terminates, the step cap truncates.

    Args:
        task: the task that a reset without ``options["task"]`` plays.
        cameras: which of ``agentview`` and ``wrist`` to show; with none, no GL context is made.
        height: pixels of each image.
        width: pixels of each image.
        rendering: ``"faithful"`` gives LIBERO's own pixels; ``"fast"`` gives nearly the same ones from simplified
            meshes and smaller textures.
        max_steps: the step cap; the suite's own when None (`suites.STEP_CAPS`).
        stepping: ``"exact"`` gives the states of robosuite's own step, which ``"stock"`` calls, in less time.

    Raises:
        ConfigError: an argument has an impossible value.
        IdentityError: the task does not exist.
        MissingDependency: LIBERO is not installed.
    """

    metadata = {"render_modes": [], "render_fps": int(CONTROL_HZ)}  # noqa: RUF012  gymnasium's own declaration

    def __init__(
        self,
        task: str = "libero_object/0",
        *,
        cameras: Sequence[str] = tuple(CAMERAS),
        height: int = 256,
        width: int = 256,
        rendering: Rendering = "faithful",
        max_steps: int | None = None,
        stepping: Stepping = "exact",
    ) -> None:
        check_settings(
            cameras=cameras,
            height=height,
            width=width,
            rendering=rendering,
            max_steps=max_steps,
            stepping=stepping,
        )
        self._task = find_task(task)
        self._cameras, self._height, self._width = tuple(cameras), height, width
        self._rendering: Rendering = rendering
        self._max_steps = max_steps
        self._stepping: Stepping = stepping
        self.conventions: Conventions = libero_conventions(cameras, height=height, width=width, rendering=rendering)
        """What the numbers mean."""
        images = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                **{f"{IMAGES}{name}": images for name in cameras},
                STATE: spaces.Box(-STATE_BOUNDS, STATE_BOUNDS, dtype=np.float32),
                TASK: spaces.Text(512, charset=string.printable + "’"),
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (7,), np.float32)
        self._simulator: Simulator | None = None
        self._renderer: Cameras | None = None
        self._init_state: int | None = None
        self._seed = 0
        self.elapsed_steps = 0
        """Control steps since the episode began, settling not counted."""

    @property
    def task(self) -> LiberoTask:
        """The present task."""
        return self._task

    @property
    def problem(self) -> Problem:
        """What the present task's BDDL file says."""
        return self._task.problem

    @property
    def model(self) -> Any:
        """The physics' raw ``mujoco.MjModel``, for privileged policies.  Do not change it."""
        return self._running().model

    @property
    def data(self) -> Any:
        """The physics' raw ``mujoco.MjData``, for privileged policies.  Do not change it."""
        return self._running().data

    @property
    def robosuite_env(self) -> Any:
        """The robosuite environment of the present task, for privileged policies.  Do not step or reset it."""
        return self._running().robosuite_env

    @property
    def max_steps(self) -> int:
        """The step cap of the present task."""
        return self._max_steps if self._max_steps is not None else step_cap(self._task.suite)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode that ``(task, init_state, seed)`` names.

        Args:
            seed: of everything that is drawn; None draws a seed, which ``info`` reports.
            options: ``task`` (a name; the present task when missing) and ``init_state`` (an index; a fresh placement
                when missing or None).

        Raises:
            IdentityError: an option is unknown, or there is no such task or initial state.
            WorldError: the simulator cannot be built or finds no placement.
        """
        task, init_state = self._chosen(options or {})
        super().reset(seed=seed)
        self._seed = int(seed) if seed is not None else int(self.np_random.integers(2**31))
        self._init_state = init_state
        self._open(task).reset(seed=self._seed, init_state=init_state)
        self.elapsed_steps = 0
        info = {"task": task.name, "init_state": init_state, "seed": self._seed}
        return dict(self.observe()), {**self._info(self.check_success()), **info}

    def step(self, action: Array) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """One control step (0.05 s), and the observation after it.

        Raises:
            ContractError: the action is not ``float[7]`` and finite, or `reset` was never called.
        """
        reward, terminated, truncated, info = self.step_blind(action)
        return dict(self.observe()), reward, terminated, truncated, info

    def step_blind(self, action: Array) -> tuple[float, bool, bool, dict[str, Any]]:
        """As `step`, without the observation: the cameras cost far more than the physics."""
        simulator = self._running()
        success = simulator.step(check_action(action))
        self.elapsed_steps += 1
        truncated = not success and self.elapsed_steps >= self.max_steps
        return float(success), success, truncated, self._info(success)

    def observe(self) -> Observation:
        """The observation of the present moment."""
        simulator = self._running()
        observation: dict[str, Any] = {}
        if self._cameras:
            if self._renderer is None:
                self._renderer = Cameras(
                    simulator.model,
                    simulator.xml,
                    self._cameras,
                    height=self._height,
                    width=self._width,
                    rendering=self._rendering,
                )
            for name, frame in self._renderer.render(simulator.data).items():
                observation[f"{IMAGES}{name}"] = frame
        observation[STATE] = simulator.proprioception()
        observation[TASK] = self._task.language
        return observation

    def check_success(self) -> bool:
        """Whether the goal holds now."""
        return self._running().success()

    def hold_action(self) -> Array:
        """The action that keeps the arm where it is and the gripper as commanded: zeros.

        The gripper's entry acts by its sign, and zero leaves the command as it is.
        """
        return np.zeros(7, np.float32)

    def chunk_paths(self, state: Array, chunk: Array) -> dict[str, Array]:
        """The gripper's commanded way on the camera that stands still, ``float32[T + 1, 2]`` as shares of its picture.

        See `thinktwice.envs.DrawsPaths`; ``paths.commanded_way`` says what is assumed.
        """
        if _STANDING not in self._cameras:
            return {}
        simulator, aspect = self._running(), self._width / self._height
        way = commanded_way(state[:3], chunk)
        return {_STANDING: project(way, simulator.model, simulator.data, CAMERAS[_STANDING], aspect=aspect)}

    def save_state(self) -> LiberoState:
        """Everything that decides the future; a copy that later steps do not change."""
        return LiberoState(
            task=self._task.name,
            init_state=self._init_state,
            seed=self._seed,
            elapsed_steps=self.elapsed_steps,
            physics=read_state(self._running()),
        )

    def restore_state(self, state: LiberoState) -> None:
        """Put the world back; what follows is bit-identical to what followed the save.

        A state of another task, or from another process, opens that task first.
        """
        write_state(self._open(find_task(state.task)), state.physics)
        self._init_state, self._seed, self.elapsed_steps = state.init_state, state.seed, state.elapsed_steps

    def close(self) -> None:
        """Free the simulator and the GL context; a later reset builds them again."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def _chosen(self, options: dict[str, Any]) -> tuple[LiberoTask, int | None]:
        unknown = options.keys() - {"task", "init_state"}
        if unknown:
            name = min(unknown)
            raise IdentityError(f"reset has no option {name!r}. {choices(name, ['task', 'init_state'])}")
        task = find_task(options["task"]) if options.get("task") is not None else self._task
        init_state = options.get("init_state")
        if init_state is not None:
            check_init_state(task, init_state)
        return task, init_state

    def _open(self, task: LiberoTask) -> Simulator:
        if self._simulator is None or self._simulator.task != task:
            self.close()
            self._task = task
            self._simulator = Simulator(task, stepping=self._stepping)
        return self._simulator

    def _running(self) -> Simulator:
        if self._simulator is None:
            raise ContractError("this LIBERO environment has no simulator yet; call reset first.")
        return self._simulator

    def _info(self, success: bool) -> dict[str, Any]:
        return {"is_success": success, "elapsed_steps": self.elapsed_steps}


def check_action(action: Array) -> Array:
    """The action as ``float64[7]``.

    Raises:
        ContractError: it has another shape or is not finite; nothing was executed.
    """
    array = np.asarray(action)
    if array.shape != (7,) or array.dtype.kind not in "fiu":
        raise ContractError(f"a LIBERO action is float[7], got {array.dtype}{list(array.shape)}.")
    if not np.isfinite(array).all():
        raise ContractError(f"a LIBERO action must be finite, got {array.tolist()}; nothing was executed.")
    return array.astype(np.float64)


def check_settings(
    *, cameras: Sequence[str], height: int, width: int, rendering: str, max_steps: int | None, stepping: str
) -> None:
    """Raise `ConfigError` unless an environment can have these settings."""
    for name in cameras:
        if name not in CAMERAS:
            raise ConfigError(f"LIBERO has no camera {name!r}. {choices(name, CAMERAS)}")
    if len(set(cameras)) != len(cameras):
        raise ConfigError(f"each camera may be named once, got {list(cameras)}.")
    if min(height, width) < 1:
        raise ConfigError(f"images must be at least 1 pixel high and wide, got {height} × {width}.")
    if rendering not in RENDERINGS:
        raise ConfigError(f"there is no rendering {rendering!r}. {choices(rendering, RENDERINGS)}")
    if stepping not in STEPPINGS:
        raise ConfigError(f"there is no stepping {stepping!r}. {choices(stepping, STEPPINGS)}")
    if max_steps is not None and max_steps < 1:
        raise ConfigError(f"max_steps must be at least 1, got {max_steps}.")
