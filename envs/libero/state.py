"""Everything that decides a LIBERO simulation's future, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..chunks import Array
from .install import import_mujoco
from .simulator import MUTABLE_MODEL_FIELDS, Simulator


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhysicsState:
    """A simulation's state; a copy that later steps do not change, and that pickles.

    Attributes:
        integration: ``float64[N]``, MuJoCo's ``mjSTATE_INTEGRATION``: positions, velocities, time, and what the
            solver starts from.
        model: fixtures' poses and colours, which LIBERO keeps in the model.
        controller: the plain attributes of robosuite's controller; a goal orientation outlives its command.
        gripper: the gripper's command, which each substep moves by a little.
        clock: robosuite's counters.
    """

    integration: Array
    model: Mapping[str, Array]
    controller: Mapping[str, Any]
    gripper: Array
    clock: Mapping[str, Any]


_CLOCK = ("timestep", "cur_time", "done")


def read_state(simulator: Simulator) -> PhysicsState:
    """The simulator's state now."""
    mujoco = import_mujoco()

    env, model = simulator.robosuite_env, simulator.model
    robot = env.robots[0]
    integration = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, simulator.data, integration, mujoco.mjtState.mjSTATE_INTEGRATION)
    return PhysicsState(
        integration=integration,
        model={name: getattr(model, name).copy() for name in MUTABLE_MODEL_FIELDS},
        controller={name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in _plain(robot)},
        gripper=np.copy(robot.gripper.current_action),
        clock={name: getattr(env, name) for name in _CLOCK},
    )


def write_state(simulator: Simulator, state: PhysicsState) -> None:
    """Put the simulator into a state that was read from a simulator of the same task."""
    mujoco = import_mujoco()

    env, model, data = simulator.robosuite_env, simulator.model, simulator.data
    robot = env.robots[0]
    for name, values in state.model.items():
        getattr(model, name)[:] = values
    mujoco.mj_setState(model, data, state.integration, mujoco.mjtState.mjSTATE_INTEGRATION)
    # mj_forward computes poses and contacts, and on the way overwrites what the solver starts from: set it again.
    mujoco.mj_forward(model, data)
    mujoco.mj_setState(model, data, state.integration, mujoco.mjtState.mjSTATE_INTEGRATION)
    for name, value in state.controller.items():
        setattr(robot.controller, name, np.copy(value) if isinstance(value, np.ndarray) else value)
    robot.gripper.current_action = np.copy(state.gripper)
    for name, value in state.clock.items():
        setattr(env, name, value)
    simulator.refresh()


def _plain(robot: Any) -> list[tuple[str, Any]]:
    """The controller's attributes that are numbers or arrays; the others are its settings and references."""
    kinds = (np.ndarray, np.generic, bool, int, float, type(None))
    return [(name, value) for name, value in vars(robot.controller).items() if isinstance(value, kinds)]
