"""A ROS 2 action server for the tests: rejects orders above 10, and ends one above 1 when a file is there (argv[1])."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rclpy
from rclpy.action import ActionServer, GoalResponse
from test_msgs.action import Fibonacci


def execute(handle) -> Fibonacci.Result:
    while handle.request.order > 1 and not Path(sys.argv[1]).exists():
        time.sleep(0.02)
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
