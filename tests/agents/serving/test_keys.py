"""Observations by their names on the wire, and images in another size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openpi_client import image_tools

from thinktwice.agents.serving.keys import KEYS, OPENPI_LIBERO, OWN, resize_with_pad
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.errors import ContractError

LIBERO = libero_conventions(("agentview", "wrist"), height=96, width=96, rendering="fast")


def picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A smooth one, so that resizing it is no lottery."""
    rows, columns = np.mgrid[0:height, 0:width] / max(height, width)
    channels = [np.sin((seed + 3) * rows), np.cos((seed + 2) * columns), rows * columns]
    return np.stack([127 * (1 + channel) for channel in channels], axis=-1).astype(np.uint8)


def observation(pixels: int = 96) -> dict[str, Any]:
    return {
        "images.agentview": picture(pixels, pixels),
        "images.wrist": picture(pixels, pixels, seed=5),
        "state": np.linspace(-1, 1, 8).astype(np.float32),
        "task": "pick up the soup",
    }


def assert_equal(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_array_equal(ours[key], value)


def test_our_own_keys_change_nothing() -> None:
    assert_equal(OWN.receive(OWN.send(observation()), LIBERO), observation())


@pytest.mark.parametrize(("height", "width"), [(256, 256), (128, 128), (96, 96), (224, 224), (448, 224), (240, 320)])
def test_images_are_resized_as_openpi_does_it(height: int, width: int) -> None:
    image = picture(height, width)
    ours = resize_with_pad(image, 224, 224)
    theirs = image_tools.resize_with_pad(image, 224, 224)
    assert ours.dtype == np.uint8
    np.testing.assert_array_equal(ours, theirs)


def test_openpi_keys_hold_what_openpis_own_client_sends() -> None:
    message = OPENPI_LIBERO.send(observation(256))
    raw = observation(256)["images.agentview"][::-1]  # robosuite's raw image is upside down
    turned = np.ascontiguousarray(raw[::-1, ::-1])
    wanted = image_tools.convert_to_uint8(image_tools.resize_with_pad(turned, 224, 224))
    np.testing.assert_array_equal(message["observation/image"], wanted)
    assert set(message) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert message["prompt"] == "pick up the soup"


def test_openpi_keys_come_back_upright_and_not_mirrored() -> None:
    sizes = libero_conventions(("agentview", "wrist"), height=224, width=224, rendering="fast")
    assert_equal(OPENPI_LIBERO.receive(OPENPI_LIBERO.send(observation(224)), sizes), observation(224))
    small = OPENPI_LIBERO.receive(OPENPI_LIBERO.send(observation(224)), LIBERO)
    assert small["images.wrist"].shape == (96, 96, 3)


def test_states_of_other_precision_are_accepted() -> None:
    for keys, name in ((OWN, "state"), (OPENPI_LIBERO, "observation/state")):
        message = keys.send(observation())
        message[name] = message[name].astype(np.float64)
        assert keys.receive(message, LIBERO)["state"].dtype == np.float32


@pytest.mark.parametrize(
    ("keys", "change", "words"),
    [
        ("thinktwice", {"images.wrist": None}, "images.wrist"),
        ("thinktwice", {"images.wrist": picture(96, 64)}, r"must be uint8\[96, 96, 3\], got \[96, 64, 3\]"),
        ("thinktwice", {"images.wrist": picture(96, 96).astype(np.float32)}, "uint8"),
        ("thinktwice", {"state": np.zeros(7, np.float32)}, r"float32\[8\]"),
        ("thinktwice", {"state": np.full(8, np.nan, np.float32)}, "not finite"),
        ("thinktwice", {"state": [0.0] * 8}, "got list"),
        ("thinktwice", {"observation/image": picture(96, 96)}, "outside the scheme"),
        ("thinktwice", {"task": 3}, "must be a str"),
        ("openpi-libero", {"prompt": None}, "no 'prompt'"),
        ("openpi-libero", {"prompt": b"bytes"}, "must be a str"),
        ("openpi-libero", {"observation/image": None}, "no 'observation/image'"),
        ("openpi-libero", {"observation/image": picture(9, 9).transpose(2, 0, 1)}, r"got uint8\[3, 9, 9\]"),
        ("openpi-libero", {"observation/state": np.zeros(7)}, r"float32\[8\]"),
    ],
)
def test_what_does_not_fit_is_refused(keys: str, change: dict[str, Any], words: str) -> None:
    message = KEYS[keys].send(observation()) | change
    with pytest.raises(ContractError, match=words):
        KEYS[keys].receive({key: value for key, value in message.items() if value is not None}, LIBERO)
