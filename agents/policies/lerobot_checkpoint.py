"""Load a LeRobot checkpoint with its own processors, and make sure that what was loaded is what was saved.

LeRobot only logs missing weights, and its normaliser passes a feature without statistics through unchanged.  Both leave
a policy that runs and fails quietly, so both are errors here, before the first step.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import ConfigError, MissingDependency, WeightsError

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
PREPROCESSOR = "policy_preprocessor.json"
POSTPROCESSOR = "policy_postprocessor.json"

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_STATISTICS = {
    "MEAN_STD": ("mean", "std"),
    "MIN_MAX": ("min", "max"),
    "QUANTILES": ("q01", "q99"),
    "QUANTILE10": ("q10", "q90"),
}
"""Normalisation mode, then the statistics it reads (processor/normalize_processor.py of LeRobot 0.6.1)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A loaded policy.

    Attributes:
        folder: where its files are.
        policy: the ``PreTrainedPolicy``, in evaluation mode on `device`.
        preprocessor: observation batch to the policy's inputs.
        postprocessor: the policy's normalised actions to the world's units, on the CPU.
        device: torch device.
        sha256: of the weights' file.
        renamed: the pre-processor's own renaming of observation keys, from what it reads to what the policy sees.
        normalization: mode by kind of feature, as the processors apply it.
    """

    folder: Path
    policy: Any
    preprocessor: Any
    postprocessor: Any
    device: str
    sha256: str
    renamed: dict[str, str]
    normalization: dict[str, str]


def local_folder(target: str) -> Path | None:
    """The folder that a checkpoint's place names, or None where it is a hub id.

    Raises:
        WeightsError: it is neither.
    """
    path = Path(target).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise WeightsError(f"{path} is a file; give the folder that holds {CONFIG} and {WEIGHTS}.")
    if not _HUB_ID.fullmatch(target) or target.startswith("."):
        raise WeightsError(
            f"there is no folder {path} (looked from {Path.cwd()}), and {target!r} is no hub id ORG/NAME."
        )
    return None


def locate(target: str, revision: str | None) -> Path:
    """The folder of a checkpoint: a local one, or a hub repository's files in the local cache.

    Raises:
        WeightsError: there is no such folder, and no such repository can be had.
    """
    folder = local_folder(target)
    if folder is not None:
        return folder
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    try:
        found = huggingface_hub.snapshot_download(
            target, revision=revision, allow_patterns=["*.json", "*.safetensors", "*.model", "*.txt", "*.yaml"]
        )
    except (HfHubHTTPError, OSError, ValueError) as error:
        wanted = f"{target} at {revision}" if revision else target
        offline = " (HF_HUB_OFFLINE is set)" if constants.HF_HUB_OFFLINE else ""
        raise WeightsError(
            f"no checkpoint {wanted!r}: there is no such folder here, the hub's local cache {constants.HF_HUB_CACHE} "
            f"does not hold it, and it could not be downloaded{offline}: {_first_line(error)}. "
            f"Give a folder, or download it where there is a network: hf download {target}"
        ) from error
    return Path(found)


def load_checkpoint(folder: Path, *, device: str | None = None) -> Checkpoint:
    """Load and verify the policy in a folder.

    Args:
        folder: holds ``config.json``, ``model.safetensors`` and the two processors, as LeRobot 0.6 saves them.
        device: torch device; None for the checkpoint's own where it is present, else the best one that is.

    Raises:
        WeightsError: a file is missing or damaged, weights are missing, foreign or not finite, or statistics are
            missing.
        MissingDependency: this kind of policy needs a package that is not installed.
        ConfigError: the device is not present.
    """
    require_files(folder)
    stored = _header(folder / WEIGHTS)
    import torch
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    config = _read_config(folder, device)
    try:
        # Building a network draws its first weights from the global generator, and LeRobot prints as it loads.
        with (
            torch.random.fork_rng(devices=range(torch.cuda.device_count())),
            contextlib.redirect_stdout(sys.stderr),
        ):
            policy: Any = get_policy_class(config.type).from_pretrained(folder, config=config, strict=True)
            preprocessor, postprocessor = make_pre_post_processors(
                config,
                pretrained_path=str(folder),
                preprocessor_overrides=_on_device(folder / PREPROCESSOR, config.device),
            )
    except ImportError as error:
        raise MissingDependency(
            "a package of this policy",
            purpose=f"the {config.type!r} policy in {folder} ({_first_line(error)})",
            install=f"pip install 'lerobot[{config.type.replace('_', '-')}]'",
        ) from error
    except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
        raise WeightsError(f"the {config.type!r} checkpoint in {folder} cannot be loaded: {_brief(error)}") from error
    _check_weights(policy, folder, stored)
    _check_statistics(preprocessor, folder / PREPROCESSOR, set(config.input_features))
    _check_statistics(postprocessor, folder / POSTPROCESSOR, set(config.output_features))
    with (folder / WEIGHTS).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Checkpoint(
        folder=folder,
        policy=policy,
        preprocessor=preprocessor,
        postprocessor=postprocessor,
        device=str(config.device),
        sha256=digest,
        renamed={old: new for step in preprocessor.steps for old, new in getattr(step, "rename_map", {}).items()},
        normalization=_modes(preprocessor) | _modes(postprocessor),
    )


def require_files(folder: Path) -> None:
    """Raise `WeightsError`, which says what is there instead, unless a folder holds a checkpoint's four files."""
    missing = [name for name in (CONFIG, WEIGHTS, PREPROCESSOR, POSTPROCESSOR) if not (folder / name).is_file()]
    if not missing:
        return
    if (folder / "adapter_config.json").exists():
        raise WeightsError(f"{folder} holds a PEFT adapter, not a policy. Merge it into its base policy first.")
    for inner in ("pretrained_model", "checkpoints/last/pretrained_model"):
        if (folder / inner / CONFIG).is_file():
            raise WeightsError(f"{folder} is a training folder. Did you mean {folder / inner}?")
    hint = ""
    if missing == [PREPROCESSOR, POSTPROCESSOR]:
        hint = " It was saved before LeRobot 0.4: convert it with lerobot's migrate_policy_normalization.py."
    holds = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
    raise WeightsError(f"{folder} is no LeRobot checkpoint: it lacks {', '.join(missing)}; it holds {holds}.{hint}")


