"""Many candidates from one look: π0, π0.5 and SmolVLA encode it once, and only the action head runs N times.

LeRobot 0.6 takes one noise per observation.  Its flow-matching policies share a shape, though: ``sample_actions``
encodes images and words into a cache of keys and values, the prefix, and then integrates ``denoise_step`` from a noise
that the caller may hand over.  With N noises and one observation the prefix is encoded once; `fan_out` then repeats
cache, masks and state for every batch of candidates, in front of each ``denoise_step``.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cost import Cost
from .candidates import blocks, candidate_noise

if TYPE_CHECKING:
    from torch import Tensor

FAMILIES = ("pi0", "pi05", "smolvla")
"""The kinds of LeRobot policies that encode a prefix and integrate ``denoise_step``."""


class SharedPrefixSampler:
    """One prefix for N noises, in the batches of `candidates.blocks`.

    Args:
        policy: a π0, π0.5 or SmolVLA policy in evaluation mode, not compiled.
        steps: Euler steps per candidate.
    """

    def __init__(self, policy: Any, *, steps: int) -> None:
        self._policy = policy
        self._steps = steps

    def sample(self, batch: dict[str, Any], n: int, *, seed: int) -> tuple[Tensor, Cost]:
        """``n`` candidates, ``float[n, T, A]`` in the policy's normalised units, for one prefix pass."""
        import torch

        parts = list(blocks(0, n))
        config = self._policy.config
        shape = (config.chunk_size, config.max_action_dim)
        noise = np.stack([candidate_noise(seed, index, shape) for index in range(parts[-1][1])])
        self._policy.reset()  # SmolVLA keeps queues, which a chunk must not depend on
        with torch.inference_mode(), fan_out(self._policy.model, parts):
            chunks = self._policy.predict_action_chunk(dict(batch), noise=torch.from_numpy(noise).to(config.device))
        return chunks[:n], Cost(prefix_passes=1, denoising_steps=n * self._steps, candidates=n)

    def describe(self) -> dict[str, Any]:
        """Kind and denoising steps per candidate."""
        return {"kind": "shared prefix", "denoising_steps": self._steps}


@contextlib.contextmanager
def fan_out(model: Any, parts: Sequence[tuple[int, int]]) -> Generator[None]:
    """While this lasts, ``model.denoise_step`` takes N noisy chunks beside the prefix of one observation.

    Args:
        model: LeRobot's flow-matching model (``policy.model``).
        parts: the batches ``(start, stop)`` that the N chunks are denoised in.
    """
    denoise_step = model.denoise_step
    caches: list[Any] = []

    def fanned(
        *, x_t: Tensor, timestep: Tensor, prefix_pad_masks: Tensor, past_key_values: Any, **rest: Tensor
    ) -> Tensor:
        import torch

        if not caches:
            caches.extend(_repeated(past_key_values, stop - start) for start, stop in parts)
        velocities = [
            denoise_step(
                x_t=x_t[start:stop],
                timestep=timestep[start:stop],
                prefix_pad_masks=prefix_pad_masks.expand(stop - start, -1),
                past_key_values=cache,
                **{name: value.expand(stop - start, *value.shape[1:]) for name, value in rest.items()},
            )
            for cache, (start, stop) in zip(caches, parts, strict=True)
        ]
        return torch.cat(velocities)

    model.denoise_step = fanned
    try:
        yield
    finally:
        del model.denoise_step  # the class's own shows again


def _repeated(cache: Any, n: int) -> Any:
    """A copy of a prefix's keys and values for ``n`` chunks: a policy may append to a cache and crop it again."""
    repeated = copy.deepcopy(cache)
    repeated.batch_repeat_interleave(n)
    return repeated
