"""Where things are put when they share a place or have to fit between walls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thinktwice.agents.experts.grasp_book import GraspBook
from thinktwice.agents.experts.modes import Modes
from thinktwice.agents.experts.pick import pick
from thinktwice.agents.experts.place import place
from thinktwice.agents.experts.predicates import holds
from thinktwice.agents.experts.targets import place_target, place_tolerance, place_turn

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

CADDY = '<body name="caddy_main" pos="0 0.3 0.05"><geom type="box" size="0.1 0.1 0.003"/>{site}</body>'
SLOT = '<site name="slot" type="box" size="0.03 0.07 0.05"/>'
BOOK = """
<body name="book_main" pos="0 0 0.06" euler="0 0 {degrees}"><freejoint/>
  <geom type="box" size="0.055 0.012 0.06" mass="0.1"/></body>
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


def test_beside_another_object_the_second_one_still_fits_between_the_walls(puppet: Any) -> None:
    standing = POT.format(name="b", x=-0.3, z=0.063).replace(" 0 0.063", " 0.3 0.063")
    view = puppet(CHEST + POT.format(name="a", x=0.4, z=0.2) + standing).view()
    assert holds(view, ("in", "b", "basket_inside"))
    assert float(place_target(view, ("in", "a", "basket_inside"), ["a", "b"])[0]) == pytest.approx(-0.35, abs=1e-3)


def test_a_drawer_takes_only_what_is_clear_of_its_walls(puppet: Any) -> None:
    view = puppet(CHEST + POT.format(name="a", x=0.0, z=0.03) + POT.format(name="b", x=-0.2, z=0.03)).view()
    assert place_tolerance(view, ("in", "a", "basket_inside")) == pytest.approx(0.035)
    wide = CHEST + '<body name="a_main" pos="0 0 0.05"><freejoint/><geom type="box" size="0.055 0.055 0.03"/></body>'
    assert place_tolerance(puppet(wide).view(), ("in", "a", "chest_inside")) == pytest.approx(0.025)
    assert np.isclose(place_tolerance(puppet(wide).view(), ("in", "a", "basket_inside")), 0.035)


@pytest.mark.parametrize(("degrees", "turn"), [(90, 0.0), (60, 30.0), (120, -30.0), (-45, -45.0)])
def test_a_book_is_turned_the_shorter_way_into_the_line_of_its_slot(puppet: Any, degrees: int, turn: float) -> None:
    view = puppet(CADDY.format(site=SLOT) + BOOK.format(degrees=degrees)).view()
    assert np.degrees(place_turn(view, ("in", "book", "slot"))) == pytest.approx(turn, abs=0.5)


def test_nothing_is_turned_where_either_way_fits(puppet: Any) -> None:
    square = SLOT.replace("0.03 0.07", "0.07 0.07")
    assert place_turn(puppet(CADDY.format(site=square) + BOOK.format(degrees=30)).view(), ("in", "book", "slot")) == 0.0
    pot = POT.format(name="book", x=0.0, z=0.03)
    assert place_turn(puppet(CADDY.format(site=SLOT) + pot).view(), ("in", "book", "slot")) == 0.0


def test_a_held_book_is_turned_before_it_is_lowered(puppet: Any) -> None:
    hand = puppet(CADDY.format(site=SLOT) + BOOK.format(degrees=50), at=(0.0, 0.0, 0.25))
    goal, book, modes = ("in", "book", "slot"), GraspBook(hand.scene), Modes(seed=0)
    hand.follow(
        lambda view: pick(view, "book", book.grasps(view, "book"), modes),
        lambda view: view.held == "book" and abs(view.hand.width_rate) < 0.01,
        steps=150,
    )
    target = np.array([0.0, 0.3, 0.053])
    phases = hand.follow(
        lambda view: place(view, "book", target, satisfied=False, tolerance=0.02, turn=place_turn(view, goal)),
        lambda view: view.held is None and view.hand.width > 0.04,
        steps=200,
    )
    assert phases[-1] == "release"
    assert abs(place_turn(hand.view(), goal)) < 0.2
