"""Load a checkpoint of the flow-matching policy: a short way to act with it, and LeRobot's, which also finds mistakes.

Torch and LeRobot are imported where they are needed, not with this module.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from ....errors import WeightsError
from ..lerobot_checkpoint import Checkpoint, load_checkpoint

KIND = "thinktwice_flow"
"""The policy's type in LeRobot's registry."""


def open_flow(folder: Path, *, device: str | None) -> Checkpoint:
    """Load a checkpoint to act with: without LeRobot's policies where it has the usual form, else as `load_flow`.

    Raises:
        ConfigError: as `load_flow`.
        WeightsError: as `load_flow`.
    """
    plain = importlib.import_module(".plain", __package__)
    try:
        return plain.load_plain(folder, device=device)
    except plain.UnusualCheckpointError:
        return load_flow(folder, device=device)


def load_flow(folder: Path, *, device: str | None) -> Checkpoint:
    """Load and verify a checkpoint, whose policy is LeRobot's.

    Args:
        folder: holds what ``save_pretrained`` of policy and processors wrote.
        device: torch device; None for the checkpoint's own where it is present, else the best one that is.

    Raises:
        ConfigError: the device is not present.
        WeightsError: the checkpoint is damaged, of another kind, or normalises otherwise than it was trained.
    """
    # Importing it tells LeRobot's registries about the policy and its processor step.
    importlib.import_module(".processor_flow", __package__)
    checkpoint = load_checkpoint(folder, device=device)
    kind = checkpoint.policy.config.type
    if kind != KIND:
        raise WeightsError(f"{folder} holds a {kind!r} policy, not {KIND!r}. Use --policy lerobot:{folder}")
    _check_modes(checkpoint)
    return checkpoint


def _check_modes(checkpoint: Checkpoint) -> None:
    trained = {str(kind): mode.value for kind, mode in checkpoint.policy.config.normalization_mapping.items()}
    if trained != checkpoint.normalization:
        raise WeightsError(
            f"the processors in {checkpoint.folder} normalise by {checkpoint.normalization}, but the policy was "
            f"trained with {trained}. The files are of different checkpoints: copy the whole folder again."
        )
