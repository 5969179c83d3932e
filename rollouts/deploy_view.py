"""The screen of a deployment."""

from __future__ import annotations

import time

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..envs.ros import RosArmEnv
from .deploy import Status

KEYS = "[a] arm   [space] hold   [e] E-STOP   [s] success   [q] quit"


def screen(env: RosArmEnv, status: Status, *, title: str) -> Panel:
    """Everything that an operator watches, as one panel."""
    return Panel(Group(_banner(env, status), _table(env, status), Text(status.message[-300:], "dim")), title=title)


def line(env: RosArmEnv, status: Status) -> str:
    """The same in one line, for a log without a terminal."""
    hold = env.hold
    state = f"HELD ({hold.kind}): {hold.reason}" if hold else ("SHADOW" if env.link.shadow else "ARMED")
    step = status.step
    decided = "" if step is None else f" | {step.decision.mode}: {step.decision.why}"
    counts = f"{status.decisions} decisions, {status.rejections} rejected, {status.late} late"
    return f"{state} | {counts}{decided} | bridge: {bridge_state(env)} | e-stop: {estop_state(env)}"


def bridge_state(env: RosArmEnv) -> str:
    """The connection in words: away and coming back, open but silent, or in order."""
    client, now = env.link.client, time.monotonic()
    if (outage := client.outage) is not None:
        return f"reconnecting, {outage.describe(now)}"
    streams = (env.link.joints, *env.link.cameras.values())
    silent = [s.topic for s in streams if s.newest is None or s.newest.received < client.opened]
    if silent:
        return f"subscribed {now - client.opened:.1f} s ago, nothing has come on {', '.join(silent)} yet"
    return f"{client.counters.connections} connections, {client.counters.malformed} malformed frames"


def estop_state(env: RosArmEnv) -> str:
    """Whether the e-stop could be reached, in words."""
    if env.link.shadow:
        return "not connected in shadow mode"
    outage = env.link.estop.outage
    return env.link.estop.state if outage is None else f"reconnecting, {outage.describe(time.monotonic())}"


def _banner(env: RosArmEnv, status: Status) -> Text:
    hold = env.hold
    if status.success:
        return Text(" SUCCESS ", "bold white on green")
    if hold is not None:
        return Text(f" HELD  {hold.kind}: {hold.reason} ", "bold white on red")
    if env.link.shadow:
        return Text(" SHADOW  nothing is published ", "bold black on cyan")
    return Text(" ARMED  the arm moves ", "bold black on yellow")


def _table(env: RosArmEnv, status: Status) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", justify="right")
    table.add_column()
    step = status.step
    if step is not None:
        decision = step.decision
        table.add_row("task", str(step.observation["task"]))
        table.add_row("decision", f"{status.decisions}: {decision.mode}, {decision.why}")
        doubt = "-" if decision.doubt is None else f"{decision.doubt:.4g}"
        threshold = decision.notes.get("threshold")
        clutch = "open" if decision.mode == "deliberate" else "closed"
        table.add_row("doubt", doubt + (f" (threshold {threshold})" if threshold is not None else ""))
        table.add_row("clutch", f"{clutch}, {len(decision.candidates)} candidates, chosen {decision.chosen}")
        table.add_row("latency", f"decision {step.seconds['act'] * 1e3:.0f} ms, {status.late} late")
    table.add_row("state", " ".join(f"{value:+.3f}" for value in _joints(env)))
    now = time.monotonic()
    streams = {"joints": env.link.joints, **env.link.cameras}
    ages = [(name, stream.newest, stream) for name, stream in streams.items()]
    table.add_row(
        "staleness",
        "  ".join(
            f"{name} {sample.age(now) * 1e3:.0f}/{stream.max_age * 1e3:.0f} ms" if sample else f"{name} -"
            for name, sample, stream in ages
        ),
    )
    table.add_row("gate", f"{status.commands} commands, {status.rejections} rejected {status.last_rejection}")
    table.add_row("bridge", bridge_state(env))
    table.add_row("e-stop", estop_state(env))
    table.add_row("keys", Text(KEYS))
    return table


def _joints(env: RosArmEnv) -> list[float]:
    sample = env.link.joints.newest
    return [] if sample is None else sample.value.position[: len(env.robot.joints.names)].tolist()
