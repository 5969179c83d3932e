"""Any LeRobot policy checkpoint as a `Policy`: ``--policy lerobot:PATH_OR_HUB_ID``."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...cost import Cost, Stopwatch
from ...envs import Array, Camera, Conventions, DeclaresConventions, Observation, to_lerobot
from ...errors import ContractError, ConventionError, choices
from ..policy import Proposal
from .lerobot_checkpoint import Checkpoint, load_checkpoint, local_folder, locate, require_files
from .lerobot_samplers import Sampler, make_sampler
from .lerobot_spec import FILE, CameraSource, Declaration, parse_spec, read_declaration
from .prefix_features import check_prefix, prefix_features

_IMAGES = "observation.images."
_STATE = "observation.state"
_ACTION = "action"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageInput:
    """How one image of the checkpoint is made from one of the world's.

    Attributes:
        key: what the checkpoint's pre-processor reads, such as ``"observation.images.image"``.
        source: LeRobot's name of the world's camera, such as ``"observation.images.agentview"``.
        flip: axes to reverse: 0 for up and down, 1 for left and right.
    """

    key: str
    source: str
    flip: tuple[int, ...] = ()


class LeRobotPolicy:
    """A LeRobot checkpoint behind the policy's contract.

    Candidates are ``float32[N, T, A]`` in the world's units, after the checkpoint's own post-processor; T is the
    checkpoint's ``n_action_steps``, which is how much of a chunk LeRobot itself executes.

    Args:
        name: what records call it.
        checkpoint: the loaded policy and its processors.
        sampler: draws candidates.
        images: how the checkpoint's images are made.
        conventions: what it needs of the world, after `images` are mapped.
        declaration: what was declared about it.
    """

    def __init__(
        self,
        *,
        name: str,
        checkpoint: Checkpoint,
        sampler: Sampler,
        images: tuple[ImageInput, ...],
        conventions: Conventions,
        declaration: Declaration,
    ) -> None:
        self.name = name
        self.conventions: Conventions | None = conventions
        self._checkpoint = checkpoint
        self._sampler = sampler
        self._images = images
        self._declaration = declaration

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``n`` candidate chunks, one forward pass each (a deterministic policy needs one pass for all).

        Raises:
            ContractError: ``n`` is less than 1, or the observation lacks something the checkpoint reads.
        """
        import torch

        if n < 1:
            raise ContractError(f"a proposal needs at least one candidate, got n={n}.")
        watch = Stopwatch()
        with watch("preprocess"):
            batch = self._checkpoint.preprocessor(self._batch(observation))
        config = self._checkpoint.policy.config
        # Mixed precision where the checkpoint asks for it, as in LeRobot's own evaluation.
        mixed = torch.autocast(torch.device(self._checkpoint.device).type, enabled=config.use_amp)
        with watch("sample"), mixed, self._exposed() as features:
            sampled, cost = self._sampler.sample(batch, n, seed=seed)
        with watch("postprocess"):
            actions = self._checkpoint.postprocessor(sampled[:, : getattr(config, "n_action_steps", None)])
            chunks: Array = actions.to("cpu", torch.float32).numpy()
        return Proposal(chunks=chunks, features=features, cost=cost + Cost(seconds=watch.seconds))

    def _exposed(self) -> contextlib.AbstractContextManager[dict[str, Array]]:
        """What critics may read of the observation, filled while candidates are sampled."""
        tokens = self._declaration.features
        return prefix_features(self._checkpoint.policy, tokens=tokens) if tokens else contextlib.nullcontext({})

    def _batch(self, observation: Observation) -> dict[str, Any]:
        """The observation as LeRobot's pre-processors take it: images ``float32[3, H, W]`` in [0, 1]."""
        import torch

        named = to_lerobot(observation)
        wanted = [*(image.source for image in self._images), *([_STATE] if self._reads_state else [])]
        missing = [key for key in wanted if key not in named]
        if missing:
            raise ContractError(f"{self.name} needs {missing} in the observation, which holds {sorted(observation)}.")
        batch: dict[str, Any] = {"task": named.get("task", "")}
        for image in self._images:
            pixels = np.flip(named[image.source], image.flip) if image.flip else named[image.source]
            batch[image.key] = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))).float() / 255
        if self._reads_state:
            batch[_STATE] = torch.from_numpy(np.array(named[_STATE], np.float32))
        return batch

    @property
    def _reads_state(self) -> bool:
        return _STATE in self._checkpoint.policy.config.input_features

    def describe(self) -> dict[str, Any]:
        """Kind, weights, processors, sampler, and what nobody declared."""
        config = self._checkpoint.policy.config
        declared = self._declaration.conventions or Conventions()
        groups = {
            "action": bool(declared.action),
            "state": bool(declared.state) or not self._reads_state,
            "control_hz": declared.control_hz is not None,
            "camera orientation": bool(self._declaration.cameras) or not self._images,
        }
        return {
            "policy": "lerobot",
            "type": config.type,
            "checkpoint": self.name.removeprefix("lerobot:"),
            "sha256": self._checkpoint.sha256,
            "device": self._checkpoint.device,
            "normalization": self._checkpoint.normalization,
            "sampler": self._sampler.describe(),
            "images": [dataclasses.asdict(image) for image in self._images],
            "n_obs_steps": config.n_obs_steps,
            "history": self._declaration.history,
            "features": self._declaration.features,
            "temporal_ensembling": False,
            "undeclared": [group for group, known in groups.items() if not known],
        }


