"""The furniture: 24 kinds with distinct shapes, four of them containers that open."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Kind, Part, Surface, ball, box, egg, lathe, leaf, legs, rod, roll

_WOODS = ("brown", "white", "black", "grey")
_FABRICS = ("red", "green", "blue", "purple", "grey", "orange")


def _cupboard(depth: float, width: float, height: float, shelves: tuple[float, ...], inside: str) -> tuple[Part, ...]:
    """A hollow box open to the front, with shelves and one door leaf with a handle."""
    wall = 0.03
    return (
        box((-depth / 2 + wall / 2, 0, 0), (wall, width, height), inside),
        box((0, -width / 2 + wall / 2, 0), (depth, wall, height)),
        box((0, width / 2 - wall / 2, 0), (depth, wall, height)),
        box((0, 0, height - wall), (depth, width, wall)),
        box((0, 0, 0), (depth, width, 0.06)),
        *(box((0, 0, z), (depth - 0.06, width - 0.06, 0.02), inside) for z in shelves),
        leaf((depth / 2 + 0.012, 0, 0.06), (0.024, width - 0.01, height - 0.08)),
        leaf((depth / 2 + 0.045, -width / 2 + 0.09, height * 0.45), (0.03, 0.03, 0.22), "steel"),
    )


def _inside(depth: float, width: float, floors: tuple[float, ...], headroom: float) -> tuple[Surface, ...]:
    return tuple(
        Surface(centre=(0.02, 0, z), width=width - 0.16, depth=depth - 0.16, headroom=headroom, relation="in")
        for z in floors
    )


def _seat(width: float) -> tuple[Part, ...]:
    side = width / 2 - 0.09
    return (
        box((0.02, 0, 0.08), (0.84, width, 0.30)),
        box((-0.34, 0, 0.30), (0.20, width, 0.52)),
        box((0.02, side, 0.08), (0.84, 0.18, 0.54)),
        box((0.02, -side, 0.08), (0.84, 0.18, 0.54)),
        box((0.08, 0, 0.38), (0.66, width - 0.40, 0.08)),
        *legs(0.36, width / 2 - 0.08, 0.08),
    )


def _top(width: float, depth: float, z: float, x: float = 0.0, headroom: float = 1.0) -> Surface:
    return Surface(centre=(x, 0, z), width=width, depth=depth, headroom=headroom)


_KINDS = (
    Kind(
        name="bed",
        extent=(2.1, 1.5, 1.0),
        place="wall",
        colours=_FABRICS,
        materials=("fabric",),
        parts=(
            box((0, 0, 0.06), (2.0, 1.44, 0.26), "timber", "wood"),
            box((0, 0, 0.32), (1.96, 1.40, 0.18), "white"),
            box((0.26, 0, 0.36), (1.46, 1.46, 0.18), "body", "weave"),
            egg((-0.72, 0.36, 0.47), (0.40, 0.56, 0.16), "cream"),
            egg((-0.72, -0.36, 0.47), (0.40, 0.56, 0.16), "cream"),
            box((-1.02, 0, 0), (0.06, 1.5, 1.0), "timber", "wood"),
            *legs(0.95, 0.68, 0.1),
        ),
        surfaces=(_top(1.2, 1.0, 0.54, 0.35),),
        affordances=("sleep",),
    ),
    Kind(
        name="sofa",
        extent=(0.9, 2.0, 0.82),
        place="wall",
        colours=_FABRICS,
        materials=("fabric",),
        parts=(*_seat(2.0), box((0.08, 0, 0.44), (0.64, 0.02, 0.03), "black")),
        surfaces=(_top(1.4, 0.4, 0.46, 0.12),),
        affordances=("sit",),
    ),
    Kind(
        name="armchair",
        extent=(0.9, 0.95, 0.82),
        place="wall",
        colours=_FABRICS,
        materials=("fabric",),
        parts=_seat(0.95),
        affordances=("sit",),
    ),
    Kind(
        name="chair",
        extent=(0.46, 0.44, 0.92),
        place="table",
        colours=("brown", "black", "red", "white"),
        parts=(
            *legs(0.19, 0.18, 0.44, 0.04, "body"),
            box((0, 0, 0.44), (0.44, 0.42, 0.04)),
            box((-0.2, 0.18, 0.48), (0.04, 0.04, 0.42)),
            box((-0.2, -0.18, 0.48), (0.04, 0.04, 0.42)),
            box((-0.2, 0, 0.62), (0.03, 0.36, 0.08)),
            box((-0.2, 0, 0.80), (0.03, 0.42, 0.10)),
        ),
        affordances=("sit",),
    ),
    Kind(
        name="dining table",
        extent=(1.0, 1.6, 0.75),
        place="middle",
        colours=("brown", "white", "grey"),
        parts=(
            box((0, 0, 0.70), (1.0, 1.6, 0.05), "body", "wood"),
            box((0, 0, 0.62), (0.84, 1.4, 0.08), "body", "wood"),
            *legs(0.42, 0.70, 0.70, 0.08, "body"),
        ),
        surfaces=(_top(1.4, 0.8, 0.75),),
    ),
    Kind(
        name="coffee table",
        extent=(0.6, 1.1, 0.42),
        place="middle",
        colours=("brown", "black", "white"),
        parts=(
            box((0, 0, 0.37), (0.6, 1.1, 0.05), "body", "wood"),
            box((0, 0, 0.12), (0.5, 1.0, 0.03), "body", "wood"),
            *legs(0.26, 0.5, 0.37, 0.06, "body"),
        ),
        surfaces=(_top(0.95, 0.46, 0.42),),
    ),
    Kind(
        name="desk",
        extent=(0.7, 1.4, 0.75),
        place="wall",
        colours=("brown", "white", "black"),
        parts=(
            box((0, 0, 0.71), (0.7, 1.4, 0.04), "body", "wood"),
            box((0, 0.67, 0), (0.66, 0.04, 0.71)),
            box((0, -0.5, 0.06), (0.62, 0.38, 0.65)),
            *(box((0.315, -0.5, z), (0.02, 0.34, 0.17), "cream") for z in (0.10, 0.30, 0.50)),
            *(box((0.33, -0.5, z), (0.02, 0.1, 0.02), "steel") for z in (0.19, 0.39, 0.59)),
        ),
        surfaces=(_top(1.2, 0.5, 0.75),),
        affordances=("write",),
    ),
    Kind(
        name="bookshelf",
        extent=(0.36, 1.1, 1.55),
        place="wall",
        colours=("brown", "white", "black"),
        parts=(
            box((-0.165, 0, 0), (0.03, 1.1, 1.55), "timber", "wood"),
            box((0, 0.535, 0), (0.36, 0.03, 1.55)),
            box((0, -0.535, 0), (0.36, 0.03, 1.55)),
            *(box((0, 0, z), (0.34, 1.06, 0.03)) for z in (0.03, 0.42, 0.82, 1.22, 1.52)),
            *(
                box((-0.04, 0.46 - 0.052 * i, 0.06), (0.2, 0.045, 0.24 + 0.03 * (i % 3)), paint)
                for i, paint in enumerate(("clay", "cream", "leaf", "screen", "timber", "soil", "cream", "clay"))
            ),
        ),
        surfaces=(_top(0.9, 0.24, 0.45, 0.02, 0.34), _top(0.9, 0.24, 0.85, 0.02, 0.34)),
    ),
    Kind(
        name="tv stand",
        extent=(0.5, 1.5, 1.25),
        place="wall",
        colours=("brown", "white", "black"),
        parts=(
            box((0, 0, 0.06), (0.46, 1.5, 0.40), "body", "wood"),
            box((0.235, 0.37, 0.10), (0.02, 0.66, 0.32), "cream"),
            box((0.235, -0.37, 0.10), (0.02, 0.66, 0.32), "cream"),
            box((-0.08, 0, 0.46), (0.16, 0.4, 0.05), "black"),
            box((-0.08, 0, 0.50), (0.05, 1.24, 0.72), "black"),
            box((-0.052, 0, 0.53), (0.012, 1.18, 0.66), "screen"),
            *legs(0.18, 0.68, 0.06),
        ),
        surfaces=(_top(1.3, 0.2, 0.46, 0.12, 0.5),),
        affordances=("watch",),
    ),
    Kind(
        name="wardrobe",
        extent=(0.62, 1.0, 1.9),
        place="wall",
        colours=("brown", "white", "grey"),
        parts=(*_cupboard(0.6, 1.0, 1.9, (0.45, 0.9), "timber"), roll((0, 0, 1.72), 0.015, 0.94, "steel")),
        surfaces=_inside(0.6, 1.0, (0.47, 0.92), 0.4),
        hinge=(0.3, 0.5),
        affordances=("store clothes",),
    ),
    Kind(
        name="fridge",
        extent=(0.68, 0.7, 1.75),
        place="wall",
        colours=("white", "grey", "red"),
        materials=("metal",),
        parts=(
            *_cupboard(0.64, 0.7, 1.75, (0.5, 0.85, 1.2), "white"),
            leaf((0.34, 0, 1.18), (0.02, 0.68, 0.02), "steel"),
        ),
        surfaces=_inside(0.64, 0.7, (0.52, 0.87), 0.3),
        hinge=(0.32, 0.35),
        affordances=("keep cold",),
    ),
    Kind(
        name="cabinet",
        extent=(0.47, 1.0, 0.9),
        place="wall",
        colours=("brown", "white", "green", "blue"),
        parts=_cupboard(0.45, 1.0, 0.9, (0.44,), "cream"),
        surfaces=(_top(0.8, 0.28, 0.9, 0, 0.5), *_inside(0.45, 1.0, (0.46,), 0.38)),
        hinge=(0.225, 0.5),
    ),
    Kind(
        name="locker",
        extent=(0.47, 0.55, 1.5),
        place="wall",
        colours=("grey", "blue", "green", "red"),
        materials=("metal",),
        parts=(
            *_cupboard(0.45, 0.55, 1.5, (0.45, 0.9), "grey"),
            *(leaf((0.255, 0, z), (0.01, 0.3, 0.02), "black") for z in (1.24, 1.29, 1.34)),
        ),
        surfaces=_inside(0.45, 0.55, (0.47, 0.92), 0.4),
        hinge=(0.225, 0.275),
    ),
    Kind(
        name="washing machine",
        extent=(0.62, 0.6, 0.86),
        place="wall",
        colours=("white", "grey"),
        materials=("metal",),
        parts=(
            box((0, 0, 0), (0.6, 0.6, 0.86)),
            box((0.302, 0, 0.72), (0.02, 0.58, 0.12), "steel"),
            roll((0.30, 0, 0.18), 0.22, 0.04, "steel", "x"),
            roll((0.315, 0, 0.23), 0.17, 0.04, "screen", "x"),
            roll((0.31, 0.2, 0.755), 0.03, 0.04, "black", "x"),
        ),
        surfaces=(_top(0.4, 0.36, 0.86),),
        affordances=("wash clothes",),
    ),
    Kind(
        name="stove",
        extent=(0.64, 0.7, 1.0),
        place="wall",
        colours=("white", "black", "grey"),
        materials=("metal",),
        parts=(
            box((0, 0, 0), (0.6, 0.7, 0.88)),
            box((0, 0, 0.88), (0.6, 0.7, 0.02), "black"),
            *(rod((x, y, 0.9), 0.09, 0.012, "steel") for x in (-0.14, 0.14) for y in (-0.17, 0.17)),
            box((0.305, 0, 0.2), (0.02, 0.56, 0.38), "screen"),
            box((0.33, 0, 0.62), (0.03, 0.56, 0.03), "steel"),
            *(roll((0.31, y, 0.74), 0.03, 0.04, "clay", "x") for y in (-0.24, -0.08, 0.08, 0.24)),
            box((-0.28, 0, 0.88), (0.04, 0.7, 0.12), "steel"),
        ),
        surfaces=(_top(0.5, 0.4, 0.912),),
        affordances=("heat",),
    ),
    Kind(
        name="counter",
        extent=(0.62, 1.6, 1.15),
        place="wall",
        colours=("white", "green", "blue", "brown"),
        parts=(
            box((0, 0, 0.08), (0.6, 1.6, 0.78)),
            box((0.01, 0, 0.86), (0.62, 1.6, 0.05), "timber", "wood"),
            *(box((0.302, y, 0.14), (0.015, 0.48, 0.66), "cream") for y in (-0.52, 0, 0.52)),
            *(box((0.32, y, 0.72), (0.02, 0.14, 0.02), "steel") for y in (-0.52, 0, 0.52)),
            box((0, 0.5, 0.905), (0.42, 0.44, 0.01), "steel"),
            rod((-0.22, 0.5, 0.9), 0.02, 0.24, "steel"),
            roll((-0.14, 0.5, 1.12), 0.018, 0.18, "steel", "x"),
        ),
        surfaces=(Surface(centre=(0.02, -0.28, 0.91), width=0.9, depth=0.36),),
    ),
    Kind(
        name="toilet",
        extent=(0.68, 0.44, 0.85),
        place="wall",
        colours=("white",),
        materials=("ceramic",),
        parts=(
            box((-0.24, 0, 0.36), (0.2, 0.44, 0.46)),
            lathe(((0.11, 0.0), (0.10, 0.16), (0.21, 0.38), (0.22, 0.42), (0.14, 0.42), (0.10, 0.30)), x=0.1),
            box((-0.2, 0, 0), (0.24, 0.2, 0.38)),
            box((-0.14, 0, 0.42), (0.04, 0.38, 0.42), "cream"),
            rod((-0.24, 0, 0.82), 0.03, 0.02, "steel"),
        ),
        surfaces=(Surface(centre=(-0.24, 0, 0.82), width=0.3, depth=0.14),),
        affordances=("toilet",),
    ),
    Kind(
        name="bathtub",
        extent=(0.8, 1.7, 0.8),
        place="wall",
        colours=("white", "pink", "blue"),
        materials=("ceramic",),
        parts=(
            box((0, 0, 0), (0.8, 1.7, 0.12)),
            box((-0.36, 0, 0), (0.08, 1.7, 0.56)),
            box((0.36, 0, 0), (0.08, 1.7, 0.56)),
            box((0, 0.8, 0), (0.8, 0.1, 0.56)),
            box((0, -0.8, 0), (0.8, 0.1, 0.56)),
            box((0, 0, 0.12), (0.64, 1.5, 0.26), "glass"),
            rod((0, 0.8, 0.56), 0.02, 0.2, "steel"),
            roll((0, 0.74, 0.74), 0.018, 0.16, "steel"),
        ),
        surfaces=(Surface(centre=(0.0, -0.79, 0.56), width=0.1, depth=0.5),),
        affordances=("wash",),
    ),
    Kind(
        name="washbasin",
        extent=(0.5, 0.62, 1.75),
        place="wall",
        colours=("white",),
        materials=("ceramic",),
        parts=(
            lathe(((0.14, 0.0), (0.07, 0.12), (0.08, 0.66), (0.16, 0.72))),
            box((0.0, 0, 0.72), (0.5, 0.62, 0.12)),
            egg((0.05, 0, 0.80), (0.3, 0.4, 0.06), "glass"),
            rod((-0.16, 0, 0.84), 0.02, 0.16, "steel"),
            roll((-0.09, 0, 0.98), 0.016, 0.14, "steel", "x"),
            box((-0.235, 0, 1.1), (0.02, 0.6, 0.65), "timber"),
            box((-0.222, 0, 1.14), (0.02, 0.52, 0.57), "glass"),
        ),
        surfaces=(Surface(centre=(-0.08, 0.24, 0.84), width=0.12, depth=0.24, headroom=0.26),),
        affordances=("wash hands",),
    ),
    Kind(
        name="nightstand",
        extent=(0.42, 0.46, 0.52),
        place="wall",
        colours=("brown", "white", "black"),
        parts=(
            box((0, 0, 0.08), (0.4, 0.44, 0.40), "body", "wood"),
            box((0, 0, 0.48), (0.42, 0.46, 0.04), "timber", "wood"),
            box((0.205, 0, 0.12), (0.02, 0.38, 0.14), "cream"),
            box((0.205, 0, 0.29), (0.02, 0.38, 0.14), "cream"),
            ball((0.225, 0, 0.17), 0.02, "steel"),
            ball((0.225, 0, 0.34), 0.02, "steel"),
            *legs(0.17, 0.19, 0.08),
        ),
        surfaces=(_top(0.34, 0.3, 0.52),),
    ),
    Kind(
        name="bench",
        extent=(0.42, 1.2, 0.45),
        place="wall",
        colours=("brown", "white", "green"),
        parts=(
            *(box((x, 0, 0.40), (0.11, 1.2, 0.05), "body", "wood") for x in (-0.14, 0, 0.14)),
            box((0, 0.5, 0), (0.36, 0.06, 0.40)),
            box((0, -0.5, 0), (0.36, 0.06, 0.40)),
        ),
        surfaces=(_top(1.0, 0.28, 0.45),),
        affordances=("sit",),
    ),
    Kind(
        name="bunk bed",
        extent=(2.0, 0.95, 1.6),
        place="wall",
        colours=_FABRICS,
        parts=(
            *(box((sx * 0.96, sy * 0.43, 0), (0.08, 0.08, 1.6), "timber") for sx in (-1, 1) for sy in (-1, 1)),
            *(box((0, 0, z), (1.9, 0.9, 0.08), "timber") for z in (0.26, 1.1)),
            *(box((0, 0, z), (1.84, 0.84, 0.12), "body", "weave") for z in (0.34, 1.18)),
            *(box((0.98, 0, z), (0.03, 0.3, 0.03), "timber") for z in (0.5, 0.75, 1.0)),
            box((0, 0.45, 1.36), (1.9, 0.03, 0.1), "timber"),
        ),
        surfaces=(_top(0.6, 1.4, 0.46, 0, 0.5),),
        affordances=("sleep",),
    ),
    Kind(
        name="floor lamp",
        extent=(0.4, 0.4, 1.6),
        place="wall",
        colours=("white", "orange", "green", "red"),
        materials=("metal",),
        parts=(
            rod((0, 0, 0), 0.15, 0.03, "black"),
            rod((0, 0, 0.03), 0.018, 1.3, "black"),
            lathe(((0.20, 1.25), (0.12, 1.6), (0.11, 1.6), (0.19, 1.25))),
            ball((0, 0, 1.32), 0.06, "glow"),
        ),
        affordances=("light",),
    ),
    Kind(
        name="ficus",
        extent=(0.56, 0.52, 1.4),
        place="wall",
        colours=("white", "brown", "blue"),
        materials=("ceramic",),
        parts=(
            lathe(((0.13, 0.0), (0.19, 0.34), (0.17, 0.34), (0.16, 0.28))),
            rod((0, 0, 0.28), 0.15, 0.02, "soil"),
            rod((0, 0, 0.3), 0.02, 0.6, "timber"),
            *(egg((0.1 * x, 0.1 * y, z), (0.36, 0.36, 0.34), "leaf") for x, y, z in ((0, 0, 1.05), (1, 0, 0.75))),
            *(egg((0.1 * x, 0.1 * y, z), (0.32, 0.32, 0.3), "leaf") for x, y, z in ((-1, 1, 0.85), (-1, -1, 0.7))),
        ),
    ),
)

FURNITURE: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every kind of furniture by its name."""
