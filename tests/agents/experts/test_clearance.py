"""Room for leaning palms, and coming out from under things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thinktwice.agents.experts.clearance import palm_fits, way_out
from thinktwice.agents.experts.grasps import PALM, PALM_HALF
from thinktwice.agents.experts.shapes import box_surface
from thinktwice.agents.experts.slide import pull_out

BOX = """
<body name="box_main" pos="0 0 0.02"><freejoint/>
  <geom type="box" size="0.05 0.05 0.02" mass="0.1" friction="0.6 0.005 0.0001"/></body>
"""
BOARD = '<body name="board_main" pos="{x} 0 0.13"><geom type="box" size="0.06 0.12 0.005"/></body>'
UPRIGHT = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def leaning(angle: float) -> np.ndarray:
    """The upright hand (fingers along y) with its palm leaning towards +x."""
    turn = np.array(
        [[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]],
    )
    return turn @ UPRIGHT


def test_a_wall_that_an_upright_palm_clears_stops_a_leaning_one() -> None:
    wall = box_surface(np.array([0.004, 0.1, 0.06])) + np.array([PALM_HALF[0] + 0.02, 0.0, PALM + 0.06])
    grasp = np.zeros(3)
    assert palm_fits(wall, grasp, UPRIGHT)
    assert not palm_fits(wall, grasp, leaning(0.5))
    assert palm_fits(wall, grasp, leaning(-0.5))


def test_the_palm_must_also_get_down_to_the_grasp() -> None:
    shelf = box_surface(np.array([0.1, 0.1, 0.004])) + np.array([0.0, 0.0, 0.25])
    assert palm_fits(shelf, np.zeros(3), UPRIGHT)
    assert not palm_fits(shelf, np.array([0.0, 0.0, 0.06]), UPRIGHT)


@pytest.mark.parametrize(("board", "direction"), [(0.06, [-1.0, 0.0, 0.0]), (-0.06, [1.0, 0.0, 0.0])])
def test_the_way_out_leads_away_from_what_hangs_over(puppet: Any, board: float, direction: list[float]) -> None:
    assert np.allclose(way_out(puppet(BOX + BOARD.format(x=board)).view(), "box"), direction, atol=0.05)


@pytest.mark.parametrize("board", [0.105, 0.15])
def test_what_hangs_over_the_edge_only_or_beside_is_no_obstacle(puppet: Any, board: float) -> None:
    assert way_out(puppet(BOX + BOARD.format(x=board)).view(), "box") is None


def test_a_box_is_pulled_out_from_under_a_board(puppet: Any) -> None:
    hand = puppet(BOX + BOARD.format(x=0.06))
    phases = hand.follow(
        lambda view: pull_out(view, "box", np.array([-1.0, 0.0, 0.0])),
        lambda view: way_out(view, "box") is None,
        steps=150,
    )
    assert phases[-1] == "drag"
    assert hand.view().rotation("box")[2, 2] > 0.99
