"""The safety gate: what is rejected, in which order, and that nothing unsafe ever passes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinktwice.envs.ros import Bounds, Motion, Rejection, at_rest, check_command, load_robot
from thinktwice.envs.ros.gate import tracking_problem

PERIOD = 0.05
BOUNDS = Bounds(
    names=("a", "b"),
    lower=np.array([-1.0, -2.0]),
    upper=np.array([1.0, 2.0]),
    velocity=np.array([2.0, 2.0]),
    acceleration=np.array([30.0, 30.0]),
    jerk=np.array([900.0, 900.0]),
    box_lower=np.array([-0.5, -0.5, -0.5]),
    box_upper=np.array([0.5, 0.5, 0.5]),
)
REST = at_rest(np.zeros(2))


def tool(joints: np.ndarray) -> np.ndarray:
    """The tip stands 1 m along x per radian of joint a."""
    return np.array([joints[0], 0.0, 0.0])


def check(target, last: Motion = REST, bounds: Bounds = BOUNDS) -> Motion | Rejection:
    return check_command(np.asarray(target), last, bounds, period=PERIOD, tool=tool)


def failed(verdict: Motion | Rejection) -> str:
    assert isinstance(verdict, Rejection), verdict
    assert verdict.reason
    return verdict.check


def test_a_small_motion_passes_and_carries_its_derivatives() -> None:
    verdict = check([0.05, 0.0])
    assert isinstance(verdict, Motion)
    np.testing.assert_allclose(verdict.velocity, [1.0, 0.0])
    np.testing.assert_allclose(verdict.acceleration, [20.0, 0.0])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("joint", [0, 1])
def test_a_number_that_is_not_finite_rejects_the_whole_command(value: float, joint: int) -> None:
    target = [0.0, 0.0]
    target[joint] = value
    assert failed(check(target)) == "finite"


@pytest.mark.parametrize(
    "target", [[0.0], [0.0, 0.0, 0.0], [[0.0, 0.0]], 0.0, [], ["a", "b"], [None, 0.0], [True, False]]
)
def test_a_wrong_shape_or_kind_is_rejected(target) -> None:
    assert failed(check(np.array(target))) == "finite"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([math.nan, 99.0], "finite"),
        ([0.0, 99.0], "joint limits"),
        ([-1.01, 0.0], "joint limits"),
        ([0.9, 0.0], "velocity"),
    ],
)
def test_the_first_check_that_fails_is_the_one_reported(target: list[float], expected: str) -> None:
    assert failed(check(target)) == expected


def test_a_rejection_says_value_bound_and_what_to_change_where() -> None:
    verdict = check([0.09, 0.0])
    assert failed(verdict) == "acceleration"
    assert verdict.reason == "a would have 36.000 rad/s², the bound is 30.0 rad/s²"
    assert "smaller steps" in verdict.remedy
    assert "joints.acceleration" in verdict.remedy
    jerky = dataclasses.replace(BOUNDS, acceleration=np.array([1e6, 1e6]), jerk=np.array([700.0, 700.0]))
    for target, last, bounds, key in [
        ([1.1, 0.0], REST, BOUNDS, "joints.upper"),
        ([0.3, 0.0], REST, BOUNDS, "joints.velocity"),
        ([0.54, 0.0], at_rest(np.array([0.45, 0.0])), BOUNDS, "workspace"),
        ([0.09, 0.0], REST, jerky, "joints.jerk"),
        ([math.nan, 0.0], REST, BOUNDS, "action/asked"),
    ]:
        verdict = check(target, last, bounds)
        assert failed(verdict)
        assert key in verdict.remedy


def test_an_arm_that_lags_is_told_with_what_to_do() -> None:
    joints = load_robot("panda_sim").joints
    there = at_rest(np.zeros(7))
    assert tracking_problem(np.full(7, 0.3), there, joints) is None
    for lag in (0.31, -0.31, math.nan):
        problem = tracking_problem(np.array([0.0, lag, 0, 0, 0, 0, 0]), there, joints)
        assert problem is not None
        assert "panda_joint2" in problem
        assert "(joints.tracking: 0.3 rad)" in problem
        assert "raise joints.tracking" in problem


def test_workspace_comes_before_acceleration() -> None:
    edge = at_rest(np.array([0.45, 0.0]))
    assert failed(check([0.54, 0.0], edge)) == "workspace"
    assert failed(check([0.36, 0.0], edge)) == "acceleration"


def test_acceleration_comes_before_jerk_and_jerk_can_be_absent() -> None:
    last = Motion(position=np.zeros(2), velocity=np.zeros(2), acceleration=np.array([-29.0, 0.0]))
    assert failed(check([0.07, 0.0], last)) == "jerk"
    assert isinstance(check([0.07, 0.0], last, dataclasses.replace(BOUNDS, jerk=None)), Motion)
    assert failed(check([0.09, 0.0], last)) == "acceleration"


def test_the_first_command_is_measured_against_the_arm_and_not_against_zero() -> None:
    arm = at_rest(np.array([0.4, 1.5]))
    assert isinstance(check([0.42, 1.5], arm), Motion)
    assert failed(check([0.0, 0.0], arm)) == "velocity"


def test_later_commands_are_measured_against_the_last_sent() -> None:
    first = check([0.05, 0.0])
    assert isinstance(first, Motion)
    assert isinstance(check([0.11, 0.0], first), Motion)
    assert failed(check([0.16, 0.0], first)) == "velocity"


@pytest.mark.parametrize("field", ["velocity", "acceleration", "jerk"])
def test_a_limit_of_zero_is_a_limit(field: str) -> None:
    still = dataclasses.replace(BOUNDS, **{field: np.zeros(2)})
    assert failed(check([0.001, 0.0], bounds=still)) == field
    assert isinstance(check([0.0, 0.0], bounds=still), Motion)


def test_a_joint_whose_limits_are_zero_cannot_move() -> None:
    still = dataclasses.replace(BOUNDS, lower=np.zeros(2), upper=np.zeros(2))
    assert failed(check([0.0, 1e-4], bounds=still)) == "joint limits"


def test_exactly_on_a_bound_passes() -> None:
    near = Motion(position=np.array([0.3, 1.9]), velocity=np.array([2.0, 2.0]), acceleration=np.zeros(2))
    assert isinstance(check([0.4, 2.0], near), Motion)


def test_a_tip_that_is_not_finite_is_outside() -> None:
    verdict = check_command(np.zeros(2), REST, BOUNDS, period=PERIOD, tool=lambda _: np.full(3, np.nan))
    assert failed(verdict) == "workspace"


def test_a_measured_position_that_is_not_finite_rejects() -> None:
    assert failed(check([0.0, 0.0], at_rest(np.array([np.nan, 0.0])))) == "velocity"


number = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(target=st.lists(number, min_size=0, max_size=4), start=st.tuples(st.floats(-1, 1), st.floats(-2, 2)))
def test_whatever_passes_is_inside_every_bound(target: list[float], start: tuple[float, float]) -> None:
    arm = np.array(start)
    verdict = check(np.array(target, np.float64), at_rest(arm))
    if isinstance(verdict, Rejection):
        return
    assert np.isfinite(verdict.position).all()
    assert (verdict.position >= BOUNDS.lower - 1e-6).all()
    assert (verdict.position <= BOUNDS.upper + 1e-6).all()
    assert (np.abs(verdict.position - arm) <= BOUNDS.velocity * PERIOD + 1e-6).all()
    assert (np.abs(verdict.velocity) / PERIOD <= BOUNDS.acceleration + 1e-4).all()
    assert abs(tool(verdict.position)[0]) <= 0.5 + 1e-6


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_random_walk_through_the_gate_never_leaves_the_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    motion, passed = REST, 0
    for _ in range(60):
        verdict = check(motion.position + rng.normal(0, 0.03, 2), motion)
        if isinstance(verdict, Motion):
            assert (np.abs(verdict.position - motion.position) <= BOUNDS.velocity * PERIOD + 1e-6).all()
            motion, passed = verdict, passed + 1
    assert passed
    assert (motion.position <= BOUNDS.upper).all()
