"""Load a checkpoint of the flow-matching policy without LeRobot's policies and processors.

Importing those takes four times as long as importing torch, in every worker of every run.  A checkpoint in the form
that our training writes needs none of them; one in any other form is left to LeRobot, which also says what is wrong.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lerobot.utils.constants import ACTION, OBS_LANGUAGE_TOKENS, OBS_STATE
from lerobot.utils.device_utils import auto_select_torch_device, is_torch_device_available
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..lerobot_checkpoint import CONFIG, POSTPROCESSOR, PREPROCESSOR, WEIGHTS, Checkpoint
from .loading import KIND
from .network import FlowNetwork, Sizes
from .rotation import canonical_rotation
from .vocabulary import encode_instruction

_MODES = {"VISUAL": "IDENTITY", "STATE": "MEAN_STD", "ACTION": "MEAN_STD"}
_BEFORE = (
    "rename_observations_processor",
    "to_batch_processor",
    "thinktwice_flow_inputs",
    "device_processor",
    "normalizer_processor",
)
_AFTER = ("unnormalizer_processor", "device_processor")
_SIZES = (
    "chunk_size",
    "max_words",
    "channels",
    "blocks",
    "keypoints",
    "language_width",
    "prefix_width",
    "head_width",
    "head_blocks",
    "bfloat16",
)


class UnusualCheckpointError(Exception):
    """A checkpoint is not in the form that is read here; it may be good or broken."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Feature:
    """An entry of an observation.

    Attributes:
        shape: of its numbers.
    """

    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """What is read of a checkpoint's configuration, under the names of `FlowConfig`."""

    type: str
    conventions: dict[str, Any]
    input_features: Mapping[str, Feature]
    image_features: Mapping[str, Feature]
    chunk_size: int
    denoising_steps: int
    prefix_width: int
    bfloat16: bool


class PlainFlow(nn.Module):
    """The network and its configuration, with the names that the weights have in a checkpoint.

    Args:
        config: what the checkpoint says.
        sizes: of the network.
    """

    def __init__(self, config: PlainConfig, sizes: Sizes) -> None:
        super().__init__()
        self.config = config
        self.network = FlowNetwork(sizes)


def load_plain(folder: Path, *, device: str | None) -> Checkpoint:
    """Load a checkpoint that our training wrote.

    Args:
        folder: holds its files.
        device: torch device; None for the checkpoint's own where it is present, else the best one that is.

    Raises:
        UnusualCheckpointError: a file is missing or damaged, says something that is not known here, or holds numbers
            that are not finite; or there is no such device.
    """
    try:
        return _load(folder, device)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise UnusualCheckpointError(f"{folder}: {error}") from error


def _load(folder: Path, device: str | None) -> Checkpoint:
    config, before, after = (json.loads((folder / name).read_text()) for name in (CONFIG, PREPROCESSOR, POSTPROCESSOR))
    _expect(config["type"] == KIND and config["normalization_mapping"] == _MODES, "another kind")
    inputs, normalizer = _steps(before, _BEFORE)
    (unnormalizer,) = _steps(after, _AFTER)
    place = _device(device, config["device"])
    shapes = {name: Feature(shape=tuple(found["shape"])) for name, found in config["input_features"].items()}
    images = {n: f for n, f in shapes.items() if config["input_features"][n]["type"] == "VISUAL"}
    _expect({*shapes} == {*images, OBS_STATE} and [*config["output_features"]] == [ACTION], "other features")
    sizes = Sizes(
        cameras=tuple(images),
        state=shapes[OBS_STATE].shape[0],
        action=config["output_features"][ACTION]["shape"][0],
        words=len(config["vocabulary"]),
        **{name: config[name] for name in _SIZES},
    )
    # Building a network draws its first weights from the global generator.
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        policy = PlainFlow(
            PlainConfig(
                type=config["type"],
                conventions=config["conventions"],
                input_features=shapes,
                image_features=images,
                **{name: config[name] for name in ("chunk_size", "denoising_steps", "prefix_width", "bfloat16")},
            ),
            sizes,
        )
    weights = load_file(folder / WEIGHTS)
    _expect(all(bool(value.isfinite().all()) for value in weights.values()), "weights that are not finite")
    policy.load_state_dict(weights)
    policy.to(place).eval()
    with (folder / WEIGHTS).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Checkpoint(
        folder=folder,
        policy=policy,
        preprocessor=_before(inputs["config"], _statistics(folder, normalizer, OBS_STATE, place), place),
        postprocessor=_after(_statistics(folder, unnormalizer, ACTION, place)),
        device=place,
        sha256=digest,
        renamed={},
        normalization=dict(_MODES),
    )


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _steps(pipeline: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The steps of a pipeline that have something to say, when it has the usual ones and nothing else is asked."""
    steps: list[dict[str, Any]] = pipeline["steps"]
    _expect(tuple(step["registry_name"] for step in steps) == names, "other steps")
    told: list[dict[str, Any]] = []
    for name, step in zip(names, steps, strict=True):
        if name == "rename_observations_processor":
            _expect(step["config"] == {"rename_map": {}}, "observations are renamed")
        elif name == "device_processor":
            _expect(step["config"]["float_dtype"] is None, "another type of numbers")
        elif name != "to_batch_processor":
            told.append(step)
            _expect(step["config"].get("norm_map", _MODES) == _MODES, "another normalisation")
    return told


def _device(asked: str | None, own: str | None) -> str:
    _expect(asked is None or is_torch_device_available(asked), f"no device {asked}")
    wanted = asked or own
    return wanted if wanted and is_torch_device_available(wanted) else str(auto_select_torch_device())


def _statistics(folder: Path, step: dict[str, Any], key: str, device: str) -> tuple[Tensor, Tensor, float]:
    """Mean, standard deviation, and what is added to the latter before dividing."""
    _expect({*step["config"]} == {"eps", "features", "norm_map"}, "another normaliser")
    stored = load_file(folder / step["state_file"], device=device)
    mean, deviation = stored[f"{key}.mean"], stored[f"{key}.std"]
    _expect(bool(mean.isfinite().all() and deviation.isfinite().all()), "statistics that are not finite")
    return mean, deviation, step["config"]["eps"]


def _before(
    inputs: dict[str, Any], statistics: tuple[Tensor, Tensor, float], device: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What `FlowInputsStep` and LeRobot's steps around it do to one observation."""
    mean, deviation, eps = statistics
    start: int | None = inputs["rotation_start"]

    def process(batch: dict[str, Any]) -> dict[str, Any]:
        rows = [
            encode_instruction(
                batch["task"], inputs["vocabulary"], length=inputs["max_words"], trained=inputs["trained_words"]
            )
        ]
        ready = {key: value[None].to(device) for key, value in batch.items() if isinstance(value, Tensor)}
        state = batch[OBS_STATE][None]
        state = (state if start is None else canonical_rotation(state, start)).to(device)
        return {
            **ready,
            OBS_STATE: (state - mean) / (deviation + eps),
            OBS_LANGUAGE_TOKENS: torch.tensor(rows).to(device),
        }

    return process


def _after(statistics: tuple[Tensor, Tensor, float]) -> Callable[[Tensor], Tensor]:
    mean, deviation, _ = statistics
    return lambda chunks: (chunks * deviation + mean).to("cpu")
