"""Deploying: the loop, the budget, the log, the screen and the command, against the fake arm."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from thinktwice.agents import Decision, ReflexAgent
from thinktwice.agents.policies.wave import build_wave
from thinktwice.envs.ros import FakeArm, FakeBridge, RosArmEnv, load_robot, parse_robot
from thinktwice.errors import ConfigError, ConventionError, RecordError
from thinktwice.rollouts.deploy import Recorder, deploy
from thinktwice.rollouts.deploy_budget import BudgetedAgent
from thinktwice.rollouts.deploy_keys import Keyboard
from thinktwice.rollouts.deploy_log import DeployLog
from thinktwice.rollouts.deploy_replay import read_log, summarise
from thinktwice.rollouts.deploy_view import line, screen
from thinktwice.scripts import cli
from thinktwice.scripts.deploy import parse, with_rate

pytestmark = pytest.mark.slow

HOME = np.array([0.0, 0.19635, 0.0, -2.61799, 0.0, 2.94159, 0.785398])
COMMANDS = "/joint_trajectory_controller/joint_trajectory"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[tuple[FakeBridge, RosArmEnv, Recorder, DeployLog]]:
    data = load_robot("panda_sim").model_dump(mode="json")
    data["joint_states"]["max_age_ms"] = 1500
    data["cameras"]["front"]["max_age_ms"] = 3000
    robot = parse_robot(data)
    with FakeBridge() as bridge, FakeArm(bridge, robot, HOME):
        bridge.services["/reset"] = lambda _: {"success": True}
        names = (*robot.joints.names, "panda_finger_joint1", "panda_finger_joint2")
        log = DeployLog(tmp_path / "log.mcap", joints=names, about={"robot": data, "agent": "reflex", "task": "wave"})
        recorder = Recorder(log)
        env = RosArmEnv(robot, bridge.url, on_event=recorder.event, on_command=recorder.command)
        yield bridge, env, recorder, log
        env.close()
        log.close()


class ScriptedOperator:
    """Arms at the given decision counts, and stops after the last."""

    def __init__(self, recorder: Recorder, *, arm: int, stop_after: int) -> None:
        self._recorder, self._arms, self._stop_after = recorder, arm, stop_after
        self.asked = 0

    @property
    def stopping(self) -> bool:
        return self._recorder.status.decisions >= self._stop_after

    def wants_to_arm(self) -> bool:
        self.asked += 1
        if self._arms == 0:
            return False
        self._arms -= 1
        return True

    def forget(self) -> None:
        """Its words are counted, not remembered."""


def run(env: RosArmEnv, agent, operator, recorder: Recorder, **options: object):
    return deploy(env, agent, operator, recorder, task="wave", seed=0, **{"max_seconds": 60.0, **options})


def test_an_agent_drives_the_arm_after_the_operator_armed_it(deployment) -> None:
    bridge, env, recorder, log = deployment
    status = run(env, ReflexAgent(build_wave("", env)), ScriptedOperator(recorder, arm=1, stop_after=3), recorder)
    log.close()
    assert (status.decisions, status.segments, status.rejections) == (3, 1, 0)
    moves = [message for message in bridge.published(COMMANDS) if message["points"]]
    assert len(moves) == 24
    assert env.hold is not None, "the arm is held when the deployment ends"
    loaded = read_log(log.path)
    assert loaded.whole
    assert len(loaded.of("sent")) == 24
    assert len(loaded.of("state")) == 24, "every command has the state that it was sent in"
    order = [entry.topic for entry in loaded.entries if entry.topic in ("state", "sent")]
    assert order == ["state", "sent"] * 24
    assert len(loaded.of("camera/front/compressed")) >= 1
    kinds = [event["kind"] for _, event in loaded.events()]
    assert kinds.index("hold") < kinds.index("decision") < kinds.index("end")
    asked = [entry.message.data for entry in loaded.of("action/asked")]
    np.testing.assert_allclose(asked[0], loaded.of("action/applied")[0].message.data)
    assert "draw" not in summarise(loaded)
    assert "decision" in summarise(loaded)


def test_without_an_operators_word_nothing_is_sent(deployment) -> None:
    bridge, env, recorder, _ = deployment
    operator = ScriptedOperator(recorder, arm=0, stop_after=1)
    status = run(env, ReflexAgent(build_wave("", env)), operator, recorder, max_seconds=1.0)
    assert status.decisions == 0
    assert operator.asked > 0
    assert [message for message in bridge.published(COMMANDS) if message["points"]] == []


class Remembering:
    """A wave that counts its resets, and once asks for something impossible."""

    def __init__(self, inner: ReflexAgent, *, bad_decision: int) -> None:
        self._inner, self._bad = inner, bad_decision
        self.resets: list[int] = []
        self.decisions = 0

    def reset(self, *, seed: int) -> None:
        self.resets.append(seed)
        self._inner.reset(seed=seed)

    def act(self, observation):
        decision = self._inner.act(observation)
        self.decisions += 1
        if self.decisions == self._bad:
            chunk = np.array(decision.chunk)
            chunk[:, 3:6] = [-1, 1, -1]
            chunk[1::2, 3:6] *= -1
            return dataclasses.replace(decision, chunk=chunk * 1.0)
        return decision

    def describe(self) -> dict:
        return {}


def test_a_violation_ends_the_segment_and_the_agent_begins_anew_when_armed(deployment) -> None:
    bridge, env, recorder, log = deployment
    tight = env.robot.joints.model_copy(update={"acceleration": (4.0,) * 7})
    env._bounds = dataclasses.replace(env._bounds, acceleration=np.array(tight.acceleration))
    agent = Remembering(ReflexAgent(build_wave("", env)), bad_decision=3)
    resets: list[dict] = []
    bridge.services["/reset"] = lambda request: resets.append(request) or {"success": True}
    status = run(env, agent, ScriptedOperator(recorder, arm=2, stop_after=3), recorder, max_seconds=20)
    log.close()
    assert status.segments == 2
    assert not resets, "arming again moves nothing"
    assert status.rejections >= 1
    assert "acceleration" in status.last_rejection
    assert len(agent.resets) >= 3
    assert len(set(agent.resets[1:])) == len(agent.resets[1:]), "each segment has a seed of its own"
    reasons = [event["reason"] for _, event in read_log(log.path).events() if event["kind"] == "rejected"]
    assert "acceleration" in reasons[0]


@pytest.mark.slow
def test_a_full_disk_holds_the_arm_and_does_not_let_it_be_armed_again(deployment) -> None:
    _, env, recorder, _ = deployment
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    recorder.log = DeployLog(full, joints=("a",) * 9, about={"robot": {}, "agent": "", "task": ""})
    status = run(
        env, ReflexAgent(build_wave("", env)), ScriptedOperator(recorder, arm=5, stop_after=10_000), recorder,
        max_seconds=8.0,
    )  # fmt: skip
    assert recorder.log.problem is not None
    assert "No space left" in recorder.log.problem
    assert env.hold is not None
    assert "No space left" in status.message
    recorder.log.close()


def test_a_log_is_never_written_over_and_a_broken_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.mcap"
    path.write_bytes(b"something else")
    with pytest.raises(RecordError, match="cannot be made"):
        DeployLog(path, joints=(), about={})
    with pytest.raises(RecordError, match="no log of a deployment"):
        read_log(path)
    with pytest.raises(RecordError, match="cannot be read"):
        read_log(tmp_path / "nothing.mcap")


KILLED = """
    import sys, time
    from pathlib import Path
    from thinktwice.rollouts.deploy_log import DeployLog
    log = DeployLog(Path(sys.argv[1]), joints=("a",), about={"robot": {"name": "r"}, "agent": "x", "task": "t"})
    for number in range(1000):
        log.event("count", {"number": number})
        if number == 500:
            time.sleep(2)
            print("written", flush=True)
            time.sleep(60)
