"""Command round trips, tick jitter and fault detection over a real rosbridge server, beside roslibpy.

Run on a quiet machine: ``python -m benchmarks.ros_bridge``.  Both clients talk to the same server and the same
simulated arm, which publishes joint states at 100 Hz and images at 20 Hz; a round trip is a ``JointTrajectory`` that
the client publishes and hears back: client, server, ROS 2, server, client.  The simulated arm, which draws and encodes
images on the same cores, gives way to all.

Rows called ``floor`` have no robot client in them; what they take is the server's, ROS 2's and the machine's own.  For
round trips it is one bare websocket that reads the same topics and decodes nothing but its echo; for ticks, a loop that
only sleeps; for a dead bridge, a socket that waits for its end.  Round trips and ticks take turns, so that what else
the machine does meets all rows alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
import signal
import socket
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
    turns: int = 5
    """Into which each measurement's seconds are divided; the rows take turns."""


def numbered(number: int) -> dict[str, Any]:
    """A command that is known again by its stamp."""
    return dict(joint_trajectory(["a"] * 7, np.zeros(7), stamp=float(number), seconds=0.1, frame="", ros=2))


def measure(
    publish: Callable[[dict[str, Any]], None], heard: dict[int, float], rate: int, seconds: float
) -> list[float]:
    """Milliseconds from publishing a numbered command to hearing it, at a fixed rate; NaN for one that was not heard.

    What is sent before publisher and subscriber have found each other is lost; command 0 is repeated until it is heard.
    """
    met = time.perf_counter() + MEETING_SECONDS
    while 0 not in heard:
        if time.perf_counter() > met:
            raise TimeoutError(f"no command came back within {MEETING_SECONDS} s")
        publish(numbered(0))
        time.sleep(0.1)
    sent: dict[int, float] = {}
    due = time.perf_counter()
    for number in range(1, int(rate * seconds) + 1):
        time.sleep(max(0.0, due - time.perf_counter()))
        sent[number] = time.perf_counter()
        publish(numbered(number))
        due += 1 / rate
    time.sleep(1.0)
    return taken(sent, heard)


def taken(sent: dict[int, float], heard: dict[int, float]) -> list[float]:
    """Milliseconds of each command; NaN for one that was not heard."""
    return [1e3 * (heard.get(number, np.nan) - at) for number, at in sent.items()]


def own_round_trips(server: BridgeServer, rate: int, seconds: float) -> list[float]:
    """Round trips of this library's client."""
    heard: dict[int, float] = {}
    with BridgeClient(server.url) as client:
        client.subscribe(*STATES, lambda _: None)
        client.subscribe(*IMAGES, lambda _: None, throttle_ms=45)
        client.advertise(ECHO, TRAJECTORY)
        client.subscribe(ECHO, TRAJECTORY, lambda m: heard.setdefault(m["header"]["stamp"]["sec"], time.perf_counter()))
        return measure(lambda m: client.publish(ECHO, m), heard, rate, seconds)


def roslibpy_round_trips(server: BridgeServer, rate: int, seconds: float) -> list[float]:
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
    result = measure(lambda m: echo.publish(roslibpy.Message(m)), heard, rate, seconds)
    ros.close()
    return result


def bare_round_trips(server: BridgeServer, rate: int, seconds: float) -> list[float]:
    """Round trips of a websocket in one thread, which decodes nothing but its echo."""
    return asyncio.run(_bare_round_trips(server.url, rate, seconds))


async def _bare_round_trips(url: str, rate: int, seconds: float) -> list[float]:
    from websockets.asyncio.client import connect

    heard: dict[int, float] = {}
    sent: dict[int, float] = {}
    subscribe = {"op": "subscribe", "queue_length": 1}
    setup: list[dict[str, Any]] = [
        {**subscribe, "topic": STATES[0], "type": STATES[1]},
        {**subscribe, "topic": IMAGES[0], "type": IMAGES[1], "throttle_rate": 45},
        {"op": "advertise", "topic": ECHO, "type": TRAJECTORY},
        {**subscribe, "topic": ECHO, "type": TRAJECTORY},
    ]
    commands = [
        json.dumps({"op": "publish", "topic": ECHO, "msg": numbered(number)})
        for number in range(int(rate * seconds) + 1)
    ]
    async with connect(url, compression=None, max_size=None) as connection:

        async def listen() -> None:
            async for frame in connection:
                at = time.perf_counter()
                found = re.search(r'"sec":\s*(\d+)', str(frame)) if ECHO in frame else None
                if found is not None:
                    heard.setdefault(int(found[1]), at)

        listener = asyncio.create_task(listen())
        for request in setup:
            await connection.send(json.dumps(request))
        met = time.perf_counter() + MEETING_SECONDS
        while 0 not in heard:
            if time.perf_counter() > met:
                raise TimeoutError(f"no command came back within {MEETING_SECONDS} s")
            await connection.send(commands[0])
            await asyncio.sleep(0.1)
        due = time.perf_counter()
        for number, command in enumerate(commands[1:], 1):
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent[number] = time.perf_counter()
            await connection.send(command)
            due += 1 / rate
        await asyncio.sleep(1.0)
        listener.cancel()
    return taken(sent, heard)


ROUND_TRIPS = {"floor": bare_round_trips, "thinktwice": own_round_trips, "roslibpy": roslibpy_round_trips}


