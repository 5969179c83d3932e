"""Routes with instructions: the standard R2R files, and the contract that the synthetic houses share with them."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from PIL import Image

from ...errors import IdentityError, UsageError
from ..chunks import Array
from .graph import Scan, read_scan

INSTRUCTIONS = 10
"""A route's number is ten times its path's, plus the place of its instruction: R2R has three per path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sight:
    """Something that can be seen from a viewpoint.

    Attributes:
        label: such as ``"fridge"``.
        share: how much of the view it fills, in [0, 1].
    """

    label: str
    share: float = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class Route:
    """One instruction and the way that it describes.

    Attributes:
        scan: where.
        path: the viewpoints of the reference way, start and goal included.
        heading: at the start, radians clockwise from +y (Matterport3DSimulator's convention).
        instruction: what the agent is told.
    """

    scan: Scan
    path: tuple[str, ...]
    heading: float
    instruction: str


@runtime_checkable
class RouteSet(Protocol):
    """A family of routes; small, and it pickles."""

    @property
    def name(self) -> str:
        """The split's name: the task in an episode's identity."""
        ...

    def numbers(self) -> Sequence[int]:
        """Every route's number, in a fixed order."""
        ...

    def load(self, number: int) -> Route:
        """The route of a number.

        Raises:
            IdentityError: there is none.
        """
        ...

    def sights(self, scan: str, viewpoint: str) -> Sequence[Sight]:
        """What stands at a viewpoint; empty where nothing is annotated."""
        ...

    def labels(self) -> Sequence[str]:
        """Every label that `sights` may give, sorted."""
        ...

    def image(self, scan: str, viewpoint: str) -> Array | None:
        """``uint8[H, W, 3]`` of a viewpoint, or None where there is none."""
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the run's record."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileRoutes:
    """The standard files, which are under Matterport3D's terms and must be the user's own.

    Attributes:
        folder: holds ``R2R_<split>.json``.
        connectivity: holds the ``*_connectivity.json`` files.
        split: ``"train"``, ``"val_seen"``, ``"val_unseen"``.
        annotations: ``{scan: {viewpoint: [{"label": …, "share": …}]}}`` as JSON, or None.
        images: ``<images>/<scan>/<viewpoint>.jpg`` or ``.png``, or None.
    """

    folder: Path
    connectivity: Path
    split: str
    annotations: Path | None = None
    images: Path | None = None

    @property
    def name(self) -> str:
        """The split."""
        return self.split

    def numbers(self) -> Sequence[int]:
        """In the file's order, instruction by instruction."""
        return tuple(_routes(self))

    def load(self, number: int) -> Route:
        """See `RouteSet.load`."""
        routes = _routes(self)
        if number not in routes:
            raise IdentityError(f"{self.split} has no route {number}: ten times a path_id plus an instruction's place.")
        entry, text = routes[number]
        scan = _scan(entry["scan"], self.connectivity)
        path = tuple(entry["path"])
        lost = [viewpoint for viewpoint in path if viewpoint not in scan.points]
        if lost:
            raise UsageError(f"path {entry['path_id']} visits {lost[0]!r}, which {scan.name} does not have.")
        return Route(scan=scan, path=path, heading=float(entry["heading"]), instruction=text)

    def sights(self, scan: str, viewpoint: str) -> Sequence[Sight]:
        """See `RouteSet.sights`."""
        return _annotations(self.annotations).get(scan, {}).get(viewpoint, ()) if self.annotations else ()

    def labels(self) -> Sequence[str]:
        """See `RouteSet.labels`."""
        scans = _annotations(self.annotations).values() if self.annotations else ()
        return sorted({sight.label for scan in scans for sights in scan.values() for sight in sights})

    def image(self, scan: str, viewpoint: str) -> Array | None:
        """See `RouteSet.image`.

        Raises:
            UsageError: there is a folder of images and it lacks this one.
        """
        if self.images is None:
            return None
        for ending in ("jpg", "png"):
            file = self.images / scan / f"{viewpoint}.{ending}"
            if file.is_file():
                with Image.open(file) as image:
                    return np.asarray(image.convert("RGB"))
        raise UsageError(f"there is no image {self.images / scan / viewpoint}.jpg or .png.")

    def describe(self) -> dict[str, Any]:
        """The split and what else was given."""
        return {
            "routes": "R2R",
            "split": self.split,
            "count": len(self.numbers()),
            "annotations": self.annotations is not None,
            "images": self.images is not None,
        }


@functools.lru_cache(maxsize=4)
def _routes(routes: FileRoutes) -> Mapping[int, tuple[dict[str, Any], str]]:
    file = routes.folder / f"R2R_{routes.split}.json"
    if not file.is_file():
        found = ", ".join(sorted(path.name for path in routes.folder.glob("R2R_*.json"))) or "none"
        raise UsageError(f"there is no {file}; the R2R_*.json files there are: {found}.")
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        return {
            INSTRUCTIONS * int(entry["path_id"]) + place: (entry, text)
            for entry in entries
            if len(entry["path"]) > 1
            for place, text in enumerate(entry["instructions"])
        }
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is not an R2R file with paths (the test split has none): {error!r}.") from error


@functools.lru_cache(maxsize=128)
def _scan(name: str, folder: Path) -> Scan:
    return read_scan(name, folder)


@functools.lru_cache(maxsize=2)
def _annotations(file: Path) -> Mapping[str, Mapping[str, Sequence[Sight]]]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {
            scan: {viewpoint: [Sight(**sight) for sight in sights] for viewpoint, sights in viewpoints.items()}
            for scan, viewpoints in data.items()
        }
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} does not hold annotations {{scan: {{viewpoint: [{{label, share}}]}}}}: {error}."
        ) from error
