"""The objects that expressions are about: 36 kinds that stand on, in or beside the furniture."""

from __future__ import annotations

from collections.abc import Mapping

from .household_objects import HOUSEHOLD_OBJECTS
from .kinds import Kind
from .kitchen_objects import KITCHEN_OBJECTS

OBJECTS: Mapping[str, Kind] = {kind.name: kind for kind in (*KITCHEN_OBJECTS, *HOUSEHOLD_OBJECTS)}
"""Every kind of object by its name; the order decides what a house's seed draws."""
