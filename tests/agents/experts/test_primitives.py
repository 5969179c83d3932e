"""The primitives in tiny scenes with real contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thinktwice.agents.experts.articulate import articulate
from thinktwice.agents.experts.enclosure import enclosure
from thinktwice.agents.experts.grasp_book import GraspBook
from thinktwice.agents.experts.insert import push_in, stands_inside
from thinktwice.agents.experts.modes import Modes
from thinktwice.agents.experts.motion import CLOSE
from thinktwice.agents.experts.pick import pick
from thinktwice.agents.experts.place import place
from thinktwice.agents.experts.predicates import holds
from thinktwice.agents.experts.slide import is_flat, slide

DRAWER = """
<body name="cabinet_main" pos="0.25 0 0.06">
  <geom type="box" size="0.08 0.08 0.004" pos="0.02 0 0.045"/>
  <body name="cabinet_drawer">
    <joint name="cabinet_slide" type="slide" axis="1 0 0" range="-0.16 0.01" damping="8" frictionloss="1"/>
    <geom type="box" size="0.06 0.06 0.003" pos="0 0 -0.03"/>
    <geom type="box" size="0.003 0.06 0.03" pos="-0.063 0 0"/>
    <geom type="box" size="0.006 0.03 0.006" pos="-0.095 0 0"/>
    <geom type="box" size="0.014 0.004 0.004" pos="-0.08 0.026 0"/>
    <geom type="box" size="0.014 0.004 0.004" pos="-0.08 -0.026 0"/>
    <site name="cabinet_region" size="0.05 0.05 0.02"/>
  </body>
</body>
"""

KNOB = """
<body name="stove_main" pos="0.1 0.05 0.02">
  <geom type="box" size="0.08 0.08 0.02"/>
  <body name="stove_knob" pos="-0.03 0 0.02">
    <joint name="stove_hinge" type="hinge" axis="0 0 1" range="-1 2" damping="0.01" frictionloss="0.005"/>
    <geom type="cylinder" size="0.018 0.004" pos="0 0 0.004"/>
    <geom type="box" size="0.018 0.004 0.011" pos="0 0 0.019"/>
  </body>
</body>
"""


def rim(half: float, wall: float, height: float) -> str:
    """The four walls and the floor of an open box, as geoms."""
    side = f'size="{half} {wall} {height / 2}"'
    return "".join(
        [
            f'<geom type="box" size="{half} {half} 0.002" pos="0 0 0.002"/>',
            *(f'<geom type="box" {side} pos="0 {sign * half} {height / 2}"/>' for sign in (-1, 1)),
            *(f'<geom type="box" {side} pos="{sign * half} 0 {height / 2}" euler="0 0 90"/>' for sign in (-1, 1)),
        ]
    )


BOWL = f'<body name="bowl_main" pos="0.02 -0.05 0"><freejoint/>{rim(0.05, 0.003, 0.05)}</body>'
TRAY = f'<body name="tray_main" pos="0.02 0.2 0">{rim(0.09, 0.003, 0.02)}</body>'
PLATE = """
<body name="plate_main" pos="0.05 0 0.006"><freejoint/>
  <geom type="cylinder" size="0.07 0.006" mass="0.2" friction="0.6 0.005 0.0001"/></body>
"""
OVEN = """
<body name="oven_main" pos="0.05 0.2 0">
  <geom type="box" size="0.12 0.09 0.005" pos="0 0 0.005"/>
  <geom type="box" size="0.12 0.09 0.005" pos="0 0 0.155"/>
  <geom type="box" size="0.005 0.09 0.07" pos="0.115 0 0.08"/>
  <geom type="box" size="0.005 0.09 0.07" pos="-0.115 0 0.08"/>
  <geom type="box" size="0.11 0.005 0.07" pos="0 0.085 0.08"/>
  <site name="oven_inside" pos="0 0 0.08" size="0.1 0.08 0.07" type="box"/>
</body>
"""
MUG = """
<body name="mug_main" pos="{x} {y} {z}"><freejoint/>
  <geom type="box" size="0.038 0.038 0.045" pos="0 0 0.045" mass="0.05"/>
  <geom type="box" size="0.006 0.03 0.03" pos="0 -0.068 0.045" mass="0.01" condim="4"/></body>
