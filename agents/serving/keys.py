"""How an observation is named in a message: by this library's own keys, or by those of openpi's LIBERO example.

openpi's LIBERO client (``examples/libero/main.py`` in Physical-Intelligence/openpi) turns robosuite's raw images by 180
degrees, which leaves them upright and mirrored, and letterboxes them to 224 pixels.  State and actions are LIBERO's own
on both sides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from PIL import Image, ImageOps

from ...envs import Array, Camera, Conventions, Dim, Observation, check_observation
from ...envs.libero.conventions import ACTION, CONTROL_HZ, STATE
from ...envs.observations import CHOICES, IMAGES, TASK
from ...envs.observations import STATE as STATE_KEY
from ...errors import ContractError, require

OPENPI_PIXELS = 224
"""Height and width of the images that openpi's LIBERO client sends (its ``resize_size``)."""

_OPENPI_CAMERAS = {"agentview": "observation/image", "wrist": "observation/wrist_image"}
_OPENPI_STATE, _OPENPI_TASK = "observation/state", "prompt"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Keys:
    """One way to name an observation.

    Attributes:
        name: what the command line and the server's metadata call it.
        send: from an observation to the part of a message that holds it.
        receive: the inverse, given the conventions that the observation must have; raises `ContractError`.
        needs: what a world must be to be named this way; None where any will do.
        expects: what a client has to send, a line for each entry, given the world's conventions.
    """

    name: str
    send: Callable[[Observation], dict[str, Any]]
    receive: Callable[[Mapping[str, Any], Conventions], Observation]
    needs: Conventions | None
    expects: Callable[[Conventions], list[str]]


def _send_own(observation: Observation) -> dict[str, Any]:
    return dict(observation)


def _receive_own(message: Mapping[str, Any], conventions: Conventions) -> Observation:
    observation = dict(message)
    if isinstance(observation.get(CHOICES), list):
        # A message has lists alone.
        observation[CHOICES] = tuple(observation[CHOICES])
    if STATE_KEY in observation:
        observation[STATE_KEY] = _state(observation[STATE_KEY], STATE_KEY)
    check_observation(observation)
    for camera in conventions.cameras:
        shape = (camera.height, camera.width, 3)
        image = _entry(observation, f"{IMAGES}{camera.name}")
        require(image.shape == shape, f"{IMAGES}{camera.name} must be uint8{list(shape)}, got {list(image.shape)}")
    _check_state(observation, conventions)
    return observation


def _expects_own(conventions: Conventions) -> list[str]:
    cameras = [
        f"{IMAGES}{camera.name}  uint8[{camera.height}, {camera.width}, 3], RGB, {_orientation(camera)}"
        + (f", rendering {camera.rendering}" if camera.rendering else "")
        for camera in conventions.cameras
    ]
    return [*cameras, *_state_line(STATE_KEY, conventions), f"{TASK}  str"]


def _send_openpi(observation: Observation) -> dict[str, Any]:
    images = {
        key: resize_with_pad(_entry(observation, f"{IMAGES}{name}")[:, ::-1], OPENPI_PIXELS, OPENPI_PIXELS)
        for name, key in _OPENPI_CAMERAS.items()
    }
    state, task = _entry(observation, STATE_KEY), _entry(observation, TASK)
    return {**images, _OPENPI_STATE: state, _OPENPI_TASK: task}


def _receive_openpi(message: Mapping[str, Any], conventions: Conventions) -> Observation:
    observation: dict[str, Any] = {
        STATE_KEY: _state(_entry(message, _OPENPI_STATE), _OPENPI_STATE),
        TASK: _entry(message, _OPENPI_TASK),
    }
    for camera in _openpi_cameras(conventions):
        key = _OPENPI_CAMERAS[camera.name]
        image = _entry(message, key)
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[-1] != 3:
            raise ContractError(f"{key} must be uint8[H, W, 3], got {_kind(image)}.")
        observation[f"{IMAGES}{camera.name}"] = resize_with_pad(image[:, ::-1], camera.height, camera.width)
    check_observation(observation)
    _check_state(observation, conventions)
    return observation


