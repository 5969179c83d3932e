"""A ROS 2 action server for the tests: rejects orders above 10, and takes two seconds for each order above 1."""

from __future__ import annotations

import time

import rclpy
from rclpy.action import ActionServer, GoalResponse
from test_msgs.action import Fibonacci


def execute(handle) -> Fibonacci.Result:
    time.sleep(2.0 * (handle.request.order - 1))
    handle.succeed()
    result = Fibonacci.Result()
    result.sequence = [0, 1, 1, 2][: handle.request.order]
    return result


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("fibonacci")
    ActionServer(
        node,
        Fibonacci,
        "/fibonacci",
        execute,
        goal_callback=lambda goal: GoalResponse.REJECT if goal.order > 10 else GoalResponse.ACCEPT,
    )
    print("ready", flush=True)
    rclpy.spin(node)


if __name__ == "__main__":
    main()
