"""Where things are put when they share a place or have to fit between walls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thinktwice.agents.experts.targets import place_target, place_tolerance

STOVE = """
<body name="stove_main" pos="0 0 0.01"><geom type="box" size="0.15 0.1 0.01"/>
  <site name="stove_top" type="box" size="0.12 0.05 0.001" pos="0 0 0.01"/></body>
"""
POT = '<body name="{name}_main" pos="{x} 0 {z}"><freejoint/><geom type="box" size="0.03 0.03 0.03"/></body>'
CHEST = """
<body name="chest_main" pos="0.3 0 0.06"><body name="chest_drawer">
  <joint name="chest_slide" type="slide" axis="1 0 0" range="-0.16 0.01"/>
  <geom type="box" size="0.08 0.08 0.003" pos="0 0 -0.03"/>
  <site name="chest_inside" type="box" size="0.08 0.08 0.03"/></body></body>
<body name="basket_main" pos="-0.3 0.3 0.06"><geom type="box" size="0.08 0.08 0.003" pos="0 0 -0.03"/>
  <site name="basket_inside" type="box" size="0.08 0.08 0.03"/></body>
"""


def target(puppet: Any, *, second_at: tuple[float, float]) -> float:
    """The x at which the first pot should stand while the second one is at a place."""
    x, z = second_at
    view = puppet(STOVE + POT.format(name="a", x=0.4, z=0.2) + POT.format(name="b", x=x, z=z)).view()
    return float(place_target(view, ("on", "a", "stove_top"), ["a", "b"])[0])


def test_two_objects_get_a_part_each(puppet: Any) -> None:
    assert target(puppet, second_at=(-0.4, 0.03)) == pytest.approx(-0.033, abs=1e-6)


def test_the_second_object_keeps_off_the_first_wherever_that_stands(puppet: Any) -> None:
    standing = 0.0499  # touching the stove
    assert target(puppet, second_at=(0.033, standing)) == pytest.approx(-0.033, abs=1e-3)
    assert target(puppet, second_at=(0.0, standing)) == pytest.approx(-0.066, abs=1e-3)
    assert target(puppet, second_at=(-0.05, standing)) == pytest.approx(0.016, abs=1e-3)


def test_a_drawer_takes_only_what_is_clear_of_its_walls(puppet: Any) -> None:
    view = puppet(CHEST + POT.format(name="a", x=0.0, z=0.03) + POT.format(name="b", x=-0.2, z=0.03)).view()
    assert place_tolerance(view, ("in", "a", "basket_inside")) == pytest.approx(0.035)
    wide = CHEST + '<body name="a_main" pos="0 0 0.05"><freejoint/><geom type="box" size="0.055 0.055 0.03"/></body>'
    assert place_tolerance(puppet(wide).view(), ("in", "a", "chest_inside")) == pytest.approx(0.025)
    assert np.isclose(place_tolerance(puppet(wide).view(), ("in", "a", "basket_inside")), 0.035)
