"""Every fault of the specification against real peers: a ROS 2 node and a real rosbridge server on loopback.

The arm's own journal is the witness.  `held_still` states the bound: once the hold is latched and the command's horizon
of two periods has passed, no joint moves more than 0.01 rad, and what it moved in between is less than 0.15 rad.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from thinktwice.envs.ros import ArmHeld, BridgeClient, BridgeServer, Robot, RosArmEnv, parse_robot
from thinktwice.errors import WorldError
from thinktwice.rollouts.deploy_view import bridge_state, estop_state

pytestmark = pytest.mark.sim

MOVE = np.array([1, 0, 0, 0, 0, 0, -1], np.float32)
COMMANDS = "/joint_trajectory_controller/joint_trajectory"
SETTLE = 0.5
STALE = 0.3


@contextmanager
def driven(peers, robot: Robot, **options: object) -> Iterator[RosArmEnv]:
    """An armed environment at home that another thread drives to and fro until the arm is held."""
    env = RosArmEnv(robot, peers.server.url, timeout=60, **options)
    try:
        env.reset(seed=0)
        for attempt in range(5):  # a loaded machine may starve a stream while nothing is wrong
            env.arm()
            try:
                env.reset(seed=0)
                for _ in range(5):
                    env.step(MOVE * 0.2)
                break
            except ArmHeld:
                assert attempt < 4, f"never ran undisturbed: {env.hold}"
        thread = threading.Thread(target=drive, args=(env,), daemon=True)
        thread.start()
        yield env
        env.hold_now("the test is over")
        thread.join(20)
    finally:
        env.close()


def drive(env: RosArmEnv) -> None:
    with contextlib.suppress(ArmHeld):
        for index in range(100_000):
            env.step(MOVE * 0.4 * np.sin(index / 30))


def held_still(peers, env: RosArmEnv, until: Callable[..., None]) -> str:
    """Wait for the hold, and check with the arm's journal that it holds."""
    until(lambda: env.hold, "held", 30)
    hold = env.hold
    assert hold is not None
    time.sleep(SETTLE + 0.7)
    now = time.time()
    assert peers.journal.travel(hold.at, hold.at + SETTLE) < 0.15
    assert peers.journal.travel(hold.at + SETTLE, now) < 0.01
    return hold.kind


def nothing_stale(peers, since: float) -> None:
    for entry in peers.journal.accepted(since):
        # The controller may finish a command within its horizon of two periods, and no later.
        assert entry["time"] - entry["stamp"] < STALE, entry


def recovers(peers, env: RosArmEnv, since: float, until: Callable[..., None]) -> None:
    """Nothing resumes by itself; after an operator's arm() exactly what is commanded then is executed."""
    until(lambda: env.link.client.connected and env.link.estop.connected, "connected again", 60)
    time.sleep(0.5)
    assert peers.journal.accepted(since) == []
    with pytest.raises(ArmHeld):
        env.step(MOVE * 0.1)
    deadline = time.monotonic() + 60
    while not peers.journal.accepted(since):
        assert time.monotonic() < deadline, (env.hold, peers.journal.entries(since)[-5:])
        if any(entry.get("verdict") == "stopped" for entry in peers.journal.entries(since)):
            # A press is repeated until it is answered: the robot may get the last one after the release.
            peers.release()
        with contextlib.suppress(WorldError):
            if env.hold is not None:
                env.arm()
            env.step(MOVE * 0.1)
    nothing_stale(peers, since)


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        ("joints-silent", {"data"}),
        ("joints-stuck", {"data"}),
        ("joints-nan", {"data"}),
        ("joints-missing", {"data"}),
        ("clock-behind", {"data"}),
        ("clock-ahead", {"data"}),
        # After a tick that a starved machine missed, the command is compared with the arm that did not follow.
        ("frozen", {"tracking", "violation"}),
    ],
)
def test_faults_of_the_robot_hold_the_arm_and_the_estop_still_works(peers, real_panda, until, fault, kinds) -> None:
    with driven(peers, real_panda) as env:
        peers.fault(fault)
        assert held_still(peers, env, until) in kinds
        assert env.emergency_stop() is True
        since = time.time()
        peers.fault("none")
        peers.release()
        recovers(peers, env, since, until)


