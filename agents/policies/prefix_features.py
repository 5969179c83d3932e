"""What π0, π0.5 and SmolVLA know of an observation, for critics: the hidden states of their prefix.

The prefix is the sequence of image, language and (SmolVLA) state tokens that the vision-language model encodes once per
look.  Its last hidden states are recorded while the policy samples, so that they cost no further pass, and recording
reads copies: neither the prefix nor the cache that the action head reads changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ...critics.spec import MASK
from ...envs import Array
from ...errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

TOKENS = "tokens"
"""The feature's name: ``float32[K, W]``, W the width of the vision-language model; ``tokens.mask`` ``bool[K]`` says
which of them hold anything."""

_MODELS = {"pi0": "paligemma_with_expert", "pi05": "paligemma_with_expert", "smolvla": "vlm_with_expert"}
"""Kind of policy, then the part of ``policy.model`` that encodes the prefix (LeRobot 0.6.1)."""


def check_prefix(policy: Any) -> None:
    """Raise `ConfigError` unless the policy has a prefix that can be recorded."""
    kind = policy.config.type
    if kind not in _MODELS:
        raise ConfigError(
            f"a {kind!r} policy has no prefix to expose; only {', '.join(_MODELS)} have. Leave out features."
        )
    if policy.config.compile_model:
        raise ConfigError(f"the prefix of a compiled {kind!r} policy cannot be recorded: set compile_model to false.")


@contextlib.contextmanager
def prefix_features(policy: Any, *, tokens: int) -> Generator[dict[str, Array]]:
    """While this lasts, the policy's prefix pass fills the features.

    Args:
        policy: a π0, π0.5 or SmolVLA policy, not compiled.
        tokens: how many tokens to keep: neighbours are averaged.  A prefix of fewer is kept whole.

    Yields:
        Empty before the pass, then `TOKENS` and its mask; of the last pass where there are several.
    """
    model = policy.model
    encoder = getattr(model, _MODELS[policy.config.type])
    embed_prefix, forward = model.embed_prefix, encoder.forward
    features: dict[str, Array] = {}
    counted: list[Tensor] = []

    def embedding(*args: Any, **kwargs: Any) -> Any:
        embedded = embed_prefix(*args, **kwargs)
        counted[:] = [embedded[1]]
        return embedded

    def forwarding(*args: Any, **kwargs: Any) -> Any:
        result = forward(*args, **kwargs)
        if kwargs["inputs_embeds"][1] is None:
            features.update(_pooled(result[0][0][0], counted[0][0], tokens))
        return result

    model.embed_prefix, encoder.forward = embedding, forwarding
    try:
        yield features
    finally:
        del model.embed_prefix, encoder.forward  # the classes' own show again


def _pooled(hidden: Tensor, counted: Tensor, most: int) -> dict[str, Array]:
    """Means over up to ``most`` stretches of neighbouring tokens, of those that count: ``[L, W]`` and ``bool[L]``."""
    import torch

    length = len(hidden)
    kept = min(most, length)
    place = torch.arange(length, device=hidden.device) * kept // length
    weight = counted.float()
    total = torch.zeros(kept, hidden.shape[1], device=hidden.device).index_add_(
        0, place, hidden.float() * weight[:, None]
    )
    number = torch.zeros(kept, device=hidden.device).index_add_(0, place, weight)
    mean = total / number.clamp(min=1)[:, None]
    return {TOKENS: mean.cpu().numpy(), TOKENS + MASK: (number > 0).cpu().numpy()}
