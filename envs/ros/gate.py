"""The safety gate: pure functions from a command to a verdict.

Every command is checked in one order, and the first check that fails rejects the whole command; nothing is clamped,
because a clamp passes NaN and turns a wrong command into another one:

1. finite and of the right shape,
2. joint limits,
3. velocity, against the measured position on the first command and the last sent one after it,
4. the workspace box of the end effector,
5. acceleration and jerk.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from ..chunks import Array
from .robot import JointLimits, Workspace

type Check = Literal["finite", "joint limits", "velocity", "workspace", "acceleration", "jerk"]
type Tool = Callable[[Array], Array]
"""Joint positions ``float64[J]`` (rad) to the end effector's position ``float64[3]`` (m, base frame)."""

_ROUNDING = 1e-9
"""Slack for floating point alone: a command exactly on a bound passes."""

_STEPS = "Ask for smaller steps (the policy's, or `actions` in the robot file)"
_REMEDIES: Mapping[Check, str] = {
    "finite": "Look at action/asked in the log: the policy is at fault.",
    "joint limits": "Keep the policy away from there, or widen joints.lower and joints.upper in the robot file.",
    "velocity": f"{_STEPS}, or raise joints.velocity there.",
    "workspace": "Keep the policy inside, or widen workspace in the robot file.",
    "acceleration": f"{_STEPS} that grow over several commands, or raise joints.acceleration there.",
    "jerk": f"{_STEPS} that grow more slowly, or raise joints.jerk there (null: no bound).",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Motion:
    """What was last sent; the next command is compared with it.

    Attributes:
        position: rad, ``float64[J]``.
        velocity: rad/s, ``float64[J]``.
        acceleration: rad/s², ``float64[J]``.
    """

    position: Array
    velocity: Array
    acceleration: Array


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rejection:
    """Why a command was not sent.

    Attributes:
        check: the check that failed.
        reason: what was wrong, with the value and its bound.
    """

    check: Check
    reason: str

    @property
    def remedy(self) -> str:
        """What to change, and where."""
        return _REMEDIES[self.check]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounds:
    """What the gate compares with, as arrays.

    Attributes:
        names: joint names, for reasons.
        lower: rad, ``float64[J]``.
        upper: rad, ``float64[J]``.
        velocity: rad/s, ``float64[J]``.
        acceleration: rad/s², ``float64[J]``.
        jerk: rad/s³, ``float64[J]``, or None.
        box_lower: m, ``float64[3]``, base frame.
        box_upper: m, ``float64[3]``, base frame.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array | None
    box_lower: Array
    box_upper: Array


def bounds_of(joints: JointLimits, workspace: Workspace) -> Bounds:
    """The bounds of a robot description."""
    return Bounds(
        names=joints.names,
        lower=np.array(joints.lower, np.float64),
        upper=np.array(joints.upper, np.float64),
        velocity=np.array(joints.velocity, np.float64),
        acceleration=np.array(joints.acceleration, np.float64),
        jerk=None if joints.jerk is None else np.array(joints.jerk, np.float64),
        box_lower=np.array(workspace.lower, np.float64),
        box_upper=np.array(workspace.upper, np.float64),
    )


def at_rest(measured: Array) -> Motion:
    """The motion before the first command, and after any pause: standing at the measured position.

    Args:
        measured: rad, ``float64[J]``.
    """
    zero = np.zeros(len(measured))
    return Motion(position=np.array(measured, np.float64), velocity=zero, acceleration=zero)


def check_command(target: Array, last: Motion, bounds: Bounds, *, period: float, tool: Tool) -> Motion | Rejection:
    """Check one command.

    Args:
        target: joint positions to be reached in one period, rad, ``float64[J]``.
        last: what was sent before, or `at_rest` of the measured position.
        bounds: the robot's.
        period: seconds between commands.
        tool: the end effector's position at given joints.

    Returns:
        The motion that the command means, to be kept as the next ``last`` once it is sent; or why it must not be.
    """
    target = np.asarray(target)
    shape = (len(bounds.names),)
    if target.dtype.kind not in "fiu" or target.shape != shape:
        return Rejection(check="finite", reason=f"a command needs {shape[0]} numbers, got {target.dtype}{target.shape}")
    target = target.astype(np.float64)
    if not np.isfinite(target).all():
        return Rejection(check="finite", reason=f"the command is not finite: {target.tolist()}")
    # A number near the largest float overflows into infinity here, which no bound admits.
    with np.errstate(over="ignore", invalid="ignore"):
        velocity = (target - last.position) / period
        acceleration = (velocity - last.velocity) / period
        jerk = (acceleration - last.acceleration) / period
        return (
            _outside_limits(target, bounds)
            or _too_fast("velocity", velocity, bounds.velocity, bounds.names, "rad/s")
            or _outside_box(target, bounds, tool)
            or _too_fast("acceleration", acceleration, bounds.acceleration, bounds.names, "rad/s²")
            or _too_fast("jerk", jerk, bounds.jerk, bounds.names, "rad/s³")
            or Motion(position=target, velocity=velocity, acceleration=acceleration)
        )


def tracking_problem(measured: Array, motion: Motion, joints: JointLimits) -> str | None:
    """Why an arm does not follow its commands, or None when it does.

    Args:
        measured: rad, ``float64[J]``.
        motion: what was last sent.
        joints: the robot's.
    """
    error = np.abs(measured - motion.position)
    if error.max() <= joints.tracking:  # never true of NaN
        return None
    return (
        f"{joints.names[int(error.argmax())]} is {error.max():.3f} rad from its command (joints.tracking: "
        f"{joints.tracking:g} rad). See that its controller runs, its own stop is released and nothing blocks the arm; "
        "if it only lags, ask for slower motion (`actions` in the robot file) or raise joints.tracking there"
    )


def _within(value: Array, bound: Array) -> bool:
    # Written so that NaN is never within.
    return bool(np.all(value <= bound + _ROUNDING * np.maximum(1.0, np.abs(bound))))


def _outside_limits(target: Array, bounds: Bounds) -> Rejection | None:
    if _within(bounds.lower, target) and _within(target, bounds.upper):
        return None
    joint = int(np.argmax(np.maximum(bounds.lower - target, target - bounds.upper)))
    allowed = f"[{bounds.lower[joint]}, {bounds.upper[joint]}]"
    return Rejection(
        check="joint limits", reason=f"{bounds.names[joint]} to {target[joint]:.4f} rad is outside {allowed}"
    )


def _outside_box(target: Array, bounds: Bounds, tool: Tool) -> Rejection | None:
    tip = np.asarray(tool(target), np.float64)
    if _within(bounds.box_lower, tip) and _within(tip, bounds.box_upper):
        return None
    box = f"{bounds.box_lower.tolist()} to {bounds.box_upper.tolist()}"
    return Rejection(
        check="workspace", reason=f"the end effector at {np.round(tip, 4).tolist()} m would leave the box {box}"
    )


def _too_fast(check: Check, value: Array, bound: Array | None, names: tuple[str, ...], unit: str) -> Rejection | None:
    if bound is None or _within(np.abs(value), bound):
        return None
    joint = int(np.argmax(np.abs(value) - bound))
    return Rejection(
        check=check, reason=f"{names[joint]} would have {value[joint]:.3f} {unit}, the bound is {bound[joint]} {unit}"
    )