def confirmed(env: RosArmEnv) -> bool:
    """Whether the robot confirmed a press of the e-stop."""
    try:
        return env.emergency_stop()
    except WorldError:
        return False


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        ("camera-silent", {"data"}),
        ("camera-stuck", {"data"}),
        ("camera-broken", {"data"}),
        ("camera-huge", {"bridge", "data"}),
    ],
)
def test_faults_of_the_camera_hold_the_arm_and_the_estop_still_works(peers, seeing_panda, until, fault, kinds) -> None:
    with driven(peers, seeing_panda) as env:
        peers.fault(fault)
        assert held_still(peers, env, until) in kinds
        # A server does nothing else while it makes JSON of 12 MB.
        until(lambda: env.link.estop.connected, "the e-stop's connection", 30)
        until(lambda: confirmed(env), "the e-stop's confirmation", 60)
        since = time.time()
        peers.fault("none")
        peers.release()
        recovers(peers, env, since, until)


def stop_and_release(peers, env: RosArmEnv, until) -> None:
    """What an operator does after an e-stop that was not confirmed: nothing else lets the arm be armed again."""
    with pytest.raises(WorldError, match="press the e-stop here again"):
        env.arm()
    until(lambda: env.link.estop.connected, "the e-stop's connection", 30)
    until(lambda: confirmed(env), "the e-stop's confirmation", 60)
    peers.release()


def test_reordered_joint_states_are_dropped_and_the_arm_goes_on(peers, real_panda) -> None:
    with driven(peers, real_panda) as env:
        peers.fault("joints-reordered")
        before, stamps = env.link.joints.dropped, []
        for _ in range(40):
            stamps.append(env.link.reading().stamp)
            time.sleep(0.02)
        assert env.link.joints.dropped > before
        assert (np.diff(stamps) >= 0).all()
        assert env.emergency_stop() is True


def test_a_killed_bridge_holds_the_arm_and_a_restarted_one_resumes_nothing(peers, seeing_panda, until) -> None:
    shown: list[str] = []
    with driven(peers, seeing_panda) as env:
        peers.server.process.kill()
        assert held_still(peers, env, until) == "bridge"
        until(lambda: re.search(r"away for .* s \(.*\); [3-9] tries, the next in", bridge_state(env)), "it is told")
        assert "reconnecting" in estop_state(env)
        with pytest.raises(WorldError, match="hardware button"):
            env.emergency_stop()
        since = time.time()
        peers.server.stop()
        peers.server.start()
        until(lambda: shown.append(bridge_state(env)) or "2 connections" in shown[-1], "everything flows again", 60)
        assert any(re.search(r"subscribed \d.* nothing has come on /joint_states", text) for text in shown)
        now = time.monotonic()
        assert all(stream.problem(now) is None for stream in (env.link.joints, *env.link.cameras.values()))
        stop_and_release(peers, env, until)
        recovers(peers, env, since, until)


def test_arming_asks_the_estop_and_is_refused_without_it(peers, real_panda) -> None:
    since = time.time()
    with driven(peers, real_panda) as env:
        assert env.link.estop.state == "/sim_panda/get_parameters answers"
    data = real_panda.model_dump(mode="json")
    data["estop"]["probe"]["name"] = "/nobody/get_parameters"
    env = RosArmEnv(parse_robot(data), peers.server.url, timeout=60)
    try:
        env.reset(seed=0)
        with pytest.raises(WorldError, match=r"cannot be armed: .*e-stop.*does not answer.*/nobody/get_parameters"):
            env.arm()
        assert env.hold is not None
        assert "NOBODY ANSWERS" in estop_state(env)
    finally:
        env.close()
    assert not [entry for entry in peers.journal.entries(since) if entry.get("command") == "estop"], (
        "it was not pressed"
    )


def test_a_stopped_bridge_holds_the_arm_and_delivers_nothing_stale_when_it_goes_on(peers, real_panda, until) -> None:
    with driven(peers, real_panda) as env:
        peers.server.process.send_signal(signal.SIGSTOP)
        since = time.time()
        assert held_still(peers, env, until) in ("data", "bridge")
        with pytest.raises(WorldError, match="hardware button"):
            env.emergency_stop()
        time.sleep(1.0)
        peers.server.process.send_signal(signal.SIGCONT)
        time.sleep(1.0)
        # What the server had in its socket reaches the arm late; the arm refuses it by its stamp.
        assert peers.journal.accepted(since + STALE) == []
        stop_and_release(peers, env, until)
        recovers(peers, env, time.time(), until)