def _openpi_cameras(conventions: Conventions) -> list[Camera]:
    return [camera for camera in conventions.cameras if camera.name in _OPENPI_CAMERAS]


def _expects_openpi(conventions: Conventions) -> list[str]:
    cameras = [
        f"{_OPENPI_CAMERAS[camera.name]}  uint8[H, W, 3], RGB, upright and mirrored (robosuite's raw image turned by "
        f"180 degrees); mirrored back and letterboxed to [{camera.height}, {camera.width}] here"
        for camera in _openpi_cameras(conventions)
    ]
    return [*cameras, *_state_line(_OPENPI_STATE, conventions), f"{_OPENPI_TASK}  str"]


OWN = Keys(name="thinktwice", send=_send_own, receive=_receive_own, needs=None, expects=_expects_own)
OPENPI_LIBERO = Keys(
    name="openpi-libero",
    send=_send_openpi,
    receive=_receive_openpi,
    needs=Conventions(
        action=ACTION,
        state=STATE,
        cameras=tuple(Camera(name=name, height=0, width=0) for name in _OPENPI_CAMERAS),
        control_hz=CONTROL_HZ,
    ),
    expects=_expects_openpi,
)
KEYS: Mapping[str, Keys] = {keys.name: keys for keys in (OWN, OPENPI_LIBERO)}
"""By name."""


def resize_with_pad(image: Array, height: int, width: int) -> Array:
    """The whole image in another size, letterboxed with black: bilinear, as openpi-client's ``image_tools`` does it.

    Args:
        image: ``uint8[H, W, 3]``.
        height: pixels of the result.
        width: pixels of the result.

    Returns:
        ``uint8[height, width, 3]``.
    """
    if image.shape[:2] == (height, width):
        return np.ascontiguousarray(image)
    resized = ImageOps.pad(Image.fromarray(np.ascontiguousarray(image)), (width, height), Image.Resampling.BILINEAR)
    return np.asarray(resized).copy()


def _entry(message: Mapping[str, Any], key: str) -> Any:
    require(key in message, f"the observation has no {key!r}; it holds {sorted(map(str, message))}")
    return message[key]


def _state(value: Any, key: str) -> Array:
    """As ``float32``: openpi's clients send whatever their robot gives, mostly ``float64``."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        raise ContractError(f"{key} must be an array of floating point numbers, got {_kind(value)}.")
    return cast("Array", value.astype(np.float32))


def _check_state(observation: Observation, conventions: Conventions) -> None:
    size = sum(dim.size for dim in conventions.state)
    if size:
        state = _entry(observation, STATE_KEY)
        require(state.shape == (size,), f"the state must be float32[{size}], got {list(state.shape)}")


def _state_line(key: str, conventions: Conventions) -> list[str]:
    size = sum(dim.size for dim in conventions.state)
    return [f"{key}  float32[{size}]: {dims_line(conventions.state)}"] if size else []


def dims_line(dims: tuple[Dim, ...]) -> str:
    """The groups of a state or action vector in one line, for people.

    >>> dims_line((Dim(name="position", size=3, unit="m", frame="world", representation="absolute"),))
    'position 3 (m, absolute, world frame)'
    """
    return ", ".join(f"{dim.name} {dim.size} ({', '.join(_meaning(dim))})" for dim in dims)


def _meaning(dim: Dim) -> list[str]:
    return [
        *([dim.unit] if dim.unit != "1" else []),
        dim.representation,
        *([f"{dim.frame} frame"] if dim.frame != "none" else []),
        *([f"positive {dim.positive}"] if dim.positive else []),
    ]


def _orientation(camera: Camera) -> str:
    return f"{'upright' if camera.upright else 'upside down'}{', mirrored' if camera.mirrored else ''}"


def _kind(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
