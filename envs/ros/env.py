"""``thinktwice/RosArm-v0``: an arm behind a rosbridge server, as a gymnasium environment that owns the clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import ConfigError, ContractError, WorldError
from ..chunks import Array
from ..conventions import Conventions
from ..observations import Observation
from .gate import Motion, Rejection, at_rest, bounds_of, check_command, tracking_problem
from .hold import Hold, HoldKind, HoldLatch
from .homing import go_home
from .kinematics import Kinematics
from .link import ArmLink
from .messages import type_name
from .observing import arm_conventions, observation_space, observe, state_of
from .report import CommandReport
from .robot import Robot, load_robot
from .targets import Target, action_space, gripper_entry, target_of
from .wire import Event

_WATCH_SECONDS = 0.005
"""How often the watchdog looks; the fault it finds is at most this much older than its limit."""


class RosArmEnv(gym.Env[dict[str, Any], Array]):
    """Drives an arm, one command per control period.

    ``step`` sends one command and returns at the next tick.  Every command passes the safety gate; whatever the gate
    rejects, and every loss of data, bridge or time, latches a hold, and from then on ``step`` raises `ArmHeld` until an
    operator calls `arm`.  A new environment is held.  ``info["applied_action"]`` is what was really sent.

    An arm cannot be put back: ``reset`` waits for live data and moves nothing, unless the arm is armed and its
    description names a ``reset_service`` (a simulated arm).  ``options={"task": …}`` sets the instruction.  Success is
    what ``success_topic`` or `mark_success` says.

    Args:
        robot: a `Robot`, a YAML file, or the name of one that ships.
        bridge: ``ws://`` or ``wss://`` address of the rosbridge server.
        task: the instruction, for ``observation["task"]``.
        shadow: run everything and publish nothing.
        max_steps: the step cap; None for none.
        ca_file: a certificate authority for wss.
        timeout: seconds to wait for the bridge and the first data.
        on_event: told connection events and the server's status, from another thread.
        on_command: told every command, sent or rejected, before ``step`` goes on; it must return at once.

    Raises:
        ConfigError: the description lacks limits, or its model cannot be used.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  gymnasium's own declaration

    def __init__(
        self,
        robot: Robot | str | Path,
        bridge: str,
        *,
        task: str = "",
        shadow: bool = False,
        max_steps: int | None = None,
        ca_file: str | None = None,
        timeout: float = 20.0,
        on_event: Callable[[Event], None] | None = None,
        on_command: Callable[[CommandReport], None] | None = None,
    ) -> None:
        if max_steps is not None and max_steps < 1:
            raise ConfigError(f"max_steps must be at least 1, got {max_steps}.")
        self.robot = robot if isinstance(robot, Robot) else load_robot(robot)
        self.kinematics = Kinematics(self.robot)
        self.conventions: Conventions = arm_conventions(self.robot)
        self.action_space = action_space(self.robot)
        self.observation_space = observation_space(self.robot)
        self.latch = HoldLatch(self._on_hold)
        self._on_event, self._on_command = on_event, on_command
        self.link = ArmLink(
            self.robot, bridge, ca_file=ca_file, shadow=shadow, on_event=self._event, on_alarm=self._alarm
        )
        self._bounds = bounds_of(self.robot.joints, self.robot.workspace)
        self._task, self._max_steps, self._timeout = task, max_steps, timeout
        self.put_back = True
        """Whether `reset` may call the robot's reset service, which moves a simulated arm home."""
        self._opened = False
        self._closing = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="arm watchdog", daemon=True)
        self._resetting = False
        self._motion: Motion | None = None
        self._commanded: Array | None = None
        self._gripper: float | None = None
        self._next_tick = 0.0
        self._deciding_since: float | None = None
        self._steps = 0

    @property
    def hold(self) -> Hold | None:
        """Why the arm is held, or None while it is armed."""
        return self.latch.current

    def arm(self) -> None:
        """An operator's word that the arm may move: live data and an e-stop that answers are required.

        An arm that is armed already stays as it is.

        Raises:
            WorldError: the bridge is away, the e-stop does not answer, or data does not come in time; it stays held.
        """
        self._open()
        if self.hold is None:
            return
        requests = self.latch.requests
        self.latch.check_arming()
        try:
            self.probe_estop()
            self.link.restart_streams()
            for stream in (self.link.joints, *self.link.cameras.values()):
                stream.require(max(stream.max_age, 1.0))
        except WorldError as error:
            raise WorldError(f"the arm cannot be armed: {error}") from error
        problem = self.link.problem(time.monotonic())
        if problem is not None:
            raise WorldError(f"the arm cannot be armed: {problem[1]}.")
        self._forget()
        self.latch.arm(requests)

    def hold_now(self, reason: str = "an operator asked for it") -> None:
        """Hold the arm until it is armed again."""
        self.latch.hold("operator", reason)

    def probe_estop(self) -> None:
        """Ask, without pressing it, whether the e-stop is there; nothing is asked in shadow mode.

        Raises:
            WorldError: it is not; see `EmergencyStop.probe`.
        """
        if not self.link.shadow:
            self.link.estop.probe()

    def emergency_stop(self) -> bool:
        """Hold, and press the robot's e-stop on its own connection; returns whether the robot confirmed it.

        Until a robot that can confirm it has done so, the arm cannot be armed again.

        Raises:
            WorldError: it could not be sent or was not confirmed: use the hardware button.
        """
        self.latch.hold("e-stop", "the e-stop was pressed")
        self.latch.refuse("the e-stop was pressed and is not confirmed yet")
        try:
            confirmed = self.link.estop.press()
        except WorldError as error:
            self.latch.refuse(f"{error} Then press the e-stop here again, until the robot confirms it.")
            raise
        self.latch.refuse(None)
        return confirmed

    def home(self) -> None:
        """Bring the arm home with the robot's own action; see `homing.go_home`."""
        go_home(self.link, self.latch, self.kinematics, self._bounds)
        self._forget()

    def mark_success(self) -> None:
        """An operator's word that the task is done."""
        self.link.success = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode where the arm stands.

        Raises:
            WorldError: the bridge or a stream is missing.
        """
        super().reset(seed=seed)
        self._open()
        self._task = str((options or {}).get("task", self._task))
        if self.put_back and self.robot.reset_service is not None and self.hold is None and not self.link.shadow:
            self._put_back(self.robot.reset_service)
        self.link.success = False
        self._forget()
        self._steps = 0
        return dict(self.observe()), self._info(None)

    def step(self, action: Array) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Send one command, and look at the next tick.

        Raises:
            ArmHeld: the arm is held; nothing was sent, or the hold came while the command ran.
        """
        reward, terminated, truncated, info = self.step_blind(action)
        return dict(self.observe()), reward, terminated, truncated, info

    def step_blind(self, action: Array) -> tuple[float, bool, bool, dict[str, Any]]:
        """As `step`, without decoding images."""
        if not self._opened:
            raise ContractError("step was called before reset.")
        decided = None if self._deciding_since is None else time.monotonic() - self._deciding_since
        self._deciding_since = None
        self.latch.check()
        self._closing.wait(max(0.0, self._next_tick - time.monotonic()))
        tick = time.monotonic()
        late = tick - self._next_tick if self._next_tick else 0.0
        with self.latch.armed():
            self._check_fresh(tick, decided)
            if late > max(self.robot.command.horizon_periods - 1.0, 0.5) * self.robot.period or self.link.shadow:
                # The horizon has passed and the arm stands still: compare with where it really is.
                self._motion = None
            target = self._checked(action)
            self._report(action, target, late)
            if isinstance(target, Rejection):
                self.latch.hold("violation", f"{target.check}: {target.reason}. {target.remedy}")
                self.latch.check()
                raise ContractError("a rejected command left the arm armed.")
            try:
                self.link.send(target, gripper=target.gripper if target.gripper != self._gripper else None)
            except WorldError as error:
                self.latch.hold("bridge", str(error))
                self.latch.check()
                raise
            self._gripper = target.gripper
        # A late command moves the grid, so that two commands are never closer than a period.
        self._next_tick = max(self._next_tick, tick) + self.robot.period
        self._closing.wait(max(0.0, self._next_tick - self.robot.timing.decision_ms / 1e3 - time.monotonic()))
        self.latch.check()
        self._deciding_since = time.monotonic()
        self._steps += 1
        success = self.link.success
        capped = self._max_steps is not None and self._steps >= self._max_steps
        info = {**self._info(target), "decision_seconds": decided, "late_seconds": late}
        return float(success), success, capped and not success, info

    def observe(self) -> Observation:
        """The newest observation; images are decoded here and nowhere else.

        Raises:
            WorldError: an image cannot be decoded, or has another size than its crop needs.
        """
        return observe(self.robot, self.kinematics, self.link, self._task)

    def hold_action(self) -> Array:
        """The action that leaves the arm where it is."""
        gripper = [] if self.robot.gripper is None else [gripper_entry(self.robot.gripper, self._gripper)]
        if self.robot.actions.mode == "joint_position":
            joints = self._measured() if self._commanded is None else self._commanded
            return np.array([*joints, *gripper], np.float32)
        size = len(self.robot.joints.names) if self.robot.actions.mode == "joint_delta" else 6
        return np.array([0.0] * size + gripper, np.float32)

    def close(self) -> None:
        """Hold, and close the connections."""
        self.latch.hold("operator", "the program is ending")
        self._closing.set()
        if self._watchdog.is_alive():
            self._watchdog.join(timeout=2)
        if self._opened:
            # The hold above waits in the client's thread for a moment before the socket closes.
            time.sleep(_WATCH_SECONDS)
        self.link.close()

    def _open(self) -> None:
        if self._opened:
            return
        try:
            self.link.open(timeout=self._timeout)
        except WorldError:
            self.link.close()
            raise
        self._opened = True
        self._watchdog.start()

    def _forget(self) -> None:
        self._motion, self._commanded, self._gripper, self._deciding_since = None, None, None, None
        self._next_tick = 0.0

    def _put_back(self, service: str) -> None:
        # A simulated arm jumps home; that jump is no fault.
        self._resetting = True
        try:
            self.link.client.call_service(
                service, type_name("std_srvs/Trigger", self.robot.ros, "srv"), {}, timeout=self._timeout
            )
            self.link.restart_streams()
            for stream in (self.link.joints, *self.link.cameras.values()):
                stream.require(self._timeout)
        finally:
            self._resetting = False

    def _measured(self) -> Array:
        return self.link.reading().value.position[: len(self.robot.joints.names)]

    def _check_fresh(self, now: float, decided: float | None) -> None:
        """Hold instead of sending what was decided too late or on old data: the watchdog slept if this program did."""
        problem = self.link.problem(now)
        if problem is not None:
            self.latch.hold("bridge" if problem[0] == "bridge" else "data", problem[1])
        elif decided is not None and decided > self.robot.timing.decision_timeout_s:
            limit = self.robot.timing.decision_timeout_s
            self.latch.hold("late", f"the command came after {decided:.2f} s (limit {limit:g} s)")
        self.latch.check()

    def _checked(self, action: Array) -> Target | Rejection:
        measured = self._measured()
        last = at_rest(measured) if self._motion is None else self._motion
        reference = measured
        if self.robot.actions.reference != "measured" and self._commanded is not None and not self.link.shadow:
            reference = self._commanded
        target = target_of(action, self.robot, self.kinematics, reference)
        if isinstance(target, Rejection):
            return target
        verdict = check_command(
            target.joints, last, self._bounds, period=self.robot.period, tool=self.kinematics.position
        )
        if isinstance(verdict, Rejection):
            return verdict
        self._motion, self._commanded = verdict, verdict.position
        return target

    def _report(self, action: Array, target: Target | Rejection, late: float) -> None:
        if self._on_command is None:
            return
        rejected = isinstance(target, Rejection)
        newest = {name: stream.newest for name, stream in self.link.cameras.items()}
        self._on_command(
            CommandReport(
                at=time.time(),
                action=np.asarray(action),
                applied=None if rejected else target.applied,
                target=None if rejected else target.joints,
                rejection=f"{target.check}: {target.reason}" if rejected else "",
                sent=not rejected and not self.link.shadow,
                late_seconds=late,
                reading=self.link.reading(),
                state=state_of(self.robot, self.kinematics, self.link),
                images={name: sample for name, sample in newest.items() if sample is not None},
            )
        )

    def _info(self, target: Target | None) -> dict[str, Any]:
        now = time.monotonic()
        streams = {"joints": self.link.joints, **self.link.cameras}
        ages = {name: s.newest.age(now) for name, s in streams.items() if s.newest is not None}
        return {
            "is_success": self.link.success,
            "applied_action": None if target is None else target.applied,
            "target": None if target is None else target.joints,
            "sent": target is not None and not self.link.shadow,
            "age_seconds": ages,
        }

    def _event(self, event: Event) -> None:
        if event.kind == "disconnected":
            self.latch.hold("bridge", f"the connection broke: {event.text}")
        if self._on_event is not None:
            self._on_event(event)

    def _alarm(self, kind: str, reason: str) -> None:
        if self._resetting:
            return
        self.latch.hold("other publisher" if kind == "other publisher" else "data", reason)

    def _on_hold(self, _: Hold) -> None:
        self.link.send_hold()

    def _watch(self) -> None:
        while not self._closing.wait(_WATCH_SECONDS):
            if self.latch.current is not None or self._resetting:
                continue
            try:
                problem = self._problem(time.monotonic())
            except Exception as error:  # noqa: BLE001  # a watchdog that died would watch nothing, silently
                problem = "data", f"the watchdog failed: {type(error).__name__}: {error}"
            if problem is not None:
                self.latch.hold(*problem)

    def _problem(self, now: float) -> tuple[HoldKind, str] | None:
        lost = self.link.problem(now)
        if lost is not None:
            return ("bridge" if lost[0] == "bridge" else "data"), lost[1]
        since, limit = self._deciding_since, self.robot.timing.decision_timeout_s
        if since is not None and now - since > limit:
            return "late", f"no command came for {now - since:.2f} s (limit {limit:g} s)"
        motion = self._motion
        if motion is not None and not self.link.shadow:
            lag = tracking_problem(self._measured(), motion, self.robot.joints)
            if lag is not None:
                return "tracking", lag
        return None
