"""The line of text over a filmed picture: the task, the step, and how it ended.

It stands above, because players lay their controls over the bottom.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..envs import Array

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

HEIGHT = 34
"""Pixels that the caption adds above a picture."""
_MARGIN = 8
_STRIP = 4
_FONT_SIZE = 13
_PAPER, _INK, _FAINT = (18, 18, 20), (236, 236, 236), (70, 70, 76)
_DELIBERATE, _SOLVED, _FAILED = (232, 163, 61), (74, 190, 120), (226, 92, 80)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Caption:
    """What is the same over every picture of an episode.

    Attributes:
        task: in words.
        steps: actions in the episode.
        modes: how each action was decided: ``"reflex"`` or ``"deliberate"``.
    """

    task: str
    steps: int
    modes: Sequence[str]


def caption(
    picture: Array, text: Caption, *, step: int, doubt: float | None = None, solved: bool | None = None
) -> Array:
    """The picture under its caption: ``uint8[H, W, 3]`` of even size.

    A strip below the words is the episode's time: faint ahead, light behind, orange where the agent deliberated.

    Args:
        picture: ``uint8[H, W, 3]``.
        text: what stays.
        step: actions executed so far.
        doubt: the gate's measure at this decision.
        solved: the outcome, on the last picture only.
    """
    from PIL import Image, ImageDraw

    height, width = picture.shape[0] + HEIGHT, picture.shape[1]
    image = Image.new("RGB", (width + width % 2, height + height % 2), _PAPER)
    image.paste(Image.fromarray(picture), (0, HEIGHT))
    draw = ImageDraw.Draw(image)
    font, middle = _font(), (HEIGHT - _STRIP) // 2
    right, colour = _right(text, step, doubt, solved)
    draw.text((width - _MARGIN, middle), right, colour, font, anchor="rm")
    room = width - 3 * _MARGIN - draw.textlength(right, font)
    draw.text((_MARGIN, middle), _fit(text.task, room, font), _INK, font, anchor="lm")
    image.paste(Image.fromarray(_strip(text, step, width)), (0, HEIGHT - _STRIP))
    return np.asarray(image)


def _right(text: Caption, step: int, doubt: float | None, solved: bool | None) -> tuple[str, tuple[int, int, int]]:
    count = f"{step}/{text.steps}"
    if solved is not None:
        return (f"{count}  solved", _SOLVED) if solved else (f"{count}  not solved", _FAILED)
    mark = "" if doubt is None else f"doubt {doubt:.3g}  "
    deliberate = step < len(text.modes) and text.modes[step] == "deliberate"
    return (f"{mark}thinking twice  {count}", _DELIBERATE) if deliberate else (f"{mark}{count}", _INK)


def _fit(words: str, room: float, font: FreeTypeFont | ImageFont) -> str:
    """The beginning of a text that fits, on one line."""
    line = " ".join(words.split())
    if font.getlength(line) <= room:
        return line
    while line and font.getlength(f"{line}…") > room:
        line = line[:-1]
    return f"{line.rstrip()}…" if line else ""


def _strip(text: Caption, step: int, width: int) -> Array:
    strip = np.full((_STRIP, width, 3), _FAINT, np.uint8)
    for index in range(min(step, text.steps)):
        begin, end = (round(place * width / text.steps) for place in (index, index + 1))
        strip[:, begin:end] = _DELIBERATE if text.modes[index] == "deliberate" else _INK
    return strip


@functools.cache
def _font() -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(_FONT_SIZE)
