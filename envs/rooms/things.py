"""What the modules of object kinds share."""

from __future__ import annotations

from .kinds import Kind, Part, Vector

ANY_COLOUR = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white")


def thing(name: str, extent: Vector, parts: tuple[Part, ...], *look: tuple[str, ...], floor: bool = False) -> Kind:
    """An object; ``look`` is its colours, its materials and its affordances."""
    colours, materials, affordances = look
    return Kind(
        name=name,
        extent=extent,
        parts=parts,
        colours=colours,
        materials=materials,
        affordances=affordances,
        place="floor" if floor else "surface",
    )
