"""Robot descriptions: what is refused, and what the refusal says."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from thinktwice.envs.ros.robot import ROBOTS, load_robot, parse_robot
from thinktwice.errors import ConfigError


@pytest.fixture
def data() -> dict[str, Any]:
    return yaml.safe_load((ROBOTS / "panda_sim.yaml").read_text())


def without(data: dict[str, Any], dotted: str) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    *path, last = dotted.split(".")
    place = changed
    for key in path:
        place = place[key]
    del place[last]
    return changed


def with_value(data: dict[str, Any], dotted: str, value: object) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    *path, last = dotted.split(".")
    place = changed
    for key in path:
        place = place[key]
    place[last] = value
    return changed


def test_shipped_robot_loads_by_name_and_by_path() -> None:
    assert load_robot("panda_sim") == load_robot(ROBOTS / "panda_sim.yaml")
    assert load_robot("panda_sim").period == pytest.approx(0.05)


@pytest.mark.parametrize(
    "key",
    [
        "timing.rate_hz",
        "timing.decision_timeout_s",
        "timing.clock",
        "joints.lower",
        "joints.upper",
        "joints.velocity",
        "joints.acceleration",
        "joints.jerk",
        "joints.tracking",
        "workspace",
        "workspace.upper",
        "model",
        "joint_states.max_age_ms",
        "command.horizon_periods",
        "command.watch",
        "estop",
        "estop.probe",
        "ros",
        "frame",
        "cameras.front.max_age_ms",
        "gripper.positive",
        "actions.reference",
        "actions.translation",
    ],
)
def test_nothing_that_could_move_an_arm_has_a_default(data: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key.rpartition(".")[2]):
        parse_robot(without(data, key))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("joints.velocty", [1.0], "velocty is not a key that is read"),
        ("timing.rate_hz", 0, "rate_hz"),
        ("timing.rate_hz", float("nan"), "rate_hz"),
        ("joints.upper", [1.0, 2.0], "2 entries for 7 joints"),
        ("joints.velocity", [float("inf")] * 7, "finite"),
        ("joints.velocity", [-1.0] * 7, "greater than or equal to 0"),
        ("joints.names", ["a"] * 7, "repeats"),
        ("joints.lower", [3.0] * 7, "above upper"),
        ("workspace.lower", [1.0, 0.0, 0.0], "above workspace.upper"),
        ("command.horizon_periods", 60, "less than or equal to 2"),
        ("command.interface", "velocity", "joint_trajectory"),
        ("model.body", "hand", "exactly one"),
        ("model.joints", ["a"], "1 entries for 7"),
        ("gripper.joints", [], "names no joint"),
        ("actions.mode", "teleport", "cartesian_delta"),
        ("ros", 3, "1"),
    ],
)
def test_impossible_values_are_named(data: dict[str, Any], key: str, value: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_robot(with_value(data, key, value))


def test_every_problem_is_told_at_once(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_robot(without(without(data, "workspace"), "joints.velocity"))
    assert "workspace is required" in str(caught.value)
    assert "joints.velocity is required" in str(caught.value)


def test_a_zero_limit_is_kept(data: dict[str, Any]) -> None:
    robot = parse_robot(with_value(data, "joints.velocity", [0.0] * 7))
    assert robot.joints.velocity == (0.0,) * 7


def test_a_twist_cannot_carry_joint_targets(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"needs actions\.mode 'cartesian_delta'"):
        parse_robot(with_value(with_value(data, "command.interface", "twist"), "actions.mode", "joint_position"))


def test_unknown_names_are_answered_with_the_choices(tmp_path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'panda_sim'"):
        load_robot("panda_sin")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_robot(broken)
    broken.write_text("- 1")
    with pytest.raises(ConfigError, match="mapping, not list"):
        load_robot(broken)


@pytest.mark.parametrize("name", ["ros2_controllers", "ur", "moveit_servo", "crisp"])
def test_examples_refuse_until_the_limits_of_the_cell_are_written(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_robot(name)
    assert "workspace is required" in str(caught.value)
    assert "joints.tracking is required" in str(caught.value)
    data = yaml.safe_load((ROBOTS / f"{name}.yaml").read_text())
    data["workspace"] = {"lower": [0.2, -0.3, 0.05], "upper": [0.7, 0.3, 0.8]}
    data["joints"]["tracking"] = 0.1
    assert parse_robot(data).name == data["name"]
