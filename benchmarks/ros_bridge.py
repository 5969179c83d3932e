"""Command round trips, tick jitter and fault detection over a real rosbridge server, beside roslibpy.

Run on a quiet machine: ``python -m benchmarks.ros_bridge``.  Both clients talk to the same server and the same
simulated arm, which publishes joint states at 100 Hz and images at 20 Hz; a round trip is a ``JointTrajectory`` that
the client publishes and hears back: client, server, ROS 2, server, client.  The simulated arm, which draws and encodes
images on the same cores, gives way to both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tyro

from thinktwice.envs.ros import ArmHeld, BridgeClient, BridgeServer, RosArmEnv, SimProcess, load_robot
from thinktwice.envs.ros.messages import joint_trajectory
from thinktwice.errors import WorldError

from .machine import machine, write

ECHO = "/benchmark/echo"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
STATES = ("/joint_states", "sensor_msgs/msg/JointState")
MEETING_SECONDS = 20
IMAGES = ("/camera/front/compressed", "sensor_msgs/msg/CompressedImage")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the benchmark."""

    seconds: float = 20.0
    """Of each round-trip and jitter measurement."""
    repeats: int = 5
    """Of each fault."""
    domain: int = 60
    """ROS_DOMAIN_ID."""
    rates: tuple[int, ...] = (20, 100)
    """Commands per second."""


def measure(
    publish: Callable[[dict[str, Any]], None], heard: dict[int, float], rate: int, seconds: float
) -> list[float]:
    """Milliseconds from publishing a numbered command to hearing it, at a fixed rate.

    What is sent before publisher and subscriber have found each other is lost; command 0 is repeated until it is heard.
    """

    def command(number: int) -> dict[str, Any]:
        return dict(joint_trajectory(["a"] * 7, np.zeros(7), stamp=float(number), seconds=0.1, frame="", ros=2))

    met = time.perf_counter() + MEETING_SECONDS
    while 0 not in heard:
        if time.perf_counter() > met:
            raise TimeoutError(f"no command came back within {MEETING_SECONDS} s")
        publish(command(0))
        time.sleep(0.1)
    sent: dict[int, float] = {}
    due = time.perf_counter()
    for number in range(1, int(rate * seconds) + 1):
        time.sleep(max(0.0, due - time.perf_counter()))
        sent[number] = time.perf_counter()
        publish(command(number))
        due += 1 / rate
    time.sleep(1.0)
    return [1e3 * (heard[number] - at) for number, at in sent.items() if number in heard]


def own_round_trips(server: BridgeServer, rate: int, seconds: float) -> dict[str, Any]:
    """Round trips of this library's client."""
    heard: dict[int, float] = {}
    with BridgeClient(server.url) as client:
        client.subscribe(*STATES, lambda _: None)
        client.subscribe(*IMAGES, lambda _: None, throttle_ms=45)
        client.advertise(ECHO, TRAJECTORY)
        client.subscribe(ECHO, TRAJECTORY, lambda m: heard.setdefault(m["header"]["stamp"]["sec"], time.perf_counter()))
        return summary(measure(lambda m: client.publish(ECHO, m), heard, rate, seconds), int(rate * seconds))


def roslibpy_round_trips(server: BridgeServer, rate: int, seconds: float) -> dict[str, Any]:
    """Round trips of roslibpy."""
    import roslibpy

    heard: dict[int, float] = {}
    ros = roslibpy.Ros("127.0.0.1", server.port)
    ros.run()
    roslibpy.Topic(ros, *STATES, queue_length=1).subscribe(lambda _: None)
    roslibpy.Topic(ros, *IMAGES, queue_length=1, throttle_rate=45).subscribe(lambda _: None)
    echo = roslibpy.Topic(ros, ECHO, TRAJECTORY)
    echo.subscribe(lambda m: heard.setdefault(m["header"]["stamp"]["sec"], time.perf_counter()))
    echo.advertise()
    result = summary(measure(lambda m: echo.publish(roslibpy.Message(m)), heard, rate, seconds), int(rate * seconds))
    ros.close()
    return result


