"""Conventions as data: what the numbers in observations and actions mean, and who assumes what.

A world declares its `Conventions`; a policy declares those that it was trained with.  `check_compatible`
compares the two before the first step, because a wrong gripper sign or an upside-down image does not
crash: it only fails, quietly, at a success rate that looks like a bad policy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from ..errors import ConventionError

type Frame = Literal["world", "base", "eef", "joint", "agent", "none"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dim:
    """A group of consecutive entries of a state or action vector.

    Attributes:
        name: the field's standard name, such as ``"position"`` or ``"gripper"``.
        size: how many entries.
        unit: ``"m"``, ``"rad"``, ``"m/s"``, ``"1"`` (no unit), or a scale such as ``"0.05 m"`` when one
            unit of the entry is that much.
        frame: the frame that the entries are expressed in.
        representation: ``"axis_angle"``, ``"quaternion_xyzw"``, ``"rotation_6d"``, ``"delta"``, ``"absolute"``, …
        positive: what a positive value does where the sign is a convention (``"closes"`` for a gripper).
    """

    name: str
    size: int
    unit: str
    frame: Frame
    representation: str
    positive: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Camera:
    """One camera as the observation shows it.

    Attributes:
        name: the key is ``images.<name>``.
        height: pixels.
        width: pixels.
        upright: True when rows run from the top of the scene, as a person sees it.
        mirrored: True when left and right are exchanged (LIBERO's stock processor in LeRobot does this
            when it turns the raw frame by 180 degrees; see each world's page).
        rendering: how pixels are made, such as ``"faithful"`` or ``"fast"``; compared only when a policy
            names one.
    """

    name: str
    height: int
    width: int
    upright: bool = True
    mirrored: bool = False
    rendering: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Conventions:
    """What a world provides, or what a policy assumes.

    Attributes:
        action: groups of the action vector; empty for worlds whose actions are text or indices.
        actions_named: for a discrete world, the meaning of index 0, 1, …
        state: groups of ``state``.
        cameras: the images; a policy lists only those that it reads.
        control_hz: actions per second of simulated or real time; None where time does not matter.
    """

    action: tuple[Dim, ...] = ()
    actions_named: tuple[str, ...] = ()
    state: tuple[Dim, ...] = ()
    cameras: tuple[Camera, ...] = ()
    control_hz: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data for records and model files, read back by `from_json`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Conventions:
        """The inverse of `to_json`.

        Raises:
            ConventionError: a field is missing or unknown.
        """
        try:
            return cls(
                action=tuple(Dim(**dim) for dim in data.get("action", ())),
                actions_named=tuple(data.get("actions_named", ())),
                state=tuple(Dim(**dim) for dim in data.get("state", ())),
                cameras=tuple(Camera(**camera) for camera in data.get("cameras", ())),
                control_hz=data.get("control_hz"),
            )
        except TypeError as error:
            raise ConventionError(f"these conventions cannot be read: {error}.") from error


def entries(dims: Sequence[Dim], *, name: str | None = None, representation: str | None = None) -> slice | None:
    """Where the first group of this name or representation lies in its vector, or None where there is none."""
    start = 0
    for dim in dims:
        if name in (None, dim.name) and representation in (None, dim.representation):
            return slice(start, start + dim.size)
        start += dim.size
    return None


def check_compatible(world: Conventions, policy: Conventions | None, *, world_name: str, policy_name: str) -> None:
    """Raise `ConventionError`, naming every mismatch, unless the policy can act in the world.

    A policy without declared conventions (None) is accepted: `random` and the experts read nothing.
    An image of another size is accepted when the policy says so by leaving ``height`` and ``width`` 0.
    """
    if policy is None:
        return
    problems: list[str] = []
    if policy.action and policy.action != world.action:
        problems += _dims("action", world.action, policy.action)
    if policy.actions_named and policy.actions_named != world.actions_named:
        problems.append(f"actions: the world has {world.actions_named}, the policy expects {policy.actions_named}")
    if policy.state and policy.state != world.state:
        problems += _dims("state", world.state, policy.state)
    if policy.control_hz is not None and policy.control_hz != world.control_hz:
        problems.append(f"control rate: the world runs at {world.control_hz} Hz, the policy at {policy.control_hz} Hz")
    available = {camera.name: camera for camera in world.cameras}
    for wanted in policy.cameras:
        if wanted.name not in available:
            problems.append(f"camera {wanted.name!r} is missing; the world shows {sorted(available) or 'none'}")
        else:
            problems += _camera(available[wanted.name], wanted)
    if problems:
        listed = "\n  - ".join(problems)
        raise ConventionError(f"{policy_name} cannot act in {world_name}:\n  - {listed}")


def _dims(what: str, world: Sequence[Dim], policy: Sequence[Dim]) -> list[str]:
    problems = [
        f"{what} {theirs.name!r}: the world has {_differs(ours, theirs)}, the policy expects {_differs(theirs, ours)}"
        for ours, theirs in zip(world, policy, strict=False)
        if ours != theirs
    ]
    if len(world) != len(policy):
        names = [dim.name for dim in world], [dim.name for dim in policy]
        problems.append(f"{what}: the world has {names[0]}, the policy expects {names[1]}")
    return problems


def _differs(dim: Dim, other: Dim) -> str:
    ours, theirs = dataclasses.asdict(dim), dataclasses.asdict(other)
    return ", ".join(f"{key}={ours[key]!r}" for key in ours if ours[key] != theirs[key])


def _camera(world: Camera, policy: Camera) -> list[str]:
    problems: list[str] = []
    for field in ("height", "width", "rendering"):
        ours, theirs = getattr(world, field), getattr(policy, field)
        if theirs and ours != theirs:
            problems.append(f"camera {world.name!r}: the world has {field} {ours}, the policy expects {theirs}")
    for field in ("upright", "mirrored"):
        ours, theirs = getattr(world, field), getattr(policy, field)
        if ours != theirs:
            problems.append(f"camera {world.name!r}: the world has {field}={ours}, the policy expects {field}={theirs}")
    return problems
