"""What ALFWorld's identifiers say about where things are.

``mug_bar__plus_00_dot_25_bar__plus_00_dot_90_bar__minus_01_dot_10`` is a mug at AI2-THOR's x, y and z in metres,
``loc_bar_1_bar__minus_3_bar_2_bar_45`` an agent at x and z in steps of 0.25 m, turned by quarter turns clockwise from
+z and looking 45 degrees down.  The view's own frame has x east, y north and z up, in metres.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from ...errors import UsageError
from ..chunks import Array

_STEP = 0.25
_EYE = 1.576
"""Height of AI2-THOR 2.1's camera above the floor in metres: the agent's 0.901 and the camera's 0.675 above it."""

_NUMBER = re.compile(r"_?(?P<sign>plus_|minus_)?(?P<value>\d+(?:_dot_\d+)?)")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pose:
    """Where the agent stands and looks.

    Attributes:
        eye: ``float64[3]``, metres.
        azimuth: degrees counter-clockwise from east, MuJoCo's convention.
        pitch: degrees below the horizon.
    """

    eye: Array
    azimuth: float
    pitch: float

    @property
    def forward(self) -> Array:
        """``float64[3]``: the unit vector that it looks along."""
        azimuth, elevation = np.deg2rad(self.azimuth), -np.deg2rad(self.pitch)
        return np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])

    @property
    def right(self) -> Array:
        """``float64[3]``: the unit vector to its right."""
        azimuth = np.deg2rad(self.azimuth)
        return np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])


def entity_kind(entity: str) -> str:
    """The class in an identifier, in lower case: ``"mug"``, ``"sinkbasin"``."""
    return entity.partition("_bar_")[0] + ("basin" if "basin" in entity else "")


def entity_point(entity: str) -> Array:
    """``float64[3]``: where an identifier says its object is.

    Raises:
        UsageError: it carries no coordinates.
    """
    east, up, north = _numbers(entity, 3)
    return np.array([east, north, up])


def location_pose(location: str) -> Pose:
    """How an agent at a location stands and looks.

    Raises:
        UsageError: the identifier is no location's.
    """
    east, north, turns, pitch = _numbers(location, 4)
    return Pose(eye=np.array([east * _STEP, north * _STEP, _EYE]), azimuth=90.0 - 90.0 * turns, pitch=pitch)


def _numbers(identifier: str, count: int) -> list[float]:
    parts = identifier.split("_bar_")[1 : 1 + count]
    found = [_NUMBER.fullmatch(part) for part in parts]
    if len(found) < count or not all(found):
        raise UsageError(f"{identifier!r} does not carry the {count} numbers that ALFWorld's identifiers have.")
    return [_value(match) for match in found if match]


def _value(match: re.Match[str]) -> float:
    value = float(match["value"].replace("_dot_", "."))
    return -value if match["sign"] == "minus_" else value
