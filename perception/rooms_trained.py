"""The default perception of the rooms: a small trained segmenter with a closed vocabulary.

It knows the 60 kinds of the rooms and nothing else; a query outside them finds nothing.  Kinds and colours come from
the network, instances from connected pixels without a jump in depth, and sizes from the depth image.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from skimage import measure

from ..envs import Array, Observation
from ..envs.rooms.kinds import COLOURS, SIZES
from ..envs.rooms.objects import OBJECTS
from ..errors import WeightsError, require
from .contract import Detection
from .rooms_network import SIZE, RoomsNetwork, network_input
from .rooms_oracle import box_of
from .rooms_vocabulary import KINDS, Phrase

_MIN_PIXELS = 14
"""Pixels at the network's own resolution; smaller patches are noise."""
_JUMP = 0.12
"""Relative change of depth between neighbours that separates two instances."""
_SIZEABLE = 120
"""Pixels below which a height in metres is a guess."""
_COLOURS = tuple(COLOURS)
_CONFIDENT = 0.4
"""Pixels less certain than this belong to nothing."""


class RoomsSegmenter:
    """Segments kinds by name.

    Args:
        network: trained.
        name: what records call it.
    """

    def __init__(self, network: RoomsNetwork, *, name: str = "trained") -> None:
        self.name = name
        self._network = network.eval()

    @classmethod
    def load(cls, path: Path) -> RoomsSegmenter:
        """Read weights that `rooms_training` wrote.

        Raises:
            WeightsError: the file is missing, damaged, or of another network.
        """
        network = RoomsNetwork()
        try:
            network.load_state_dict(load_file(path))
        except FileNotFoundError as error:
            raise WeightsError(
                f"there are no weights at {path}. Train them: python -m thinktwice.perception.rooms_training --help"
            ) from error
        except Exception as error:
            raise WeightsError(f"the weights at {path} are damaged or of another network: {error}") from error
        if not all(bool(torch.isfinite(value).all()) for value in network.state_dict().values()):
            raise WeightsError(f"the weights at {path} hold values that are not finite.")
        return cls(network)

    @classmethod
    def bundled(cls) -> RoomsSegmenter:
        """The weights that come with the library."""
        with resources.as_file(resources.files(__package__) / "trained" / "rooms.safetensors") as path:
            return cls.load(path)

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        """Everything of the queried kinds, most confident first.

        Without ``depth.<camera>`` it works from colour alone, which it was also trained for, and says no sizes.

        Raises:
            ContractError: the observation has no such camera.
        """
        key = f"images.{camera}"
        require(key in observation, f"the observation has no {key!r}; it has {sorted(observation)}")
        wanted = {1 + KINDS.index(query): query for query in queries if query in KINDS}
        if not wanted:
            return []
        image = observation[key]
        given = observation.get(f"depth.{camera}")
        depth = None if given is None else _resize(given, SIZE, SIZE)
        pitch = float(observation["state"][3]) if "state" in observation else 0.0
        with torch.inference_mode():
            kind, colour = self._network(
                torch.from_numpy(network_input(_resize(image, SIZE, SIZE), depth, pitch))[None]
            )
            kind = torch.nn.functional.interpolate(kind, scale_factor=2.0, mode="bilinear")[0]
            confidence, winner = kind.softmax(0).max(0)
            colours = colour.softmax(1)[0].numpy()
        sure = confidence.numpy()
        labels = np.where(sure >= _CONFIDENT, winner.numpy(), 0)
        found: list[Detection] = []
        for patch in _instances(labels, depth):
            name = wanted.get(int(labels[patch][0]))
            mask = _resize(patch, *image.shape[:2])
            if name is None or not mask.any():
                continue
            votes = colours[:, patch[::2, ::2]].sum(axis=1)
            phrase = Phrase(kind=name, size=_size(name, patch, depth, pitch), colour=_COLOURS[int(votes.argmax())])
            score = float(sure[patch].mean())
            found.append(Detection(label=str(phrase), score=score, box=box_of(mask), mask=mask))
        return sorted(found, key=lambda detection: -detection.score)


def _resize(array: Array, height: int, width: int) -> Array:
    """Nearest neighbours, so that depth and masks are never mixed across an edge."""
    if array.shape[:2] == (height, width):
        return array
    rows = ((np.arange(height) + 0.5) * array.shape[0] / height).astype(np.int64)
    columns = ((np.arange(width) + 0.5) * array.shape[1] / width).astype(np.int64)
    return np.ascontiguousarray(array[rows][:, columns])


def _instances(labels: NDArray[np.int64], depth: Array | None) -> list[NDArray[np.bool_]]:
    """Connected pixels of one kind without a jump in depth between neighbours: ``bool[S, S]`` each."""
    cut = np.zeros(labels.shape, np.bool_)
    if depth is not None:
        near = np.minimum(depth[:-1], depth[1:])
        cut[:-1] |= np.abs(np.diff(depth, axis=0)) > _JUMP * near
        near = np.minimum(depth[:, :-1], depth[:, 1:])
        cut[:, :-1] |= np.abs(np.diff(depth, axis=1)) > _JUMP * near
    # Depth jumps inside furniture (legs, shelves) are its shape; they separate objects only.
    apart = np.where(cut & (labels > len(KINDS) - len(OBJECTS)), 0, labels)
    marks = np.asarray(measure.label(apart, background=0, connectivity=1, return_num=False), np.int64)
    regions = [region for region in measure.regionprops(marks) if region.area >= _MIN_PIXELS]
    return [marks == region.label for region in regions]


def _size(kind: str, mask: NDArray[np.bool_], depth: Array | None, pitch: float) -> str:
    """Small, medium or large by the height in metres; empty where the mask is cut off by the image's edge or tiny."""
    if depth is None or kind not in OBJECTS or mask.sum() < _SIZEABLE or mask[[0, -1]].any() or mask[:, [0, -1]].any():
        return ""
    height = network_input(np.zeros((*depth.shape, 3), np.uint8), depth, pitch)[4][mask]
    tall = float(np.percentile(height, 97) - np.percentile(height, 3)) / OBJECTS[kind].extent[2]
    return min(SIZES, key=lambda name: abs(SIZES[name] - tall))
