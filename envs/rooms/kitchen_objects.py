"""Kinds of objects: food and kitchenware."""

from __future__ import annotations

from .kinds import Part, ball, box, egg, lathe, rod, roll
from .things import ANY_COLOUR, thing


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

KITCHEN_OBJECTS = (
    # food
    thing(
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
    thing(
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
    thing(
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
    thing(
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
    thing(
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
    thing(
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
    thing(
        "mug",
        (0.10, 0.14, 0.10),
        (lathe(_CUP), box((0, 0.062, 0.075), (0.014, 0.04, 0.014)), box((0, 0.078, 0.03), (0.014, 0.014, 0.05))),
        ANY_COLOUR,
        ("ceramic",),
        ("hot drink",),
    ),
    thing(
        "bowl",
        (0.20, 0.20, 0.09),
        (lathe(((0.04, 0.0), (0.08, 0.035), (0.10, 0.09), (0.093, 0.09), (0.07, 0.035), (0.0, 0.02))),),
        ANY_COLOUR,
        ("ceramic", "wooden"),
        ("soup",),
    ),
    thing(
        "plate",
        (0.26, 0.26, 0.03),
        (lathe(((0.07, 0.0), (0.13, 0.025), (0.127, 0.03), (0.08, 0.012), (0.0, 0.012))),),
        ANY_COLOUR,
        ("ceramic",),
        ("serve",),
    ),
    thing(
        "water bottle",
        (0.08, 0.08, 0.27),
        (_bottle(0.04, 0.16, 0.23), rod((0, 0, 0.225), 0.02, 0.035, "white"), rod((0, 0, 0.07), 0.0405, 0.06, "white")),
        ("blue", "green", "red", "pink"),
        ("plastic",),
        ("carry water",),
    ),
    thing(
        "wine bottle",
        (0.09, 0.09, 0.33),
        (_bottle(0.042, 0.18, 0.31), rod((0, 0, 0.30), 0.018, 0.03, "clay"), rod((0, 0, 0.06), 0.043, 0.09, "cream")),
        ("green", "black", "brown"),
        ("glass",),
        ("celebrate",),
    ),
    thing(
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
    thing(
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
    thing(
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
    thing(
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
)
