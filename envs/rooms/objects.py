"""The objects that expressions are about: 36 kinds that stand on, in or beside the furniture."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Kind, Part, Vector, ball, box, egg, lathe, rod, roll

_ANY = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white")


def _thing(name: str, extent: Vector, parts: tuple[Part, ...], *look: tuple[str, ...], floor: bool = False) -> Kind:
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


def _bottle(radius: float, shoulder: float, height: float) -> Part:
    neck = radius * 0.35
    return lathe(
        (
            (radius * 0.96, 0.0),
            (radius, 0.02),
            (radius, shoulder),
            (neck, shoulder + radius),
            (neck, height),
            (0, height),
        )
    )


_CUP = ((0.035, 0.0), (0.045, 0.01), (0.047, 0.10), (0.040, 0.10), (0.038, 0.03), (0.0, 0.03))

_KINDS = (
    # food
    _thing(
        "apple",
        (0.09, 0.09, 0.10),
        (
            ball((0, 0, 0), 0.045),
            rod((0, 0, 0.085), 0.005, 0.025, "soil"),
            egg((0.012, 0, 0.095), (0.03, 0.016, 0.01), "leaf"),
        ),
        ("red", "green", "yellow"),
        ("natural",),
        ("eat", "fruit"),
    ),
    _thing(
        "banana",
        (0.08, 0.20, 0.07),
        (
            egg((0, 0, 0), (0.05, 0.12, 0.045), "yellow"),
            egg((0.012, 0.06, 0.012), (0.042, 0.09, 0.04), "yellow"),
            egg((0.012, -0.06, 0.012), (0.042, 0.09, 0.04), "yellow"),
            egg((0.024, 0.10, 0.03), (0.02, 0.03, 0.02), "soil"),
        ),
        ("yellow",),
        ("natural",),
        ("eat", "fruit", "potassium"),
    ),
    _thing(
        "bread",
        (0.12, 0.24, 0.11),
        (
            box((0, 0, 0), (0.11, 0.23, 0.06), "skin"),
            egg((0, 0.07, 0.03), (0.12, 0.11, 0.09), "timber"),
            egg((0, 0, 0.03), (0.12, 0.11, 0.09), "timber"),
            egg((0, -0.07, 0.03), (0.12, 0.11, 0.09), "timber"),
        ),
        ("brown",),
        ("natural",),
        ("eat", "toast"),
    ),
    _thing(
        "cheese",
        (0.13, 0.13, 0.07),
        (
            box((0, 0, 0), (0.12, 0.12, 0.065), "yellow"),
            *(roll((0.055, y, z), 0.012, 0.02, "orange", "x") for y, z in ((0.03, 0.01), (-0.03, 0.03), (0.0, 0.02))),
            *(rod((x, y, 0.058), 0.014, 0.01, "orange") for x, y in ((0.03, 0.03), (-0.02, -0.03))),
        ),
        ("yellow",),
        ("natural",),
        ("eat", "calcium"),
    ),
    _thing(
        "milk carton",
        (0.09, 0.09, 0.25),
        (
            box((0, 0, 0), (0.09, 0.09, 0.18), "white"),
            box((0, 0, 0.05), (0.093, 0.093, 0.08)),
            box((0, 0, 0.18), (0.06, 0.09, 0.03), "white"),
            box((0, 0, 0.21), (0.015, 0.09, 0.03)),
        ),
        ("blue", "green", "red"),
        ("paper",),
        ("drink protein",),
    ),
    _thing(
        "cereal box",
        (0.08, 0.20, 0.29),
        (
            box((0, 0, 0), (0.08, 0.20, 0.29)),
            roll((0.035, 0, 0.05), 0.05, 0.012, "cream", "x"),
            box((0.041, 0, 0.2), (0.004, 0.15, 0.05), "yellow"),
        ),
        ("red", "orange", "green", "purple"),
        ("paper",),
        ("breakfast",),
    ),
    # kitchen
    _thing(
        "mug",
        (0.10, 0.14, 0.10),
        (lathe(_CUP), box((0, 0.062, 0.075), (0.014, 0.04, 0.014)), box((0, 0.078, 0.03), (0.014, 0.014, 0.05))),
        _ANY,
        ("ceramic",),
        ("hot drink",),
    ),
    _thing(
        "bowl",
        (0.20, 0.20, 0.09),
        (lathe(((0.04, 0.0), (0.08, 0.035), (0.10, 0.09), (0.093, 0.09), (0.07, 0.035), (0.0, 0.02))),),
        _ANY,
        ("ceramic", "wooden"),
        ("soup",),
    ),
    _thing(
        "plate",
        (0.26, 0.26, 0.03),
        (lathe(((0.07, 0.0), (0.13, 0.025), (0.127, 0.03), (0.08, 0.012), (0.0, 0.012))),),
        _ANY,
        ("ceramic",),
        ("serve",),
    ),
    _thing(
        "water bottle",
        (0.08, 0.08, 0.27),
        (_bottle(0.04, 0.16, 0.23), rod((0, 0, 0.225), 0.02, 0.035, "white"), rod((0, 0, 0.07), 0.0405, 0.06, "white")),
        ("blue", "green", "red", "pink"),
        ("plastic",),
        ("carry water",),
    ),
    _thing(
        "wine bottle",
        (0.09, 0.09, 0.33),
        (_bottle(0.042, 0.18, 0.31), rod((0, 0, 0.30), 0.018, 0.03, "clay"), rod((0, 0, 0.06), 0.043, 0.09, "cream")),
        ("green", "black", "brown"),
        ("glass",),
        ("celebrate",),
    ),
    _thing(
        "pan",
        (0.28, 0.46, 0.06),
        (
            lathe(((0.11, 0.0), (0.14, 0.06), (0.132, 0.06), (0.105, 0.012), (0.0, 0.012)), y=0.09),
            roll((0, -0.13, 0.035), 0.014, 0.2, "soil"),
        ),
        ("black", "red", "grey"),
        ("metal",),
        ("fry",),
    ),
    _thing(
        "pot",
        (0.24, 0.34, 0.21),
        (
            rod((0, 0, 0), 0.12, 0.15),
            rod((0, 0, 0.15), 0.125, 0.015, "steel"),
            ball((0, 0, 0.165), 0.02, "black"),
            box((0, 0.145, 0.11), (0.05, 0.05, 0.02), "black"),
            box((0, -0.145, 0.11), (0.05, 0.05, 0.02), "black"),
        ),
        ("red", "grey", "blue", "orange"),
        ("metal",),
        ("boil",),
    ),
    _thing(
        "kettle",
        (0.20, 0.28, 0.26),
        (
            lathe(((0.10, 0.0), (0.105, 0.03), (0.07, 0.16), (0.0, 0.17))),
            ball((0, 0, 0.16), 0.02, "black"),
            box((0, -0.11, 0.11), (0.03, 0.08, 0.03)),
            box((0, 0.08, 0.2), (0.025, 0.08, 0.025), "black"),
            box((0, 0.11, 0.06), (0.025, 0.025, 0.16), "black"),
            box((0, 0.02, 0.21), (0.025, 0.14, 0.025), "black"),
        ),
        ("red", "grey", "white", "green"),
        ("metal",),
        ("tea water",),
    ),
    _thing(
        "toaster",
        (0.18, 0.30, 0.20),
        (
            box((0, 0, 0.015), (0.17, 0.28, 0.17)),
            box((0.035, 0, 0.18), (0.03, 0.2, 0.008), "black"),
            box((-0.035, 0, 0.18), (0.03, 0.2, 0.008), "black"),
            box((0, 0.145, 0.1), (0.04, 0.02, 0.03), "black"),
            box((0, 0, 0), (0.15, 0.25, 0.015), "black"),
        ),
        ("grey", "red", "white"),
        ("metal",),
        ("make toast",),
    ),
    # study and living
    _thing(
        "book",
        (0.17, 0.24, 0.05),
        (
            box((0, 0, 0), (0.17, 0.24, 0.012)),
            box((0.004, 0, 0.012), (0.15, 0.228, 0.028), "cream"),
            box((0, 0, 0.04), (0.17, 0.24, 0.012)),
        ),
        _ANY,
        ("paper",),
        ("read",),
    ),
    _thing(
        "laptop",
        (0.26, 0.34, 0.24),
        (
            box((0, 0, 0), (0.24, 0.34, 0.02)),
            box((0.01, 0, 0.02), (0.14, 0.30, 0.004), "black"),
            box((-0.115, 0, 0.02), (0.015, 0.34, 0.22)),
            box((-0.105, 0, 0.035), (0.006, 0.31, 0.19), "glass"),
        ),
        ("grey", "black", "white"),
        ("metal",),
        ("email",),
    ),
    _thing(
        "globe",
        (0.22, 0.22, 0.32),
        (
            rod((0, 0, 0), 0.08, 0.02, "timber"),
            rod((0, 0, 0.02), 0.012, 0.08, "timber"),
            ball((0, 0, 0.09), 0.105, "blue"),
            egg((0.06, 0.02, 0.13), (0.09, 0.12, 0.10), "leaf"),
            egg((-0.06, -0.03, 0.12), (0.09, 0.10, 0.12), "leaf"),
        ),
        ("blue",),
        ("plastic",),
        ("geography",),
    ),
    _thing(
        "table lamp",
        (0.24, 0.24, 0.40),
        (
            rod((0, 0, 0), 0.07, 0.02, "timber"),
            rod((0, 0, 0.02), 0.014, 0.2, "timber"),
            lathe(((0.12, 0.2), (0.07, 0.4), (0.065, 0.4), (0.11, 0.2))),
            ball((0, 0, 0.22), 0.035, "glow"),
        ),
        _ANY,
        ("fabric",),
        ("reading light",),
    ),
    _thing(
        "alarm clock",
        (0.07, 0.16, 0.19),
        (
            roll((0, 0, 0.02), 0.075, 0.06, "body", "x"),
            roll((0.004, 0, 0.032), 0.063, 0.06, "white", "x"),
            box((0.036, 0, 0.095), (0.004, 0.008, 0.045), "black"),
            box((0.036, 0.018, 0.092), (0.004, 0.036, 0.008), "black"),
            ball((0, 0.045, 0.16), 0.022, "steel"),
            ball((0, -0.045, 0.16), 0.022, "steel"),
            rod((0, 0.045, 0), 0.01, 0.03, "steel"),
            rod((0, -0.045, 0), 0.01, 0.03, "steel"),
        ),
        _ANY,
        ("metal",),
        ("tell time",),
    ),
    _thing(
        "vase",
        (0.16, 0.16, 0.30),
        (lathe(((0.05, 0.0), (0.08, 0.09), (0.07, 0.18), (0.035, 0.25), (0.055, 0.30), (0.045, 0.30), (0.025, 0.24))),),
        _ANY,
        ("ceramic", "glass"),
        ("flowers",),
    ),
    _thing(
        "potted plant",
        (0.22, 0.22, 0.34),
        (
            lathe(((0.06, 0.0), (0.085, 0.13), (0.075, 0.13), (0.07, 0.10))),
            rod((0, 0, 0.1), 0.07, 0.01, "soil"),
            egg((0, 0, 0.16), (0.12, 0.12, 0.18), "leaf"),
            egg((0.04, 0.05, 0.12), (0.13, 0.11, 0.13), "leaf"),
            egg((-0.05, 0.03, 0.12), (0.11, 0.13, 0.14), "leaf"),
            egg((0.01, -0.06, 0.12), (0.12, 0.11, 0.12), "leaf"),
        ),
        ("orange", "white", "blue", "pink", "yellow"),
        ("ceramic",),
        ("water plants",),
    ),
    _thing(
        "candle",
        (0.09, 0.09, 0.20),
        (
            rod((0, 0, 0), 0.045, 0.015, "steel"),
            rod((0, 0, 0.015), 0.028, 0.14),
            egg((0, 0, 0.155), (0.018, 0.018, 0.04), "glow"),
        ),
        ("red", "white", "purple", "pink", "green"),
        ("natural",),
        ("candlelight",),
    ),
    _thing(
        "camera",
        (0.13, 0.16, 0.12),
        (
            box((-0.02, 0, 0), (0.07, 0.16, 0.095)),
            roll((0.035, 0, 0.012), 0.036, 0.06, "black", "x"),
            roll((0.06, 0, 0.02), 0.028, 0.015, "glass", "x"),
            box((-0.02, 0, 0.095), (0.05, 0.06, 0.02), "black"),
        ),
        ("black", "grey", "red"),
        ("metal",),
        ("photograph",),
    ),
    _thing(
        "radio",
        (0.10, 0.30, 0.28),
        (
            box((0, 0, 0), (0.10, 0.30, 0.18)),
            roll((0.05, 0.07, 0.03), 0.055, 0.01, "black", "x"),
            box((0.051, -0.075, 0.1), (0.006, 0.1, 0.05), "cream"),
            roll((0.05, -0.075, 0.03), 0.02, 0.02, "steel", "x"),
            rod((-0.03, -0.13, 0.18), 0.005, 0.1, "steel"),
        ),
        ("red", "brown", "blue", "white"),
        ("plastic",),
        ("music",),
    ),
    _thing(
        "trophy",
        (0.18, 0.18, 0.32),
        (
            box((0, 0, 0), (0.12, 0.12, 0.06), "black"),
            lathe(
                ((0.05, 0.06), (0.015, 0.09), (0.015, 0.15), (0.07, 0.20), (0.09, 0.32), (0.08, 0.32), (0.05, 0.21)),
            ),
        ),
        ("yellow", "grey"),
        ("metal",),
        ("award",),
    ),
    # bed, bath, play
    _thing(
        "cushion",
        (0.16, 0.40, 0.36),
        (egg((0, 0, 0), (0.16, 0.40, 0.36)), egg((0, 0, 0.05), (0.17, 0.26, 0.26))),
        _ANY,
        ("fabric",),
        ("rest head",),
    ),
    _thing(
        "towel",
        (0.26, 0.36, 0.14),
        (
            roll((-0.06, 0, 0), 0.06, 0.34),
            roll((0.06, 0, 0), 0.06, 0.34),
            roll((-0.06, 0, -0.002), 0.062, 0.05, "white"),
            roll((0.06, 0, -0.002), 0.062, 0.05, "white"),
        ),
        _ANY,
        ("fabric",),
        ("dry off",),
    ),
    _thing(
        "shampoo",
        (0.07, 0.09, 0.22),
        (
            egg((0, 0, 0), (0.07, 0.09, 0.20)),
            box((0, 0, 0), (0.05, 0.07, 0.10)),
            rod((0, 0, 0.18), 0.02, 0.04, "white"),
        ),
        ("pink", "purple", "green", "orange"),
        ("plastic",),
        ("wash hair",),
    ),
    _thing(
        "toilet roll",
        (0.12, 0.12, 0.11),
        (
            lathe(((0.06, 0.0), (0.06, 0.11), (0.022, 0.11), (0.022, 0.0)), "white"),
            rod((0, 0, 0.001), 0.021, 0.09, "timber"),
        ),
        ("white",),
        ("paper",),
        ("toilet paper",),
    ),
    _thing(
        "teddy bear",
        (0.28, 0.29, 0.34),
        (
            egg((0, 0, 0), (0.17, 0.19, 0.20)),
            ball((0.01, 0, 0.17), 0.075),
            ball((0, 0.06, 0.28), 0.027),
            ball((0, -0.06, 0.28), 0.027),
            egg((0.07, 0, 0.195), (0.05, 0.06, 0.045), "cream"),
            egg((0.02, 0.11, 0.09), (0.08, 0.07, 0.11)),
            egg((0.02, -0.11, 0.09), (0.08, 0.07, 0.11)),
            egg((0.09, 0.07, 0), (0.10, 0.08, 0.08)),
            egg((0.09, -0.07, 0), (0.10, 0.08, 0.08)),
        ),
        ("brown", "pink", "white", "blue"),
        ("fabric",),
        ("hug",),
    ),
    _thing(
        "toy car",
        (0.13, 0.28, 0.14),
        (
            box((0, 0, 0.03), (0.12, 0.28, 0.055)),
            box((0, -0.01, 0.085), (0.10, 0.15, 0.05), "glass"),
            box((0, -0.01, 0.125), (0.11, 0.13, 0.012)),
            *(roll((sx * 0.055, y, 0), 0.033, 0.025, "black", "x") for sx in (-1, 1) for y in (-0.085, 0.085)),
        ),
        _ANY,
        ("wooden", "metal", "plastic"),
        ("play cars",),
        floor=True,
    ),
    _thing(
        "ball",
        (0.24, 0.24, 0.24),
        (ball((0, 0, 0), 0.12), rod((0, 0, 0.112), 0.1203, 0.016, "white")),
        _ANY,
        ("plastic",),
        ("play catch",),
        floor=True,
    ),
    _thing(
        "basket",
        (0.36, 0.36, 0.26),
        (
            lathe(((0.13, 0.0), (0.18, 0.26), (0.165, 0.26), (0.12, 0.02), (0.0, 0.02))),
            rod((0, 0, 0.2), 0.178, 0.02, "timber"),
        ),
        ("brown", "white", "green", "blue"),
        ("natural",),
        ("carry laundry",),
        floor=True,
    ),
    _thing(
        "box",
        (0.32, 0.40, 0.28),
        (
            box((0, 0, 0), (0.32, 0.40, 0.28)),
            box((0, 0, 0.275), (0.06, 0.405, 0.008), "cream"),
            box((0.161, 0, 0.19), (0.004, 0.06, 0.09), "cream"),
        ),
        ("brown", "red", "blue", "green", "yellow", "white"),
        ("paper",),
        ("pack",),
        floor=True,
    ),
    _thing(
        "hat",
        (0.30, 0.30, 0.15),
        (
            lathe(((0.15, 0.0), (0.15, 0.012), (0.09, 0.014), (0.085, 0.11), (0.05, 0.15), (0.0, 0.14))),
            rod((0, 0, 0.02), 0.0915, 0.03, "black"),
        ),
        _ANY,
        ("fabric",),
        ("sun",),
    ),
)

OBJECTS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every kind of object by its name."""
