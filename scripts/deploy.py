"""``thinktwice deploy --robot panda_sim --bridge ws://…``: run an agent on an arm behind a rosbridge server."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import tyro
from rich.live import Live

from ..agents import Agent, ReflexAgent
from ..agents.catalog import agent_entry, build_policy
from ..envs.ros import Robot, RosArmEnv, load_robot
from ..errors import ConfigError, ThinkTwiceError
from ..rollouts.deploy import Recorder, deploy
from ..rollouts.deploy_budget import BudgetedAgent
from ..rollouts.deploy_keys import Keyboard
from ..rollouts.deploy_log import DeployLog
from ..rollouts.deploy_view import line, screen

_PROGRAM = "thinktwice deploy"
_LINE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeployArgs:
    """Run an agent on an arm. It starts held: press [a] to arm it, [space] to hold it, [e] for the e-stop.

    To try an arm, --policy wave moves the end effector slowly round a circle of 8 cm radius, and needs no model.
    """

    robot: str
    """The robot's YAML file, or the name of one that ships (panda_sim)."""
    bridge: str
    """The rosbridge server: ws://host:port or wss://host:port."""
    task: str = ""
    """The instruction, in words."""
    agent: str = "reflex"
    """The agent, as in thinktwice rollout; its own options follow on the same line."""
    shadow: bool = False
    """Run everything and publish nothing."""
    arm: bool = False
    """Arm at once, without waiting for the operator's key; for simulated arms."""
    control_hz: float | None = None
    """Commands per second; the robot file's own when not given."""
    max_seconds: float = 60.0
    """End after so long, holds included."""
    budget_ms: float | None = None
    """How long a decision may take before the reflex acts instead; half the robot's decision timeout when not given."""
    seed: int = 0
    """Seed of the agent."""
    log: Path | None = None
    """The MCAP log; deployments/TIME.mcap when not given."""
    ca_file: Path | None = None
    """A certificate authority for wss."""


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        0 when the task was done, 130 when it was interrupted, 1 when it ended otherwise.
    """
    args, agent_options = parse(arguments)
    robot = with_rate(load_robot(args.robot), args.control_hz)
    path = args.log or Path("deployments") / f"{time.strftime('%Y%m%d-%H%M%S')}.mcap"
    fingers = robot.gripper.joints if robot.gripper else ()
    about = {"robot": robot.model_dump(mode="json"), "agent": args.agent, "task": args.task, "shadow": args.shadow}
    log = DeployLog(path, joints=(*robot.joints.names, *fingers), about=about)
    recorder = Recorder(log)
    env = RosArmEnv(
        robot,
        args.bridge,
        task=args.task,
        shadow=args.shadow,
        ca_file=None if args.ca_file is None else str(args.ca_file),
        on_event=recorder.event,
        on_command=recorder.command,
    )
    interrupted = False
    try:
        agent = build_agent(args, agent_options, env)
        keys = {" ": env.hold_now, "e": lambda: _emergency(env, recorder), "s": env.mark_success}
        sys.stderr.write(f"connecting to {args.bridge}\n")
        with (
            _ended_by_signals(),
            Keyboard(keys, armed=args.arm) as operator,
            _shown(env, recorder, args) as show,
        ):
            deploy(
                env,
                agent,
                operator,
                recorder,
                task=args.task,
                seed=args.seed,
                max_seconds=args.max_seconds,
                show=show,
            )
    except KeyboardInterrupt:
        interrupted = True
    except ThinkTwiceError:
        if not recorder.status.commands:
            # Nothing happened yet, and the same command shall work once what is wrong is mended.
            log.discard()
        raise
    finally:
        last = line(env, recorder.status)
        env.close()
        log.close()
    status = recorder.status
    sys.stdout.write(f"{last}\nlog     {path}\nreplay  thinktwice replay {path}\n")
    if log.problem is not None:
        sys.stderr.write(f"thinktwice: the log is incomplete: {log.problem}\n")
    if interrupted:
        return 130
    return 0 if status.success else 1


def parse(arguments: Sequence[str]) -> tuple[DeployArgs, Any]:
    """The deployment's options and the agent's, which stand beside each other on one line.

    Raises:
        UsageError: there is no agent of that name.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    name = "reflex"
    for index, argument in enumerate(arguments):
        if argument == "--agent" and index + 1 < len(arguments):
            name = arguments[index + 1]
        elif argument.startswith("--agent="):
            name = argument.partition("=")[2]
    options = agent_entry(name).load()[0]
    call = dataclasses.make_dataclass(
        "Call",
        [("deploy", tyro.conf.OmitArgPrefixes[DeployArgs]), ("agent_options", tyro.conf.OmitArgPrefixes[options])],
        frozen=True,
    )
    read: Any = tyro.cli(call, prog=_PROGRAM, description=DeployArgs.__doc__, args=list(arguments))
    return read.deploy, read.agent_options


def with_rate(robot: Robot, rate: float | None) -> Robot:
    """The robot at another control rate.

    Raises:
        ConfigError: the rate is not positive, or leaves no room for the agent's time.
    """
    if rate is None:
        return robot
    if not rate > 0 or robot.timing.decision_ms > 1e3 / rate:
        raise ConfigError(
            f"--control-hz {rate:g} leaves less than timing.decision_ms ({robot.timing.decision_ms:g} ms) per command."
        )
    return robot.model_copy(update={"timing": robot.timing.model_copy(update={"rate_hz": rate})})


def build_agent(args: DeployArgs, options: Any, env: RosArmEnv) -> Agent:
    """The agent, behind a budget when it deliberates.

    Raises:
        UsageError: an agent or policy does not exist.
        ConventionError: the policy was trained with other conventions than the arm's.
    """
    agent = agent_entry(args.agent).load()[1](options, env)
    if isinstance(agent, ReflexAgent) or not hasattr(options, "policy"):
        return agent
    seconds = env.robot.timing.decision_timeout_s / 2 if args.budget_ms is None else args.budget_ms / 1e3
    reflex = ReflexAgent(build_policy(options.policy, env), execute=getattr(options, "execute", None))
    return BudgetedAgent(agent, reflex, seconds=seconds)


def _emergency(env: RosArmEnv, recorder: Recorder) -> None:
    """Press the e-stop in a thread of its own: an answer may take seconds, and the other keys must go on working."""

    def press() -> None:
        try:
            confirmed = env.emergency_stop()
        except ThinkTwiceError as error:
            recorder.say(str(error))
        else:
            recorder.say("e-stop confirmed by the robot" if confirmed else "e-stop sent; a topic cannot confirm it")

    threading.Thread(target=press, name="e-stop", daemon=True).start()


@contextlib.contextmanager
def _ended_by_signals() -> Generator[None]:
    """A closed terminal and a polite kill end a deployment as Ctrl-C does: the arm is held and the log is finished."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _shown(env: RosArmEnv, recorder: Recorder, args: DeployArgs) -> Generator[Callable[[], None]]:
    """A live panel on a terminal; elsewhere a line when something changes, and once a second."""
    if sys.stdout.isatty():
        title = f"{args.robot} at {args.bridge}"
        with Live(get_renderable=lambda: screen(env, recorder.status, title=title), refresh_per_second=8):
            yield lambda: None
        return
    last = ["", 0.0]

    def show() -> None:
        text, now = line(env, recorder.status), time.monotonic()
        changed = text.partition("|")[0] != str(last[0]).partition("|")[0]
        if changed or now - float(last[1]) > _LINE_SECONDS:
            last[:] = [text, now]
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    yield show
