"""Textures, drawn by numpy from fixed seeds: brightness patterns that the geoms' own colours multiply."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

type Texture = NDArray[np.uint8]
_SIZE = 128


def _rgb(pattern: NDArray[np.float64]) -> Texture:
    """Brightness in [0, 1] as ``uint8[H, W, 3]``."""
    return np.repeat((np.clip(pattern, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2)


def _noise(seed: int, blur: tuple[float, float]) -> NDArray[np.float64]:
    field = ndimage.gaussian_filter(np.random.default_rng(seed).random((_SIZE, _SIZE)), blur, mode="wrap")
    return np.asarray((field - field.min()) / (field.max() - field.min()), np.float64)


def _wood() -> Texture:
    grain = _noise(1, (1.0, 14.0))
    rings = 0.5 + 0.5 * np.sin(26 * _noise(2, (6.0, 30.0)))
    return _rgb(0.72 + 0.18 * grain + 0.10 * rings)


def _weave() -> Texture:
    y, x = np.mgrid[:_SIZE, :_SIZE]
    checks = ((x // 16 + y // 16) % 2) * 0.14
    threads = 0.08 * ((x % 4 < 2) ^ (y % 4 < 2))
    return _rgb(0.78 + checks + threads)


def _tiles() -> Texture:
    y, x = np.mgrid[:_SIZE, :_SIZE]
    joint = (x % 64 < 3) | (y % 64 < 3)
    shade = np.where((x // 64 + y // 64) % 2 == 0, 0.98, 0.88)
    return _rgb(np.where(joint, 0.55, shade + 0.04 * _noise(3, (5.0, 5.0)) - 0.02))


def _planks() -> Texture:
    y, x = np.mgrid[:_SIZE, :_SIZE]
    row = y // 32
    shade = np.random.default_rng(4).uniform(0.78, 1.0, (4, 2))[row, ((x + 37 * row) // 64) % 2]
    joint = (y % 32 < 2) | ((x + 37 * row) % 64 < 2)
    return _rgb(np.where(joint, 0.5, shade - 0.12 * _noise(5, (1.0, 10.0))))


def _carpet() -> Texture:
    return _rgb(0.78 + 0.2 * _noise(6, (0.8, 0.8)))


def _plaster() -> Texture:
    return _rgb(0.93 + 0.07 * _noise(7, (3.0, 3.0)))


_DRAW: Mapping[str, Callable[[], Texture]] = {
    "wood": _wood,
    "weave": _weave,
    "tiles": _tiles,
    "planks": _planks,
    "carpet": _carpet,
    "plaster": _plaster,
}
_CACHE: dict[str, Texture] = {}

TEXTURES = tuple(_DRAW)
"""Every texture's name."""


def texture(name: str) -> Texture:
    """One texture: ``uint8[128, 128, 3]``, drawn once per process."""
    if name not in _CACHE:
        _CACHE[name] = _DRAW[name]()
    return _CACHE[name]
