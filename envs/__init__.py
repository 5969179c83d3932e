"""Worlds: ordinary gymnasium environments under one scheme of observations, conventions and identities."""

from __future__ import annotations

from .cache import cache_folder
from .catalog import WORLDS, WorldEntry, world_entry
from .chunks import Action, Array, Chunk, check_chunk
from .conventions import Camera, Conventions, Dim, check_compatible
from .episodes import EpisodeId, derive_seed
from .multistep import MultiStep, SkipsObservations
from .observations import Observation, camera_names, check_observation, lerobot_key, to_lerobot
from .worlds import DeclaresConventions, DrawsPaths, Holds, SavesState, World

__all__ = [
    "WORLDS",
    "Action",
    "Array",
    "Camera",
    "Chunk",
    "Conventions",
    "DeclaresConventions",
    "Dim",
    "DrawsPaths",
    "EpisodeId",
    "Holds",
    "MultiStep",
    "Observation",
    "SavesState",
    "SkipsObservations",
    "World",
    "WorldEntry",
    "cache_folder",
    "camera_names",
    "check_chunk",
    "check_compatible",
    "check_observation",
    "derive_seed",
    "lerobot_key",
    "to_lerobot",
    "world_entry",
]
