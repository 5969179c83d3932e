"""Axis-angle rotations of the state, so that a network does not see them jump."""

from __future__ import annotations

import torch
from torch import Tensor


def canonical_rotation(state: Tensor, start: int) -> Tensor:
    """Give an axis-angle rotation the one of its two spellings whose axis points to positive x.

    A gripper that looks down has turned by nearly 180 degrees, where axis-angle jumps from one spelling to the
    opposite one without any motion.

    Args:
        state: ``float32[..., S]``, with the rotation in radians at ``start`` to ``start + 3``.
        start: where the rotation begins.

    Returns:
        A copy; the angle is at most 2 pi.
    """
    rotation = state[..., start : start + 3]
    angle = rotation.norm(dim=-1, keepdim=True)
    other = rotation * (1 - 2 * torch.pi / angle.clamp(min=1e-6))
    flipped = (rotation[..., :1] < 0) & (angle > 1e-6)
    result = state.clone()
    result[..., start : start + 3] = torch.where(flipped, other, rotation)
    return result
