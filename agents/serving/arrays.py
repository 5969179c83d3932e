"""Messages with numpy arrays as msgpack, in the form that ``openpi_client.msgpack_numpy`` gives them.

An array is the map ``{b"__ndarray__": true, b"data": bytes, b"dtype": "<f4", b"shape": [2, 7]}``, a numpy scalar
``{b"__npgeneric__": true, b"data": 0.5, b"dtype": "<f4"}`` (openpi-client 0.1.2).  Nothing is ever unpickled: an array
of objects can neither be sent nor received.
"""

from __future__ import annotations

import importlib
import math
import operator
import re
from typing import Any, cast

import numpy as np

from ...envs import Array
from ...errors import ContractError, MissingDependency, install_line

_ARRAY, _SCALAR = b"__ndarray__", b"__npgeneric__"
_DATA, _DTYPE, _SHAPE = b"data", b"dtype", b"shape"
_DTYPES = re.compile(r"[<>|=]?([biuf][1248]|U[0-9]{1,5})")
"""Truth values, integers, floating point numbers and text; no objects, no records, no complex numbers."""


def pack(message: Any) -> bytes:
    """One message.

    Args:
        message: maps, lists, tuples (they arrive as lists), text, bytes, numbers, None, numpy arrays and scalars.

    Raises:
        ContractError: it holds something else, or an array of a kind that is not sent.
        MissingDependency: msgpack is not installed.
    """
    try:
        return cast("bytes", _msgpack().packb(message, default=_encoded))
    except (TypeError, ValueError, OverflowError) as error:
        raise ContractError(f"a message cannot be sent: {error}.") from error


def unpack(data: bytes) -> Any:
    """The message; arrays are copies that may be written to.

    Raises:
        ContractError: the bytes are no message, or an array's bytes do not fit its dtype and shape.
        MissingDependency: msgpack is not installed.
    """
    module = _msgpack()
    try:
        return module.unpackb(data, object_hook=_decoded)
    except (ValueError, TypeError, module.exceptions.UnpackException) as error:
        raise ContractError(f"{len(data)} bytes that arrived are no msgpack message: {error}.") from error


def _encoded(value: Any) -> dict[bytes, Any]:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{type(value).__name__} has no place in it")
    _check_dtype(value.dtype.str)
    if isinstance(value, np.ndarray):
        return {_ARRAY: True, _DATA: value.tobytes(), _DTYPE: value.dtype.str, _SHAPE: value.shape}
    return {_SCALAR: True, _DATA: value.item(), _DTYPE: value.dtype.str}


def _decoded(value: dict[Any, Any]) -> Any:
    if _ARRAY in value:
        return _array(value.get(_DATA), value.get(_DTYPE), value.get(_SHAPE))
    if _SCALAR in value:
        return _check_dtype(value.get(_DTYPE)).type(value.get(_DATA))
    return value


def _array(data: Any, dtype_name: Any, shape: Any) -> Array:
    dtype = _check_dtype(dtype_name)
    if not isinstance(data, bytes) or not isinstance(shape, list):
        raise TypeError(f"an array must have bytes and a shape, got {type(data).__name__} and {shape!r}")
    sizes = [operator.index(size) for size in cast("list[Any]", shape)]
    if any(size < 0 for size in sizes):
        raise ValueError(f"an array cannot have the shape {sizes}")
    wanted = math.prod(sizes) * dtype.itemsize
    if len(data) != wanted:
        raise ValueError(f"an array {dtype.str}{sizes} has {wanted} bytes, not {len(data)}")
    return np.frombuffer(data, dtype).reshape(sizes).copy()


def _check_dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or not _DTYPES.fullmatch(name):
        raise ValueError(f"arrays of dtype {name!r} are not exchanged, only numbers, truth values and text")
    return np.dtype(name)


def _msgpack() -> Any:
    try:
        return importlib.import_module("msgpack")
    except ImportError as error:
        raise MissingDependency("msgpack", purpose="a policy server", install=install_line("serve")) from error