def round_trips(server: BridgeServer, rate: int, seconds: float, turns: int) -> dict[str, dict[str, Any]]:
    """Every client's round trips at one rate, in turns."""
    milliseconds: dict[str, list[float]] = {name: [] for name in ROUND_TRIPS}
    for _ in range(turns):
        for name, run in ROUND_TRIPS.items():
            milliseconds[name] += run(server, rate, seconds / turns)
    return {f"round trip {rate} Hz, {name}": summary(values) for name, values in milliseconds.items()}


def summary(milliseconds: list[float]) -> dict[str, Any]:
    """Percentiles, and how many of the commands came back."""
    p50, p99, worst = np.nanpercentile(milliseconds, [50, 99, 100])
    return {
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "max_ms": round(float(worst), 2),
        "heard": int(np.isfinite(milliseconds).sum()),
        "sent": len(milliseconds),
    }


def wait_for_arm(server: BridgeServer) -> None:
    """Until the simulated arm's node has loaded and its joint states and images come."""
    waiting = {STATES, IMAGES}
    with BridgeClient(server.url) as client:
        for topic in (STATES, IMAGES):
            client.subscribe(*topic, lambda _, topic=topic: waiting.discard(topic))
        while waiting:
            time.sleep(0.1)


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


def tick_jitter(server: BridgeServer, seconds: float, turns: int) -> dict[str, dict[str, Any]]:
    """How far commands are from their ticks at 20 Hz, in milliseconds, beside a loop that only sleeps."""
    env = armed(server)
    late: dict[str, list[float]] = {"floor": [], "thinktwice": []}
    for _ in range(turns):
        env.hold_now()
        due = time.monotonic()
        for _ in range(int(20 * seconds / turns)):
            due += 0.05
            time.sleep(max(0.0, due - time.monotonic()))
            late["floor"].append(1e3 * (time.monotonic() - due))
        arm(env)
        for _ in range(int(20 * seconds / turns)):
            try:
                late["thinktwice"].append(1e3 * env.step(env.hold_action())[4]["late_seconds"])
            except ArmHeld:
                arm(env)
    env.close()
    return {
        f"tick jitter 20 Hz, {name}": {
            "std_ms": round(float(np.std(values)), 3),
            "p99_ms": round(float(np.percentile(values, 99)), 3),
            "max_ms": round(float(np.max(values)), 3),
            "ticks": len(values),
        }
        for name, values in late.items()
    }


def detection(
    fault: Callable[[], None], repair: Callable[[], None], server: BridgeServer, repeats: int
) -> dict[str, Any]:
    """Milliseconds from a fault to the hold."""
    delays: list[float] = []
    env = armed(server)
    for _ in range(repeats):
        env.step(env.hold_action())
        began = time.time()
        fault()
        while env.hold is None:
            time.sleep(0.001)
        delays.append(1e3 * (env.hold.at - began))
        repair()
        time.sleep(1.0)
        arm(env)
    env.close()
    return spread(delays)


def spread(delays: list[float]) -> dict[str, Any]:
    """Median and worst."""
    return {"median_ms": round(float(np.median(delays)), 1), "max_ms": round(max(delays), 1), "repeats": len(delays)}


def socket_dead_bridge(server: BridgeServer, repeats: int) -> dict[str, Any]:
    """Milliseconds from the server's death until a plain socket that waits for it has seen its end."""
    delays: list[float] = []
    for _ in range(repeats):
        with socket.create_connection(("127.0.0.1", server.port)) as waiting:
            time.sleep(0.5)
            began = time.perf_counter()
            server.process.kill()
            with contextlib.suppress(ConnectionResetError):
                waiting.recv(1)
            delays.append(1e3 * (time.perf_counter() - began))
        server.stop()
        server.start()
    return spread(delays)


def roslibpy_dead_bridge(server: BridgeServer, repeats: int) -> dict[str, Any]:
    """Milliseconds from the server's death until roslibpy says that it is not connected."""
    import roslibpy

    delays: list[float] = []
    for _ in range(repeats):
        ros = roslibpy.Ros("127.0.0.1", server.port)
        ros.run()
        began = time.perf_counter()
        server.process.kill()
        while ros.is_connected and time.perf_counter() - began < 10:
            time.sleep(0.001)
        delays.append(1e3 * (time.perf_counter() - began))
        ros.close()
        server.stop()
        server.start()
    return spread(delays)


def main(options: Options = Options()) -> None:
    """Measure everything and print one JSON object."""
    result: dict[str, Any] = {"machine": machine(), "seconds": options.seconds}
    with SimProcess(domain=options.domain, niceness=10) as arm_process, BridgeServer(domain=options.domain) as server:
        wait_for_arm(server)
        for rate in options.rates:
            result.update(round_trips(server, rate, options.seconds, options.turns))
        result.update(tick_jitter(server, options.seconds, options.turns))

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
        result["dead bridge, floor"] = socket_dead_bridge(server, options.repeats)
        result["dead bridge, thinktwice"] = detection(kill, restart, server, options.repeats)
        result["dead bridge, roslibpy"] = roslibpy_dead_bridge(server, options.repeats)
    sys.stdout.write(json.dumps(result, indent=2) + f"\nwrote {write('ros_bridge', result)}\n")


if __name__ == "__main__":
    main(tyro.cli(Options, prog="python -m benchmarks.ros_bridge"))
