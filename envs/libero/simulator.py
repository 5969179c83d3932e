"""One task's simulator: robosuite's environment without its cameras, reset so that an episode is its identity."""

from __future__ import annotations

import types
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import WorldError
from ..chunks import Array
from .conventions import CONTROL_HZ
from .install import compile_xml, import_libero, import_mujoco
from .scene import without_textures
from .stepping import ExactStepper, Stepping
from .suites import LiberoTask, stored_states

SETTLE_STEPS = 10
"""Control steps with an open gripper and no motion that let objects fall into place before an episode begins.

LIBERO's evaluation does 5, OpenVLA's, openpi's and LeRobot's do 10; stored states hold objects slightly above their
supports.
"""

SETTLE_ACTION = np.array([0, 0, 0, 0, 0, 0, -1], np.float64)

_PLACEMENT_TRIES = 100
_CONSTRUCTION_SEED = 0


class Simulator:
    """The physics of one task.

    LIBERO and robosuite draw from numpy's global generator; it is seeded for each reset and put back, so that no
    other code sees a difference.

    Args:
        task: what to simulate.
        stepping: ``"exact"`` for `ExactStepper`, ``"stock"`` for robosuite's own step.

    Raises:
        MissingDependency: LIBERO is not installed.
        WorldError: the simulator cannot be built.
    """

    def __init__(self, task: LiberoTask, *, stepping: Stepping = "exact") -> None:
        self.task = task
        with _global_numpy_seed(_CONSTRUCTION_SEED):
            self.robosuite_env = _build(task)
        self._stepper = ExactStepper(self.robosuite_env) if stepping == "exact" else None

    @property
    def model(self) -> Any:
        """The physics' raw ``mujoco.MjModel``."""
        return self.robosuite_env.sim.model._model

    @property
    def data(self) -> Any:
        """The physics' raw ``mujoco.MjData``."""
        return self.robosuite_env.sim.data._data

    @property
    def xml(self) -> str:
        """The scene as LIBERO describes it, with its texture files, which the physics does without."""
        return self.robosuite_env.model.get_xml()

    def reset(self, *, seed: int, init_state: int | None, settle_steps: int = SETTLE_STEPS) -> None:
        """Begin an episode.

        Args:
            seed: draws the fixtures' poses, and without an ``init_state`` everything's.
            init_state: a stored initial state's index, already checked, or None for a fresh placement.
            settle_steps: control steps to settle.

        Raises:
            WorldError: no valid placement was found.
        """
        # Fixtures are moved by writing the model.  LIBERO samples what stands on or in one by adding its drawn pose to
        # its sites' places in the model, which are right only while the fixture is where the scene file has it.
        for name, values in self.robosuite_env.as_compiled.items():
            getattr(self.model, name)[:] = values
        with _global_numpy_seed(seed):
            self._reset_robosuite()
        # robosuite does not reset the gripper's command, which would carry over from the episode before.
        gripper = self.robosuite_env.robots[0].gripper
        gripper.current_action = np.zeros_like(gripper.current_action)
        if init_state is not None:
            self._set_flat_state(stored_states(self.task)[init_state])
        for _ in range(settle_steps):
            self.step(SETTLE_ACTION)

    def step(self, action: Array) -> bool:
        """One control step (0.05 s).

        Args:
            action: ``float[7]``; see `conventions.ACTION`.

        Returns:
            Whether the goal holds now.
        """
        action = np.asarray(action, np.float64)
        success = self._stepper.step(action) if self._stepper else self.robosuite_env.step(action)[2]
        # A step ends by moving the joints; bring poses up to them, which changes nothing that the next step reads.
        mujoco = import_mujoco()
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        return bool(success)

    def success(self) -> bool:
        """Whether the goal holds now."""
        return bool(self.robosuite_env._check_success())

    def proprioception(self) -> Array:
        """``float32[8]``; see `conventions.STATE`."""
        from robosuite.utils.transform_utils import convert_quat, quat2axisangle

        robot = self.robosuite_env.robots[0]
        position = self.data.site_xpos[robot.eef_site_id]
        quaternion = self.data.xquat[self.model.body(robot.robot_model.eef_name).id]
        rotation = quat2axisangle(convert_quat(quaternion, to="xyzw"))
        fingers = self.data.qpos[robot._ref_gripper_joint_pos_indexes]
        return np.concatenate([position, rotation, fingers]).astype(np.float32)

    def refresh(self) -> None:
        """Bring what LIBERO derives from the state (a stove's burning plate) up to date after the state was set."""
        self.robosuite_env._post_process()

    def close(self) -> None:
        """Free the simulation."""
        self.robosuite_env.close()

    def _reset_robosuite(self) -> None:
        from robosuite.utils.errors import RandomizationError

        for _ in range(_PLACEMENT_TRIES):
            try:
                self.robosuite_env.reset()
            except RandomizationError:
                continue
            return
        raise WorldError(f"{self.task.name}: no placement without collisions was found in {_PLACEMENT_TRIES} tries.")

    def _set_flat_state(self, state: Array) -> None:
        expected = 1 + self.model.nq + self.model.nv
        if len(state) != expected:
            raise WorldError(
                f"{self.task.name}: a stored state has {len(state)} values, the simulation needs {expected}; "
                "the wheels' scene and its initial states do not belong together."
            )
        self.robosuite_env.sim.set_state_from_flattened(state)
        self.robosuite_env.sim.forward()
        self.refresh()