def test_a_frozen_robot_holds_and_executes_nothing_when_it_thaws(peers, real_panda, until) -> None:
    with driven(peers, real_panda) as env:
        peers.sim.process.send_signal(signal.SIGSTOP)
        until(lambda: env.hold, "held", 30)
        assert env.hold is not None
        assert env.hold.kind == "data"
        with pytest.raises(WorldError, match="hardware button"):
            env.emergency_stop()
        time.sleep(1.0)
        since = time.time()
        peers.sim.process.send_signal(signal.SIGCONT)
        time.sleep(1.0)
        assert peers.journal.accepted(since) == []
        assert peers.journal.travel(since + SETTLE, time.time()) < 0.01


def test_a_second_publisher_holds_the_arm(peers, real_panda, until) -> None:
    with driven(peers, real_panda) as env, BridgeClient(peers.server.url) as other:
        other.advertise(COMMANDS, "trajectory_msgs/msg/JointTrajectory")
        while env.hold is None:
            other.publish(COMMANDS, {"joint_names": ["intruder"], "points": []})
            time.sleep(0.05)
        assert held_still(peers, env, until) == "other publisher"
        assert env.emergency_stop() is True


def test_a_policy_slower_than_its_time_holds_the_arm(peers, real_panda, until) -> None:
    data = real_panda.model_copy(update={"timing": real_panda.timing.model_copy(update={"decision_timeout_s": 0.4})})
    env = RosArmEnv(data, peers.server.url, timeout=60)
    try:
        env.reset(seed=0)
        env.arm()
        with contextlib.suppress(ArmHeld):
            env.step(MOVE)
        assert held_still(peers, env, until) in ("late", "data")
        since = time.time()
        with pytest.raises(ArmHeld):
            env.step(MOVE)
        assert env.emergency_stop() is True
        assert peers.journal.accepted(since) == []
    finally:
        env.close()


def test_a_violation_is_not_sent_and_the_estop_works_after_it(peers, real_panda, until) -> None:
    env = RosArmEnv(real_panda, peers.server.url, timeout=60)
    try:
        env.reset(seed=0)
        env.arm()
        since = time.time()
        with pytest.raises(ArmHeld):
            env.step(np.full(7, np.nan, np.float32))
        assert held_still(peers, env, until) in ("violation", "data")
        assert peers.journal.accepted(since) == []
        assert env.emergency_stop() is True
    finally:
        env.close()


def test_a_slow_consumer_sees_the_present(peers, seeing_panda) -> None:
    with driven(peers, seeing_panda) as env:
        ages = []
        for _ in range(6):
            time.sleep(0.4)
            sample = env.link.cameras["front"].newest
            assert sample is not None
            ages.append(sample.age(time.monotonic()))
    # A queue would have grown by 0.4 s each time; the camera runs at 10 Hz.
    assert min(ages[-3:]) < 0.5


CLIENT = """
    import sys, numpy as np
    from thinktwice.envs.ros import RosArmEnv, parse_robot
    import json
    env = RosArmEnv(parse_robot(json.loads(sys.argv[2])), sys.argv[1], timeout=60)
    env.reset(seed=0)
    env.arm()
    print("driving", flush=True)
    while True:
        env.step(np.array([0.5, 0, 0, 0, 0, 0, -1], np.float32))
"""


def test_a_client_that_is_killed_in_the_middle_of_a_motion_leaves_a_still_arm(peers, real_panda) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CLIENT), peers.server.url, real_panda.model_dump_json()]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    try:
        assert client.stdout.readline() == "driving\n"
        began = time.time()
        deadline = time.monotonic() + 30
        while len(peers.journal.accepted(began)) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    killed = time.time()
    time.sleep(SETTLE + 0.7)
    assert peers.journal.travel(killed, killed + SETTLE) < 0.15
    assert peers.journal.travel(killed + SETTLE, time.time()) < 0.01


def test_bridges_of_other_domains_do_not_see_the_arm(peers) -> None:
    with BridgeServer(domain=peers.domain + 1) as elsewhere, BridgeClient(elsewhere.url) as client:
        heard: list = []
        client.subscribe("/joint_states", "sensor_msgs/msg/JointState", heard.append)
        time.sleep(2)
        assert heard == []
