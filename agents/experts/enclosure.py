"""Compartments with a lid: a microwave's or a shelf's, which things enter from the front."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...envs import Array
from .grasps import PALM, PALM_HALF
from .scene import Site, View

_LANE = 0.04
"""A side is open when nothing of the compartment is in a lane of this half width to the middle, metres."""
_OVERHEAD = (0.03, 0.6)
"""What is above the middle and within this horizontal distance of it is the lid: metres, and at most this share of the
region's half size, because the walls of a narrow compartment are near its middle."""
_FACE = 0.005
"""Points this near to the lid's height are on its lower face, metres."""
_SKIN = 0.02
"""The floor and the lid are left out of the walls by this much, metres."""
_FRONT = 0.12
"""The hand needs this much room before the front, metres."""
_UPRIGHT = 0.7
"""An axis of a region whose vertical part is above this (a cosine) leads up or down, not out."""
_WIDEST = 0.25
"""Nobody needs more room than this to either side, metres."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Enclosure:
    """A compartment that is entered horizontally.

    Attributes:
        outwards: ``float64[3]``, the horizontal unit vector out of it.
        across: ``float64[3]``, the horizontal unit vector along its front.
        lane: the middle of what is free for the hand before the front, along ``across``, metres.
        sides: where the walls are, along ``across``, metres.
        deep: the coordinate along ``outwards`` of the region's middle, metres.
        shallow: … and of the place that still counts as inside.
        back: … and of the rear wall.
        edge: … and of the lid's front.
        floor: height of the floor, metres.
        ceiling: height of the lid's lower face, metres.
    """

    outwards: Array
    across: Array
    lane: float
    sides: tuple[float, float]
    deep: float
    shallow: float
    back: float
    edge: float
    floor: float
    ceiling: float

    def hand_limit(self, rotation: Array) -> float:
        """How far in, along ``outwards``, the grip site may go while the palm stays before the lid, metres.

        Args:
            rotation: ``float64[3, 3]``, the hand's.
        """
        reach = abs(float(rotation[:, 0] @ self.outwards)) * PALM_HALF[1]
        reach += abs(float(rotation[:, 1] @ self.outwards)) * PALM_HALF[0]
        return self.edge + reach + PALM * float(rotation[:, 2] @ self.outwards)


def enclosure(view: View, region: str, name: str) -> Enclosure | None:
    """The compartment of a region, or None when the region is open from above.

    Args:
        view: the scene.
        region: the name of a site.
        name: the object that shall go there, which is no obstacle.
    """
    site = view.site(region)
    if site is None or site.body not in view.scene.body_points:
        return None
    points, half = view.body_points(site.body), np.abs(site.rotation @ site.size)
    around = min(_OVERHEAD[0], _OVERHEAD[1] * float(half[:2].min()))
    over = points[np.linalg.norm((points - site.position)[:, :2], axis=1) < around, 2]
    lids, floors = over[over > site.position[2]], over[over <= site.position[2]]
    if not len(lids):
        return None
    floor = float(floors.max(initial=site.position[2] - half[2]))
    ceiling = float(lids.min())
    walls = points[(points[:, 2] > floor + _SKIN) & (points[:, 2] < ceiling - _SKIN)]
    outwards = _way_out(walls, site, view.base)
    if outwards is None:
        return None
    across = np.array([-outwards[1], outwards[0], 0.0])
    edge = float((points[np.abs(points[:, 2] - ceiling) < _FACE] @ outwards).max())
    others = view.others((name,))
    depth = others @ outwards
    before = (depth > edge) & (depth < edge + _FRONT) & (others[:, 2] > floor + _SKIN) & (others[:, 2] < ceiling)
    centre, deep = float(site.position @ across), float(site.position @ outwards)
    back = _free_interval(walls[np.abs(walls @ across - centre) < _LANE] @ outwards, deep)[0]
    beside = walls[walls @ outwards > back + _SKIN]
    return Enclosure(
        outwards=outwards,
        across=across,
        lane=float(np.mean(_free_interval(others[before] @ across, centre))),
        sides=_free_interval(beside @ across, centre),
        deep=deep,
        shallow=deep + float(half @ np.abs(outwards)),
        back=back,
        edge=edge,
        floor=floor,
        ceiling=ceiling,
    )


def _way_out(walls: Array, site: Site, base: Array) -> Array | None:
    """The horizontal direction without walls that leads towards the robot the most, or None."""
    free: list[Array] = []
    for side in (sign * site.rotation[:, axis] for axis in (0, 1, 2) for sign in (-1.0, 1.0)):
        if abs(side[2]) > _UPRIGHT:
            continue
        outwards = np.array([side[0], side[1], 0.0]) / np.linalg.norm(side[:2])
        offset = (walls - site.position)[:, :2]
        aside = np.abs(offset @ np.array([-outwards[1], outwards[0]]))
        if not ((offset @ outwards[:2] > 0) & (aside < _LANE)).any():
            free.append(outwards)
    return max(free, key=lambda way: float(way @ (base - site.position))) if free else None


def _free_interval(taken: Array, centre: float) -> tuple[float, float]:
    """From the nearest of the coordinates below a centre to the nearest above it, within `_WIDEST` of it."""
    low = float(taken[taken < centre].max(initial=centre - _WIDEST))
    high = float(taken[taken >= centre].min(initial=centre + _WIDEST))
    return low, high