MUTABLE_MODEL_FIELDS = ("body_pos", "body_quat", "geom_rgba", "site_rgba")
"""Fields of the model that LIBERO writes during episodes: fixtures' poses, and what is shown."""


def _build(task: LiberoTask) -> Any:
    modules = import_libero()
    from robosuite.utils.errors import RandomizationError

    make = _untextured(modules["envs"].TASK_MAPPING[task.problem.domain])
    controller = modules["robosuite"].load_controller_config(default_controller="OSC_POSE")
    for _ in range(_PLACEMENT_TRIES):
        try:
            return make(
                str(task.bddl),
                robots=["Panda"],
                controller_configs=controller,
                initialization_noise=None,
                use_camera_obs=False,
                has_renderer=False,
                has_offscreen_renderer=False,
                control_freq=int(CONTROL_HZ),
                ignore_done=True,
                hard_reset=False,
            )
        except RandomizationError:
            continue
    raise WorldError(f"{task.name}: no placement without collisions was found in {_PLACEMENT_TRIES} tries.")


def _untextured(domain: type[Any]) -> type[Any]:
    """LIBERO's class of scene, which compiles its physics without textures."""

    def initialize_sim(self: Any, xml_string: str | None = None) -> None:
        from robosuite.utils.binding_utils import MjSim

        compiled = compile_xml(without_textures(xml_string or self.model.get_xml()))
        self.as_compiled = {name: getattr(compiled, name).copy() for name in MUTABLE_MODEL_FIELDS}
        self.sim = MjSim(compiled)
        self.sim.forward()
        self.initialize_time(self.control_freq)

    # LIBERO compares the class's name with the BDDL file's.
    return types.new_class(
        domain.__name__, (domain,), exec_body=lambda body: body.update(_initialize_sim=initialize_sim)
    )


@contextmanager
def _global_numpy_seed(seed: int) -> Generator[None]:
    """Seed numpy's global generator inside the block and put its state back afterwards.

    Seeds below 2**32 are used as they are, so that they draw what LIBERO's ``env.seed(seed)`` draws.
    """
    before = np.random.get_state()  # noqa: NPY002  the simulator draws from this very generator
    words = [seed] if seed < 2**32 else [seed & 0xFFFFFFFF, seed >> 32]
    np.random.seed(words[0] if len(words) == 1 else words)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
