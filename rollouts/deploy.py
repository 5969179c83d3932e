"""Deploying an agent to an arm: the same agent, the same `rollout`, and an operator who may hold, arm and stop."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..agents import Agent
from ..envs import EpisodeId, MultiStep, derive_seed
from ..envs.ros import ArmHeld, CommandReport, Event, Hold, RosArmEnv
from ..errors import WorldError
from .deploy_log import DeployLog
from .episode import Step, rollout

WORLD = "thinktwice/RosArm-v0"
_IDLE_SECONDS = 0.05


class Operator(Protocol):
    """Who watches the arm.  Holding and the e-stop go straight to the environment, from any thread."""

    @property
    def stopping(self) -> bool:
        """Whether the deployment is to end."""
        ...

    def wants_to_arm(self) -> bool:
        """Whether the operator asked to arm since the last call."""
        ...

    def forget(self) -> None:
        """Drop what was asked for before now: a word that was given before a hold does not lift it."""
        ...


@dataclasses.dataclass(kw_only=True)
class Status:
    """What the screen shows; written by the deployment, read by the view.

    Attributes:
        hold: why the arm is held, or None.
        step: the last decision and what came of it.
        segments: how often the agent began anew.
        decisions: made so far.
        late: of these, the ones that could not be waited for.
        commands: sent or checked so far.
        rejections: of the gate.
        last_rejection: its reason.
        message: the last thing that the bridge or the operator's command said.
        began: monotonic seconds.
        success: whether the task is done.
    """

    hold: Hold | None = None
    step: Step | None = None
    segments: int = 0
    decisions: int = 0
    late: int = 0
    commands: int = 0
    rejections: int = 0
    last_rejection: str = ""
    message: str = ""
    began: float = dataclasses.field(default_factory=time.monotonic)
    success: bool = False


class Recorder:
    """Where a deployment's environment reports to: the log and the status.

    Args:
        log: the file, or None to keep none.
    """

    def __init__(self, log: DeployLog | None) -> None:
        self.log, self.status = log, Status()

    def command(self, report: CommandReport) -> None:
        """For `RosArmEnv`'s ``on_command``."""
        self.status.commands += 1
        if report.rejection:
            self.status.rejections += 1
            self.status.last_rejection = report.rejection
        if self.log is not None:
            self.log.command(report)

    def event(self, event: Event) -> None:
        """For `RosArmEnv`'s ``on_event``."""
        self.say(f"bridge {event.kind}: {event.text}")

    def say(self, text: str) -> None:
        """Show and record a message."""
        self.status.message = text
        self.note("message", {"text": text})

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        """Record something in words."""
        if self.log is not None:
            self.log.event(kind, data)


def deploy(
    env: RosArmEnv,
    agent: Agent,
    operator: Operator,
    recorder: Recorder,
    *,
    task: str,
    seed: int,
    max_seconds: float,
    show: Callable[[], None] = lambda: None,
) -> Status:
    """Run an agent on an arm until success, the operator or the clock ends it.

    A hold ends a segment.  When the operator arms again, the agent begins anew with what it sees then: nothing that it
    had planned before is executed.

    Args:
        env: the arm, not necessarily armed.
        agent: any agent.
        operator: arms and stops.
        recorder: given to the environment as ``on_command`` and ``on_event``.
        task: the instruction.
        seed: of the agent; each segment derives its own.
        max_seconds: of wall time, holds included.
        show: called after every decision and while held.

    Raises:
        WorldError: the arm could not be reached at all.
    """
    status = recorder.status
    # Arming again begins a segment, and beginning must move nothing.
    env.put_back = False
    observation, _ = env.reset(seed=seed, options={"task": task})
    _ask_estop(env, recorder)
    # The first decision compiles and warms up; it is made for nothing while the arm is held.
    agent.reset(seed=seed)
    agent.act(observation)
    shown: Hold | None = None
    try:
        while not operator.stopping and not status.success and time.monotonic() - status.began < max_seconds:
            status.hold = env.hold
            if status.hold is not None and status.hold is not shown:
                recorder.note("hold", {"reason": status.hold.reason, "hold": status.hold.kind})
                shown = status.hold
                operator.forget()
            show()
            if status.hold is None:
                _segment(env, agent, operator, recorder, task=task, seed=seed, max_seconds=max_seconds, show=show)
            elif operator.wants_to_arm():
                _arm(env, recorder)
            else:
                time.sleep(_IDLE_SECONDS)
    finally:
        env.hold_now("the deployment ended")
        status.hold = env.hold
        recorder.note("end", {"success": status.success, "decisions": status.decisions})
        show()
    return status


def _ask_estop(env: RosArmEnv, recorder: Recorder) -> None:
    """Tell the operator before anybody arms whether the e-stop is there; arming asks again, and refuses without it."""
    try:
        env.probe_estop()
    except WorldError as error:
        recorder.say(str(error))
    else:
        recorder.note("e-stop", {"state": env.link.estop.state})


def _arm(env: RosArmEnv, recorder: Recorder) -> None:
    if recorder.log is not None and recorder.log.problem is not None:
        recorder.say(f"not armed: {recorder.log.problem}")
        return
    try:
        env.arm()
    except WorldError as error:
        recorder.say(str(error))
    else:
        recorder.say("armed")


def _segment(
    env: RosArmEnv,
    agent: Agent,
    operator: Operator,
    recorder: Recorder,
    *,
    task: str,
    seed: int,
    max_seconds: float,
    show: Callable[[], None],
) -> None:
    status = recorder.status
    episode = EpisodeId(world=WORLD, task=task, init_state=None, seed=derive_seed(seed, status.segments))
    status.segments += 1
    try:
        for step in rollout(MultiStep(env), agent, episode):
            _record(recorder, step)
            status.success = step.success
            status.hold = env.hold
            show()
            if recorder.log is not None and recorder.log.problem is not None:
                recorder.status.message = recorder.log.problem
                env.hold_now(recorder.log.problem)
            if operator.stopping or time.monotonic() - status.began > max_seconds:
                return
    except ArmHeld as held:
        recorder.say(str(held))


def _record(recorder: Recorder, step: Step) -> None:
    status, decision = recorder.status, step.decision
    status.step = step
    status.decisions += 1
    status.late += "late" in decision.notes
    recorder.note(
        "decision",
        {
            "index": step.index,
            "mode": decision.mode,
            "why": decision.why,
            "doubt": decision.doubt,
            "candidates": len(decision.candidates),
            "chosen": decision.chosen,
            "executed": len(step.executed),
            "act_seconds": step.seconds["act"],
            "late": decision.notes.get("late"),
            "success": step.success,
        },
    )
