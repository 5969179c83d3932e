"""Arrays on the wire: what openpi-client writes we read and the other way round, and nothing else is believed."""

from __future__ import annotations

import pickle
from typing import Any

import msgpack
import numpy as np
import pytest
from openpi_client import msgpack_numpy

from thinktwice.agents.serving.arrays import pack, unpack
from thinktwice.errors import ContractError

MESSAGES: list[Any] = [
    {"actions": np.arange(14, dtype=np.float32).reshape(2, 7), "server_timing": {"infer_ms": 1.5}},
    {"image": np.arange(24, dtype=np.uint8).reshape(2, 4, 3), "prompt": "pick up the soup", "none": None},
    {"state": np.arange(3, dtype=np.float64), "big_endian": np.arange(3, dtype=">i4"), "yes": np.array([True, False])},
    {"empty": np.zeros((0, 7), np.float32), "scalar": np.float32(0.25), "zero_dims": np.array(3.0), "n": [1, 2]},
    {"fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "part": np.arange(10)[::3], "words": np.array(["a"])},
]


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
        return
    if isinstance(theirs, np.ndarray | np.generic):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("message", MESSAGES)
def test_what_we_write_openpi_reads(message: Any) -> None:
    assert_same(msgpack_numpy.unpackb(pack(message)), message)
    assert pack(message) == msgpack_numpy.packb(message)


@pytest.mark.parametrize("message", MESSAGES)
def test_what_openpi_writes_we_read(message: Any) -> None:
    assert_same(unpack(msgpack_numpy.packb(message)), message)


def test_received_arrays_are_our_own() -> None:
    received = unpack(pack({"a": np.zeros(3)}))["a"]
    received[0] = 1.0
    assert received.flags.owndata


@pytest.mark.parametrize("value", [np.array([object()]), np.array([1j]), np.zeros(1, "i4,f4"), {1, 2}, object(), 2**70])
def test_what_has_no_place_on_the_wire_is_refused(value: Any) -> None:
    with pytest.raises(ContractError, match="cannot be sent"):
        pack({"value": value})


def array_message(**changes: Any) -> bytes:
    entry = {b"__ndarray__": True, b"data": b"\0" * 8, b"dtype": "<f4", b"shape": [2]}
    return msgpack.packb({"a": entry | {key.encode(): value for key, value in changes.items()}})


@pytest.mark.parametrize(
    "data",
    [
        array_message(dtype="|O"),
        array_message(dtype="O", data=pickle.dumps(["anything"])),
        array_message(dtype="<c8"),
        array_message(dtype="i4,f4"),
        array_message(dtype=[["x", "<f4"]]),
        array_message(dtype="<f3"),
        array_message(shape=[3]),
        array_message(shape=[-1]),
        array_message(shape=[2**40, 2**40]),
        array_message(shape=["2"]),
        array_message(shape=None),
        array_message(data="text"),
        msgpack.packb({b"__npgeneric__": True, b"data": [1], b"dtype": "|O"}),
        msgpack.packb({b"__npgeneric__": True, b"data": "x", b"dtype": "<f4"}),
        b"",
        b"\xc1",
        msgpack.packb({"a": 1})[:-1],
        msgpack.packb(1) + b"more",
        msgpack.packb({1: "keys that are neither text nor bytes"}),
        b"\x91" * 100_000,
        pickle.dumps({"a": 1}),
    ],
)
def test_what_is_damaged_or_evil_is_refused(data: bytes) -> None:
    with pytest.raises(ContractError):
        unpack(data)