"""


@pytest.mark.slow
def test_a_log_is_readable_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "log.mcap"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.kill()
    loaded = read_log(path)
    assert not loaded.whole
    assert [event["number"] for _, event in loaded.events()] == list(range(501))
    assert "cut off" in summarise(loaded)


def test_a_log_that_is_cut_anywhere_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.mcap"
    log = DeployLog(path, joints=("a",), about={"robot": {"name": "r"}, "agent": "x", "task": "t"})
    for number in range(5000):
        log.event("count", {"number": number, "text": str(number) * 20})
        if number % 500 == 0:
            time.sleep(0.1)
    log.close()
    whole = path.read_bytes()
    counts = []
    for part in (0.2, 0.4, 0.6, 0.8, 0.999, 1.0):
        path.write_bytes(whole[: int(len(whole) * part)])
        loaded = read_log(path)
        assert [event["number"] for _, event in loaded.events()] == list(range(len(loaded.entries)))
        counts.append(len(loaded.entries))
    assert counts == sorted(counts)
    assert counts[-1] == 5000
    assert 0 < counts[1] < 5000


class Scripted:
    """An agent that takes as long as it is told."""

    def __init__(self, name: str, wait: Callable[[], object] = lambda: None) -> None:
        self._name, self._wait = name, wait

    def reset(self, *, seed: int) -> None:
        del seed

    def act(self, observation) -> Decision:
        del observation
        self._wait()
        return Decision(chunk=np.zeros((1, 1)), mode="deliberate", why=self._name)

    def describe(self) -> dict:
        return {"agent": self._name}


def test_a_decision_in_time_is_the_agents() -> None:
    agent = BudgetedAgent(Scripted("thought"), Scripted("reflex"), seconds=30)
    agent.reset(seed=0)
    assert agent.act({}).why == "thought"
    assert agent.describe()["budget_seconds"] == 30


def test_a_late_decision_is_not_waited_for_and_thrown_away() -> None:
    gate = threading.Event()
    agent = BudgetedAgent(Scripted("thought", gate.wait), Scripted("reflex"), seconds=0.05)
    agent.reset(seed=0)
    first = agent.act({})
    assert first.mode == "reflex"
    assert "took longer than 50 ms" in first.notes["late"]
    assert "still going on" in agent.act({}).notes["late"]
    gate.set()
    deadline = time.monotonic() + 10
    while (decision := agent.act({})).mode == "reflex":
        assert time.monotonic() < deadline
    assert decision.why == "thought"
    agent.reset(seed=1)


def test_an_agents_error_is_an_error() -> None:
    def fail() -> None:
        raise ConfigError("weights")

    agent = BudgetedAgent(Scripted("thought", fail), Scripted("reflex"), seconds=30)
    with pytest.raises(ConfigError, match="weights"):
        agent.act({})
    with pytest.raises(ConfigError, match="budget"):
        BudgetedAgent(Scripted("thought"), Scripted("reflex"), seconds=0)


def test_an_operator_who_armed_too_early_has_to_arm_again(deployment) -> None:
    _, env, recorder, _ = deployment
    keyboard = Keyboard({})

    class Impatient:
        """Asks to arm while held, and again while armed; holds after two decisions."""

        @property
        def stopping(self) -> bool:
            status = recorder.status
            if status.decisions == 2 and env.hold is None:
                keyboard.press("a")
                env.hold_now()
                self.held_at = time.monotonic()
            return status.decisions >= 2 and env.hold is not None and time.monotonic() - self.held_at > 0.5

        def wants_to_arm(self) -> bool:
            if recorder.status.decisions == 0:
                keyboard.press("a")
            return keyboard.wants_to_arm()

        def forget(self) -> None:
            keyboard.forget()

    run(env, ReflexAgent(build_wave("", env)), Impatient(), recorder)
    assert recorder.status.decisions <= 3
    assert recorder.status.segments == 1


def test_the_screen_shows_what_an_operator_needs(deployment) -> None:
    _, env, recorder, _ = deployment
    run(env, ReflexAgent(build_wave("", env)), ScriptedOperator(recorder, arm=1, stop_after=1), recorder)
    recorder.status.last_rejection = "velocity: joint 3"
    console = Console(file=io.StringIO(), width=160)
    console.print(screen(env, recorder.status, title="panda"))
    shown = console.file.getvalue()
    for word in (
        "[a] arm",
        "[q] quit",
        "HELD",
        "ended",
        "doubt",
        "clutch",
        "candidates",
        "latency",
        "staleness",
        "rejected",
        "E-STOP",
    ):
        assert word in shown
    assert "velocity: joint 3" in shown
    assert line(env, recorder.status).startswith("HELD (operator)")
    for told in (" ".join(shown.split()), line(env, recorder.status)):
        assert "1 connections, 0 malformed frames" in told
        assert "/sim_panda/get_parameters answers" in told


def test_wave_refuses_an_arm_whose_actions_are_no_position_deltas() -> None:
    robot = load_robot("panda_sim")
    joints = robot.model_copy(update={"actions": robot.actions.model_copy(update={"mode": "joint_delta"})})
    with pytest.raises(ConventionError, match="position delta"):
        build_wave("", RosArmEnv(joints, "ws://127.0.0.1:1"))


def test_the_command_reads_its_own_and_the_agents_options() -> None:
    args, options = parse(["--robot", "panda_sim", "--bridge", "ws://x:1", "--agent", "reflex", "--policy", "wave"])
    assert (args.robot, args.bridge, args.shadow, args.arm, options.policy) == (
        "panda_sim",
        "ws://x:1",
        False,
        False,
        "wave",
    )


def test_a_rate_that_leaves_no_time_is_refused() -> None:
    robot = load_robot("panda_sim")
    assert with_rate(robot, 40.0).period == pytest.approx(0.025)
    with pytest.raises(ConfigError, match="decision_ms"):
        with_rate(robot, 100.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--robot", "panda_sin", "--bridge", "ws://127.0.0.1:1"], "Did you mean 'panda_sim'"),
        (["--robot", "panda_sim", "--bridge", "http://127.0.0.1:1"], "ws://"),
        (["--robot", "panda_sim", "--bridge", "ws://127.0.0.1:1", "--agent", "nobody"], "there is no agent"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], says: str, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["deploy", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_robot_without_limits_refuses_to_start(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(load_robot("panda_sim").directory) / "panda_sim.yaml").read_text()
    start, end = text.index("workspace:"), text.index("model:")
    (tmp_path / "mine.yaml").write_text(text[:start] + text[end:])
    assert cli.run(["deploy", "--robot", "mine.yaml", "--bridge", "ws://127.0.0.1:1"]) == 2
    assert "workspace is required and has no safe default" in capsys.readouterr().err
    assert not (tmp_path / "deployments").exists()