def build_lerobot(argument: str, env: gym.Env[Any, Any]) -> LeRobotPolicy:
    """Load ``PATH_OR_HUB_ID?options`` for a world.

    Raises:
        ConfigError: an option or the declaration beside the checkpoint is wrong, or it has no features to expose.
        WeightsError: the checkpoint is missing, damaged, or of a kind that has no pure chunks.
        ConventionError: the checkpoint reads or writes something else than the world gives or takes.
    """
    spec = parse_spec(argument)
    folder = locate(spec.target, spec.revision)
    declaration = read_declaration(folder, spec.options)
    checkpoint = load_checkpoint(folder, device=declaration.device)
    sampler = make_sampler(checkpoint.policy)
    if declaration.features:
        check_prefix(checkpoint.policy)
    world = env.unwrapped
    images, cameras = _map_images(checkpoint, declaration, world)
    _check_sizes(checkpoint, declaration, world)
    declared = declaration.conventions or Conventions()
    name = spec.target if spec.revision is None else f"{spec.target}@{spec.revision}"
    return LeRobotPolicy(
        name=f"lerobot:{name}",
        checkpoint=checkpoint,
        sampler=sampler,
        images=images,
        conventions=dataclasses.replace(declared, cameras=cameras),
        declaration=declaration,
    )


def check_lerobot(argument: str) -> None:
    """What can be known of ``PATH_OR_HUB_ID?options`` without a world, a network and torch.

    Raises:
        ConfigError: an option or the declaration beside the checkpoint is wrong.
        WeightsError: there is no such folder, or it holds no checkpoint.
    """
    spec = parse_spec(argument)
    folder = local_folder(spec.target)
    if folder is not None:
        require_files(folder)
    read_declaration(folder or Path(spec.target), spec.options)


def _map_images(
    checkpoint: Checkpoint, declaration: Declaration, world: gym.Env[Any, Any]
) -> tuple[tuple[ImageInput, ...], tuple[Camera, ...]]:
    """How the checkpoint's images are made from the world's, and which cameras that needs."""
    shown = {camera.name: camera for camera in cast("DeclaresConventions", world).conventions.cameras}
    original: dict[str, str] = {new: old for old, new in checkpoint.renamed.items()}
    seen: dict[str, Any] = checkpoint.policy.config.image_features
    features = {original.get(key, key): feature for key, feature in seen.items()}
    names = {key.removeprefix(_IMAGES): key for key in features}
    unknown = set(declaration.cameras) - set(names)
    if unknown:
        raise ConventionError(f"the checkpoint reads no image {min(unknown)!r}. {choices(min(unknown), names)}")
    images: list[ImageInput] = []
    cameras: list[Camera] = []
    for name, key in names.items():
        source = declaration.cameras.get(name) or CameraSource(camera=name)
        if source.camera not in shown:
            raise ConventionError(
                f"the checkpoint reads the image {name!r} from camera {source.camera!r}, which the world does not show "
                f"({', '.join(shown) or 'it shows none'}). Say which one it is with ?images.{name}=CAMERA or in {FILE}."
            )
        camera = shown[source.camera]
        # Without a declaration the image is passed as the world shows it, and the record says "undeclared".
        declared = name in declaration.cameras
        flip = (
            *((0,) if declared and source.upright != camera.upright else ()),
            *((1,) if declared and source.mirrored != camera.mirrored else ()),
        )
        images.append(ImageInput(key=key, source=f"{_IMAGES}{source.camera}", flip=flip))
        _, height, width = features[key].shape
        size = {"height": 0, "width": 0} if declaration.any_size else {"height": height, "width": width}
        cameras.append(dataclasses.replace(camera, **size, rendering=None))
    return tuple(images), tuple(cameras)


def _check_sizes(checkpoint: Checkpoint, declaration: Declaration, world: gym.Env[Any, Any]) -> None:
    """Raise `ConventionError`, naming every size that differs between the checkpoint and the world's spaces."""
    config = checkpoint.policy.config
    problems: list[str] = []
    observed = cast("spaces.Dict", world.observation_space)
    known = {_STATE, *config.image_features}
    for key, feature in config.input_features.items():
        if key not in known:
            problems.append(f"it reads {key!r} {list(feature.shape)}, which no world of this library gives")
    if _STATE in config.input_features:
        wanted = tuple(config.input_features[_STATE].shape)
        given = observed["state"].shape if "state" in observed.spaces else None
        if wanted != given:
            problems.append(
                f"it reads a state of {list(wanted)}, the world gives {'none' if given is None else list(given)}"
            )
    wanted = tuple(config.output_features[_ACTION].shape) if _ACTION in config.output_features else None
    if wanted != world.action_space.shape:
        problems.append(f"its actions are {list(wanted or ())}, the world takes {world.action_space}")
    if config.n_obs_steps > 1 and declaration.history != "repeat":
        problems.append(
            f"it reads {config.n_obs_steps} consecutive observations, and agents here look only when they decide; "
            "?history=repeat gives it the present one that many times, which is not how it was trained"
        )
    if problems:
        listed = "\n  - ".join(problems)
        raise ConventionError(f"the {config.type!r} checkpoint in {checkpoint.folder} cannot act here:\n  - {listed}")