def summary(milliseconds: list[float], expected: int) -> dict[str, Any]:
    """Percentiles, and how many of the commands came back."""
    p50, p99 = np.percentile(milliseconds, [50, 99])
    return {
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "heard": len(milliseconds),
        "sent": expected,
    }


def armed(server: BridgeServer) -> RosArmEnv:
    """The shipped Panda with its own limits, armed at home."""
    env = RosArmEnv(load_robot("panda_sim"), server.url, timeout=60)
    env.reset(seed=0)
    arm(env)
    return env


def arm(env: RosArmEnv) -> None:
    """Arm, waiting for the connections and data that arming needs."""
    deadline = time.monotonic() + 30
    while env.hold is not None and time.monotonic() < deadline:
        with contextlib.suppress(WorldError):
            env.arm()
        time.sleep(0.05)


def tick_jitter(server: BridgeServer, seconds: float) -> dict[str, Any]:
    """How far commands are from their ticks at 20 Hz, in milliseconds."""
    env, late = armed(server), list[float]()
    for _ in range(int(seconds * 20)):
        try:
            late.append(1e3 * env.step(env.hold_action())[4]["late_seconds"])
        except ArmHeld:
            arm(env)
    env.close()
    return {"std_ms": round(float(np.std(late)), 3), "max_ms": round(float(np.max(late)), 3), "ticks": len(late)}


def detection(
    fault: Callable[[], None], repair: Callable[[], None], server: BridgeServer, repeats: int
) -> dict[str, Any]:
    """Milliseconds from a fault to the hold."""
    taken: list[float] = []
    env = armed(server)
    for _ in range(repeats):
        env.step(env.hold_action())
        began = time.time()
        fault()
        while env.hold is None:
            time.sleep(0.001)
        taken.append(1e3 * (env.hold.at - began))
        repair()
        time.sleep(1.0)
        arm(env)
    env.close()
    return {"median_ms": round(float(np.median(taken)), 1), "max_ms": round(max(taken), 1), "repeats": repeats}


def roslibpy_dead_bridge(server: BridgeServer, repeats: int) -> dict[str, Any]:
    """Milliseconds from the server's death until roslibpy says that it is not connected."""
    import roslibpy

    taken: list[float] = []
    for _ in range(repeats):
        ros = roslibpy.Ros("127.0.0.1", server.port)
        ros.run()
        began = time.perf_counter()
        server.process.kill()
        while ros.is_connected and time.perf_counter() - began < 10:
            time.sleep(0.001)
        taken.append(1e3 * (time.perf_counter() - began))
        ros.close()
        server.stop()
        server.start()
    return {"median_ms": round(float(np.median(taken)), 1), "max_ms": round(max(taken), 1), "repeats": repeats}


def main(options: Options = Options()) -> None:
    """Measure everything and print one JSON object."""
    result: dict[str, Any] = {"machine": machine(), "seconds": options.seconds}
    with SimProcess(domain=options.domain, niceness=10) as arm_process, BridgeServer(domain=options.domain) as server:
        time.sleep(5)
        for rate in options.rates:
            result[f"round trip {rate} Hz, thinktwice"] = own_round_trips(server, rate, options.seconds)
            result[f"round trip {rate} Hz, roslibpy"] = roslibpy_round_trips(server, rate, options.seconds)
        result["tick jitter 20 Hz, thinktwice"] = tick_jitter(server, options.seconds)

        def kill() -> None:
            server.process.kill()

        def restart() -> None:
            server.stop()
            server.start()

        node = arm_process.process
        result["frozen robot, thinktwice"] = detection(
            lambda: node.send_signal(signal.SIGSTOP),
            lambda: node.send_signal(signal.SIGCONT),
            server,
            options.repeats,
        )
        result["frozen robot, roslibpy"] = "not detected: it has no watchdog"
        result["dead bridge, thinktwice"] = detection(kill, restart, server, options.repeats)
        result["dead bridge, roslibpy"] = roslibpy_dead_bridge(server, options.repeats)
    sys.stdout.write(json.dumps(result, indent=2) + f"\nwrote {write('ros_bridge', result)}\n")


if __name__ == "__main__":
    main(tyro.cli(Options, prog="python -m benchmarks.ros_bridge"))
