"""Graphs of viewpoints, and the standard connectivity files."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from ...errors import UsageError
from ..chunks import Array


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scan:
    """One building.

    Attributes:
        name: the scan's name.
        points: ``float64[3]`` of each viewpoint: x, y and z upward, metres.
        edges: pairs of viewpoints between which one can walk.
    """

    name: str
    points: Mapping[str, Array]
    edges: tuple[tuple[str, str], ...]

    def neighbours(self, viewpoint: str) -> list[str]:
        """The viewpoints that can be walked to, sorted."""
        return sorted(self._graph.neighbors(viewpoint))

    def distance(self, start: str, end: str) -> float:
        """The geodesic distance in metres.

        Raises:
            UsageError: there is no way.
        """
        distances = self._distances_to(end)
        if start not in distances:
            raise _no_way(start, end)
        return float(distances[start])

    def shortest_path(self, start: str, end: str) -> list[str]:
        """The viewpoints of a shortest way, both ends included.

        Raises:
            UsageError: there is no way.
        """
        try:
            return list(nx.dijkstra_path(self._graph, start, end))
        except nx.NetworkXNoPath as error:
            raise _no_way(start, end) from error

    def length(self, path: Sequence[str]) -> float:
        """The length of a way along edges, metres."""
        return float(sum(np.linalg.norm(self.points[b] - self.points[a]) for a, b in itertools.pairwise(path)))

    @functools.cached_property
    def _graph(self) -> Any:
        graph: Any = nx.Graph()
        graph.add_nodes_from(sorted(self.points))
        for one, other in sorted(self.edges):
            graph.add_edge(one, other, weight=float(np.linalg.norm(self.points[one] - self.points[other])))
        return graph

    @functools.cached_property
    def _known(self) -> dict[str, Mapping[str, float]]:
        return {}

    def _distances_to(self, end: str) -> Mapping[str, float]:
        if end not in self._known:
            self._known[end] = nx.single_source_dijkstra_path_length(self._graph, end)
        return self._known[end]


def _no_way(start: str, end: str) -> UsageError:
    return UsageError(f"no way leads from viewpoint {start!r} to {end!r}.")


def read_scan(name: str, folder: Path) -> Scan:
    """A scan from its standard ``<name>_connectivity.json``.

    Viewpoints with ``included: false`` are left out, as in Matterport3DSimulator.

    Raises:
        UsageError: the file is missing or of another form.
    """
    file = folder / f"{name}_connectivity.json"
    if not file.is_file():
        raise UsageError(f"there is no {file}. Give the folder that holds the *_connectivity.json files.")
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        kept = {index: entry["image_id"] for index, entry in enumerate(entries) if entry["included"]}
        # The pose is a 4 × 4 matrix, row by row; its last column is the place.
        points = {
            identifier: np.array([entries[index]["pose"][place] for place in (3, 7, 11)], float)
            for index, identifier in kept.items()
        }
        edges = {
            (min(one, kept[other]), max(one, kept[other]))
            for index, one in kept.items()
            for other, free in enumerate(entries[index]["unobstructed"])
            if free and other in kept
        }
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(f"{file} is not a connectivity file: {error!r}.") from error
    return Scan(name=name, points=points, edges=tuple(sorted(edges)))
