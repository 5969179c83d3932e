"""Masks as COCO run-length encodings, by pycocotools."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco

from ...errors import ContractError

type Mask = NDArray[np.bool_]


def encode(mask: Mask) -> dict[str, Any]:
    """A mask as compressed COCO RLE that JSON can hold: ``{"size": [H, W], "counts": str}``.

    Raises:
        ContractError: the mask has other than two dimensions.
    """
    if mask.ndim != 2:
        raise ContractError(f"a mask must be bool[H, W], got {mask.dtype}{list(mask.shape)}.")
    rle = cast("dict[str, Any]", coco.encode(np.asfortranarray(mask, np.uint8)))
    return {"size": [int(n) for n in rle["size"]], "counts": rle["counts"].decode("ascii")}


def decode(rle: Mapping[str, Any]) -> Mask:
    """The inverse of `encode`: ``bool[H, W]``.

    Raises:
        ContractError: this is no compressed COCO RLE.
    """
    try:
        size, counts = [int(n) for n in rle["size"]], str(rle["counts"]).encode("ascii")
        with warnings.catch_warnings():
            # pycocotools 2.0.11 hands numpy 2 an array without the copy keyword.
            warnings.simplefilter("ignore", DeprecationWarning)
            return np.asarray(coco.decode(cast("Any", {"size": size, "counts": counts})), np.bool_)
    except (KeyError, TypeError, ValueError) as error:
        raise ContractError(f"not a compressed COCO RLE: {dict(rle)!r:.120}.") from error