def _header(path: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of every stored tensor."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  # no mapping
    except (SafetensorError, OSError) as error:
        size = path.stat().st_size
        raise WeightsError(
            f"{path} ({size} bytes) is truncated or no safetensors file: {_first_line(error)}."
        ) from error


def _read_config(folder: Path, device: str | None) -> Any:
    from draccus.utils import DraccusException
    from lerobot.configs import PreTrainedConfig
    from lerobot.utils.device_utils import is_torch_device_available

    if device is not None and not _is_device(device, is_torch_device_available):
        raise ConfigError(f"there is no device {device!r} here; leave it out for the best one there is, or say cpu.")
    path = folder / CONFIG
    try:
        # Where the checkpoint's own device is absent, LeRobot takes the best one that is present.
        config: Any = PreTrainedConfig.from_pretrained(
            folder, cli_overrides=[] if device is None else [f"--device={device}"]
        )
    except (DraccusException, OSError, ValueError, TypeError, KeyError) as error:
        raise WeightsError(f"{path} is no configuration of LeRobot 0.6.1: {_brief(error)}") from error
    if not config.input_features or not config.output_features:
        raise WeightsError(f"{path} names no input_features or output_features.")
    if hasattr(config, "pretrained_backbone_weights"):
        config.pretrained_backbone_weights = None  # the checkpoint holds the backbone: download no other
    return config


def _is_device(device: str, available: Callable[[str], bool]) -> bool:
    try:
        return available(device)
    except (ValueError, RuntimeError):  # LeRobot refuses an unknown kind of device with an exception
        return False


def _on_device(path: Path, device: str) -> dict[str, Any]:
    """LeRobot's override that moves the pre-processor to a device, for pipelines that have such a step."""
    steps = json.loads(path.read_text(encoding="utf-8")).get("steps", [])
    names = {step.get("registry_name") for step in steps}
    return {"device_processor": {"device": device}} if "device_processor" in names else {}


def _check_weights(policy: Any, folder: Path, stored: dict[str, tuple[int, ...]]) -> None:
    """Every parameter must come from the file, and be finite.

    Some of LeRobot's loaders catch a failed load and go on with random weights, so names are compared here, and a
    spread of values with the file's.
    """
    import torch
    from safetensors import safe_open

    path = folder / WEIGHTS
    state: dict[str, torch.Tensor] = policy.state_dict()
    sources = {name: next((k for k in _spellings(name) if k in stored), None) for name in state}
    loaded = {state[name].data_ptr() for name, source in sources.items() if source is not None}
    # Tied weights are stored once, under one of their names.
    missing = [n for n, source in sources.items() if source is None and state[n].data_ptr() not in loaded]
    if missing:
        raise WeightsError(
            f"{path} lacks {len(missing)} of {len(state)} tensors of the policy, such as {missing[0]!r}."
        )
    broken = [name for name, value in state.items() if value.is_floating_point() and not bool(value.isfinite().all())]
    if broken:
        raise WeightsError(
            f"{path} holds values that are not finite (NaN or infinity), in {broken[0]!r} and {len(broken)} in all."
        )
    named = [(name, source) for name, source in sources.items() if source is not None]
    with safe_open(path, framework="pt") as file:
        for name, source in named[:: max(1, len(named) // 16)]:
            expected = file.get_tensor(source).to(state[name].dtype)
            if not torch.equal(expected, state[name].cpu()):
                raise WeightsError(f"{name!r} of the loaded policy differs from {path}: the weights were not loaded.")


def _spellings(name: str) -> tuple[str, ...]:
    """Some loaders of LeRobot add or drop the prefix ``model.``."""
    return name, name.removeprefix("model."), f"model.{name}"


def _check_statistics(pipeline: Any, path: Path, needed: set[str]) -> None:
    for step in pipeline.steps:
        if not hasattr(step, "norm_map"):
            continue
        only = step.normalize_observation_keys
        for key, feature in step.features.items():
            mode = step.norm_map.get(feature.type)
            if key not in needed or mode is None or mode.value == "IDENTITY" or (only is not None and key not in only):
                continue
            statistics = (step.stats or {}).get(key, {})
            for name in _STATISTICS.get(mode.value, ()):
                _check_statistic(statistics.get(name), f"{path}: {key!r} is normalised by {mode.value}, and its {name}")


def _check_statistic(value: Any, what: str) -> None:
    import numpy as np

    if value is None:
        raise WeightsError(f"{what} is missing; without it the numbers would pass through unchanged.")
    if not np.isfinite(np.asarray(value)).all():
        raise WeightsError(f"{what} is not finite.")


def _modes(pipeline: Any) -> dict[str, str]:
    maps = [step.norm_map for step in pipeline.steps if hasattr(step, "norm_map")]
    return {kind.value: mode.value for norm_map in maps for kind, mode in norm_map.items()}


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _brief(error: BaseException) -> str:
    """At most a few lines of a long message: torch lists every tensor."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return "\n".join(line[:200] for line in lines[:4])
