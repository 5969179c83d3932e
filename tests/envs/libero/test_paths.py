"""Ways of the gripper and their place on a picture."""

from __future__ import annotations

import numpy as np
import pytest

from thinktwice.envs.libero.install import import_mujoco
from thinktwice.envs.libero.paths import commanded_way, project

mujoco = import_mujoco()  # with the GL backend that the other tests of this process need

_SCENE = """
<mujoco><worldbody>
  <camera name="eye" pos="2 0 1" xyaxes="0 1 0 0 0 1" fovy="60"/>
  <geom name="ball" type="sphere" size="0.04" pos="0.2 0.3 1.4" rgba="1 0 0 1"/>
</worldbody></mujoco>
"""


def test_no_command_leads_nowhere_and_a_bounded_one_as_far_as_its_bound() -> None:
    start = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(commanded_way(start, np.zeros((5, 7))), np.tile(start, (6, 1)))
    beyond, bound = (commanded_way(start, np.full((5, 7), size)) for size in (9.0, 1.0))
    np.testing.assert_allclose(beyond, bound)


def test_the_way_is_what_the_controller_s_law_gives_when_it_is_integrated() -> None:
    rng = np.random.default_rng(0)
    chunk = rng.uniform(-1, 1, (6, 7))
    position, velocity = np.zeros(3), np.zeros(3)
    expected = [position]
    fine = 20_000
    for action in chunk:
        goal = position + 0.05 * action[:3]
        for _ in range(fine):
            force = 150.0 * (goal - position) - 2 * np.sqrt(150.0) * velocity
            velocity = velocity + force * 0.05 / fine
            position = position + velocity * 0.05 / fine
        expected.append(position)
    np.testing.assert_allclose(commanded_way(np.zeros(3), chunk), expected, atol=2e-6)


def test_a_point_is_drawn_where_the_renderer_shows_it() -> None:
    model = mujoco.MjModel.from_xml_string(_SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # The camera looks along -x, its right is +y; the ball is 1.8 m ahead.
    column, row = project(np.array([[0.2, 0.3, 1.4]]), model, data, "eye", aspect=2.0)[0]
    half = np.tan(np.radians(30)) * 1.8
    assert column == pytest.approx(0.5 + 0.3 / half / 2 / 2, abs=1e-5)
    assert row == pytest.approx(0.5 - 0.4 / half / 2, abs=1e-5)
    assert np.isnan(project(np.array([[2.5, 0.0, 1.0]]), model, data, "eye", aspect=1.0)).all()
