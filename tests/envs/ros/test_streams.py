"""Freshness: what may pass for life, and what may not."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from thinktwice.envs.ros import MalformedMessage
from thinktwice.envs.ros.messages import (
    float_array,
    joint_trajectory,
    pose,
    read_image,
    read_joint_state,
    read_stamp,
    time_message,
    twist,
    type_name,
)
from thinktwice.envs.ros.streams import Clock, JointStream, Stream, image_stream


def stamped(seconds: float, **fields: object) -> dict:
    return {"header": {"stamp": time_message(seconds, 2), "frame_id": ""}, **fields}


def stream(clock: Clock = "synchronised", max_age: float = 0.2) -> Stream[dict]:
    return Stream("/s", max_age=max_age, clock=clock, read=dict)


def joints(position: list, seconds: float, names: list[str] | None = None) -> dict:
    return stamped(seconds, name=names or ["a", "b"], position=position, velocity=[0.0, math.nan])


def joint_stream(alarms: list[str]) -> JointStream:
    return JointStream(
        "/j", max_age=0.5, clock="synchronised", names=["a", "b"], velocity=np.ones(2), alarm=alarms.append
    )


def test_a_fresh_message_is_alive_and_grows_stale() -> None:
    fresh = stream()
    fresh.accept(stamped(time.time()))
    now = time.monotonic()
    assert fresh.problem(now) is None
    assert "nothing good on /s for" in (fresh.problem(now + 0.3) or "")


def test_header_age_counts_even_when_messages_keep_coming() -> None:
    late = stream()
    assert late.accept(stamped(time.time() - 0.15)) is not None
    assert late.problem(time.monotonic() + 0.1) is not None
    later = stream()
    assert later.accept(stamped(time.time() - 0.3)) is None
    assert "old on arrival" in later.last_drop


def test_a_message_from_the_future_is_no_sign_of_life() -> None:
    future = stream()
    assert future.accept(stamped(time.time() + 5)) is None
    assert "in the future" in future.last_drop
    assert future.newest is None


def test_reordered_and_repeated_messages_are_dropped() -> None:
    ordered = stream()
    now = time.time()
    assert ordered.accept(stamped(now)) is not None
    assert ordered.accept(stamped(now - 0.1)) is None
    assert ordered.accept(stamped(now)) is None
    assert ordered.dropped == 2
    assert ordered.accept(stamped(now + 0.01)) is not None


def test_an_independent_clock_is_compared_with_its_own_best() -> None:
    other = stream(clock="independent")
    assert other.accept(stamped(1000.0)) is not None
    assert other.accept(stamped(1000.001)) is not None
    assert other.accept(stamped(1000.0 - 5)) is None
    time.sleep(0.3)
    assert other.accept(stamped(1000.01)) is None, "it arrived 0.3 s later than its stamp advanced"


def test_a_clock_that_jumped_back_is_accepted_only_after_arming() -> None:
    jumped = stream(clock="independent")
    assert jumped.accept(stamped(1000.0)) is not None
    assert jumped.accept(stamped(900.0)) is None
    jumped.restart()
    assert jumped.accept(stamped(900.01)) is not None


def test_without_a_header_receive_time_is_all_there_is() -> None:
    plain = stream()
    assert plain.accept({"data": 1}) is not None
    assert plain.accept({"data": 2}) is not None
    assert plain.newest is not None
    assert plain.newest.robot_time(time.monotonic()) == 0.0


@pytest.mark.parametrize("position", [[math.nan, 0.0], [None, 0.0], [math.inf, 0.0], ["NaN", 0.0], [True, 0.0]])
def test_a_joint_position_that_is_no_number_is_an_alarm(position: list) -> None:
    alarms: list[str] = []
    assert joint_stream(alarms).accept(joints(position, time.time())) is None
    assert "not finite" in alarms[0]


def test_a_missing_joint_is_an_alarm() -> None:
    alarms: list[str] = []
    joint_stream(alarms).accept(joints([0.0, 0.0], time.time(), names=["a", "c"]))
    assert "without ['b']" in alarms[0]


def test_a_jump_that_no_arm_makes_is_an_alarm() -> None:
    alarms: list[str] = []
    arm = joint_stream(alarms)
    now = time.time()
    arm.accept(joints([0.0, 0.0], now))
    arm.accept(joints([0.01, 0.0], now + 0.01))
    assert alarms == []
    arm.accept(joints([0.0, 0.9], now + 0.02))
    assert "joint 2 jumped" in alarms[0]


def test_joints_are_read_by_name_and_not_by_place() -> None:
    reading = read_joint_state(joints([1.0, 2.0], 5.25, names=["b", "a"]), ["a", "b"])
    np.testing.assert_array_equal(reading.position, [2.0, 1.0])
    assert reading.stamp == pytest.approx(5.25)
    assert math.isnan(reading.velocity[0])


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"name": ["a"], "position": [0.0, 1.0]},
        {"name": "a", "position": 0.0},
        {"name": ["a"], "position": [0.0]},
        {"header": {"stamp": 3}, "name": ["a", "b"], "position": [0.0, 0.0]},
        {"header": {"stamp": {"sec": None, "nanosec": 0}}, "name": ["a", "b"], "position": [0.0, 0.0]},
    ],
)
def test_broken_joint_states_are_malformed(message: dict) -> None:
    with pytest.raises(MalformedMessage):
        read_joint_state(message, ["a", "b"])


@pytest.mark.parametrize("data", ["", None, "bm90IGFuIGltYWdl", "%%%", [0, 1, 300], 7])
def test_broken_images_are_malformed(data: object) -> None:
    with pytest.raises(MalformedMessage):
        read_image({"data": data})


def test_an_image_stream_refuses_what_is_no_image() -> None:
    images = image_stream("/c", max_age=1.0, clock="synchronised")
    assert images.accept(stamped(time.time(), data="bm90IGFuIGltYWdl")) is None
    assert images.accept(stamped(time.time(), data="/9j/4AAQ")) is not None


def test_both_ros_versions_spell_types_and_times() -> None:
    assert type_name("sensor_msgs/JointState", 1) == "sensor_msgs/JointState"
    assert type_name("std_srvs/Trigger", 2, "srv") == "std_srvs/srv/Trigger"
    assert type_name("std_srvs/srv/Trigger", 2, "srv") == "std_srvs/srv/Trigger"
    assert time_message(1.5, 1) == {"secs": 1, "nsecs": 500_000_000}
    assert time_message(1.9999999999, 2)["nanosec"] < 1_000_000_000
    assert read_stamp({"header": {"stamp": {"secs": 3, "nsecs": 5e8}}}) == pytest.approx(3.5)


@pytest.mark.parametrize("ros", [1, 2])
def test_commands_of_each_interface(ros: int) -> None:
    told = {"stamp": 10.5, "frame": "base", "ros": ros}
    message = joint_trajectory(["a"], np.array([0.1]), seconds=0.1, **told)
    assert message["points"][0]["positions"] == [0.1]
    assert read_stamp(message) == pytest.approx(10.5)
    assert pose(np.zeros(3), np.array([0.0, 0, 0, 1]), **told)["pose"]["orientation"]["w"] == 1.0
    assert twist(np.ones(3), np.zeros(3), **told)["twist"]["linear"] == {"x": 1.0, "y": 1.0, "z": 1.0}
    assert float_array(np.array([1.0]))["data"] == [1.0]