"""


def test_a_drawer_is_dragged_open_and_pushed_shut(puppet: Any) -> None:
    hand = puppet(DRAWER)
    shut, opened = ("close", "cabinet_region"), ("open", "cabinet_region")
    phases = hand.follow(lambda view: articulate(view, opened), lambda view: holds(view, opened), steps=150)
    assert phases[-1] == "drag"
    phases = hand.follow(lambda view: articulate(view, shut), lambda view: holds(view, shut), steps=150)
    assert phases[-1] == "push"


def test_a_knob_is_twisted_by_its_ridge_both_ways(puppet: Any) -> None:
    hand = puppet(KNOB)
    for goal in (("turnon", "stove"), ("turnoff", "stove")):
        phases = hand.follow(
            lambda view, goal=goal: articulate(view, goal), lambda view, g=goal: holds(view, g), steps=200
        )
        assert "twist" in phases


@pytest.mark.parametrize("way", [(-0.08, 0.16), (0.1, -0.1)])
def test_a_plate_is_dragged_to_its_place_and_stays_flat(puppet: Any, way: tuple[float, float]) -> None:
    hand = puppet(PLATE)
    view = hand.view()
    assert is_flat(view.points("plate"), view.rotation("plate"))
    target = view.position("plate") + np.array([*way, 0.0])
    hand.follow(
        lambda view: slide(view, "plate", target),
        lambda view: np.linalg.norm((view.position("plate") - target)[:2]) < 0.01,
        steps=200,
    )
    assert hand.view().rotation("plate")[2, 2] > 0.999


@pytest.mark.parametrize("seed", [0, 2])
def test_a_bowl_is_gripped_at_its_rim_and_set_into_a_tray(puppet: Any, seed: int) -> None:
    hand = puppet(BOWL + TRAY)
    book, modes = GraspBook(hand.scene), Modes(seed=seed)
    hand.follow(
        lambda view: pick(view, "bowl", book.grasps(view, "bowl"), modes),
        lambda view: view.held == "bowl" and abs(view.hand.width_rate) < 0.01,
        steps=150,
    )
    grip = (hand.view().hand.position - hand.view().position("bowl"))[:2]
    assert 0.04 < float(np.abs(grip).max()) < 0.06
    target = np.array([0.02, 0.2, 0.004])
    hand.follow(
        lambda view: place(view, "bowl", target, satisfied=False, tolerance=0.02),
        lambda view: view.held is None and view.hand.width > 0.03,
        steps=200,
    )
    view = hand.view()
    assert np.linalg.norm((view.position("bowl") - target)[:2]) < 0.03
    assert view.rotation("bowl")[2, 2] > 0.99


def test_a_compartment_with_a_lid_is_entered_from_its_open_side(puppet: Any) -> None:
    view = puppet(OVEN + MUG.format(x=0.0, y=-0.1, z=0.0)).view()
    box = enclosure(view, "oven_inside", "mug")
    assert box is not None
    assert np.allclose(box.outwards, [0.0, -1.0, 0.0])
    assert box.edge == pytest.approx(-0.11, abs=1e-6)
    assert box.floor == pytest.approx(0.01, abs=1e-6)
    assert box.ceiling == pytest.approx(0.15, abs=1e-6)
    assert sorted(np.abs(box.sides)) == pytest.approx([0.06, 0.16], abs=1e-6)
    assert box.back == pytest.approx(-0.28, abs=1e-6)


def test_what_is_open_from_above_is_no_enclosure(puppet: Any) -> None:
    tray = TRAY.replace("</body>", '<site name="tray_inside" size="0.08 0.08 0.02" pos="0 0 0.02" type="box"/></body>')
    view = puppet(tray + BOWL).view()
    assert enclosure(view, "tray_inside", "bowl") is None
    assert enclosure(view, "no such site", "bowl") is None


def test_a_narrow_compartment_between_walls_is_open_from_above(puppet: Any) -> None:
    walls = "".join(f'<geom type="box" size="0.004 0.06 0.08" pos="{x} 0 0.08"/>' for x in (-0.033, 0.033))
    site = '<site name="caddy_inside" size="0.028 0.06 0.05" pos="0 0 0.09" type="box"/>'
    view = puppet(f'<body name="caddy_main" pos="0 0.2 0">{walls}{site}</body>{BOWL}').view()
    assert enclosure(view, "caddy_inside", "bowl") is None


def test_a_handle_above_the_fingertips_is_still_between_the_fingers(puppet: Any) -> None:
    assert puppet(MUG.format(x=0.0, y=0.068, z=0.0), at=(0.0, 0.0, 0.045)).view().straddles("mug")
    assert puppet(MUG.format(x=0.0, y=0.068, z=0.0), at=(0.0, 0.0, 0.035)).view().straddles("mug")
    assert not puppet(MUG.format(x=0.0, y=0.068, z=0.0), at=(0.0, 0.0, 0.12)).view().straddles("mug")


def test_a_mug_in_the_doorway_is_pushed_in_with_closed_fingers(puppet: Any) -> None:
    hand = puppet(OVEN + MUG.format(x=0.05, y=0.13, z=0.01))
    box = enclosure(hand.view(), "oven_inside", "mug")
    assert box is not None
    assert stands_inside(hand.view(), "mug", box)
    assert not stands_inside(puppet(OVEN + MUG.format(x=0.05, y=-0.05, z=0.0)).view(), "mug", box)
    commands = []
    hand.follow(
        lambda view: commands.append(push_in(view, "mug", box)) or commands[-1],
        lambda view: view.position("mug")[1] > 0.16,
        steps=150,
    )
    assert {command.grip for command in commands} == {CLOSE}
