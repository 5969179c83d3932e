"""A trained critic behind the critic's contract."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..envs import Array, Chunk, Observation
from ..envs.observations import IMAGES, STATE
from ..errors import ContractError, require
from .contract import CriticContext
from .inputs import Candidates, as_chunks, as_committed, crowd, padded_tail, traits
from .spec import MASK, CriticSpec, Feature

if TYPE_CHECKING:
    from torch import Tensor

    from .network import CriticNetwork


@dataclasses.dataclass(frozen=True, kw_only=True)
class Binding:
    """Where a critic comes from, and whose candidates it may judge.

    Attributes:
        policy_sha256: of the policy's weights whose candidates it was trained on; None for a policy without weights.
        policy: that policy's name.
        sha256: of the critic's own weights' file; empty before it was saved.
        training: whatever the trainer wants to keep, as plain data.
    """

    policy_sha256: str | None
    policy: str
    sha256: str = ""
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


class LearnedCritic:
    """Judges pairs with a network.  The observation is encoded once per call, and each chunk of the pairs once.

    Args:
        network: trained, on its device, in evaluation mode.
        binding: where it comes from.
    """

    def __init__(self, network: CriticNetwork, binding: Binding) -> None:
        self.network = network
        self.binding = binding

    @property
    def spec(self) -> CriticSpec:
        """What it is made of and what it reads."""
        return self.network.spec

    def prefer(self, observation: Observation, pairs: Sequence[tuple[Chunk, Chunk]], context: CriticContext) -> Array:
        """The probability that the first of each pair is better: ``float32[P]``.

        Raises:
            ContractError: a chunk, candidate or tail has another shape than in training or is not finite, or a feature
                that the critic attends to is missing or of another shape.
        """
        if not pairs:
            return np.zeros(0, np.float32)
        import torch

        chunks, index = _unique([chunk for pair in pairs for chunk in pair], self.spec)
        asked = index.reshape(-1, 2)
        # Each unordered pair is judged once; the other order is its mirror.
        ordered, inverse = np.unique(np.sort(asked, axis=1), axis=0, return_inverse=True)
        inputs = self._inputs(observation, context, chunks, ordered)
        with torch.inference_mode():
            logits = self.network(inputs)[0].cpu().numpy()
        signed = logits[inverse.reshape(-1)] * np.where(asked[:, 0] <= asked[:, 1], 1, -1)
        signed[asked[:, 0] == asked[:, 1]] = 0
        return (1 / (1 + np.exp(-signed.astype(np.float64)))).astype(np.float32)

    def describe(self) -> dict[str, Any]:
        """Kind, weights' hash and whose candidates it judges."""
        return {
            "critic": self.spec.kind,
            "sha256": self.binding.sha256,
            "parameters": sum(parameter.numel() for parameter in self.network.parameters()),
            "policy": self.binding.policy,
            "policy_sha256": self.binding.policy_sha256,
            "device": str(self.network.action_mean.device),
        }

    def _inputs(self, observation: Observation, context: CriticContext, chunks: Array, pairs: Array) -> Any:
        import torch

        from .network import CriticInputs

        spec, device = self.spec, self.network.action_mean.device
        among = Candidates(
            chunks=as_chunks(context.candidates, length=spec.chunk, action=spec.action, what="a candidate"),
            committed=as_committed(context.committed, action=spec.action),
        )
        scale = self.network.action_std.cpu().numpy()
        tail, known = padded_tail(among.committed, length=spec.horizon, action=spec.action)
        middle, crowded = crowd(among, length=spec.horizon, action=spec.action)
        values, masks = self._features(observation, context)

        def batched(array: Array) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array))[None].to(device)

        return CriticInputs(
            chunks=batched(chunks),
            traits=batched(traits(chunks, among, horizon=spec.horizon, scale=scale)),
            crowd=batched(middle),
            crowded=batched(crowded),
            tail=batched(tail),
            known=batched(known),
            state=batched(self._state(observation)),
            features=[batched(value) for value in values],
            masks=[None if mask is None else batched(mask) for mask in masks],
            pairs=batched(pairs.astype(np.int64)),
        )

    def _state(self, observation: Observation) -> Array:
        size = self.spec.state
        if not size or self.spec.kind == "action-only":
            return np.zeros(size, np.float32)
        state = np.asarray(observation.get(STATE, ()), np.float32)
        require(state.shape == (size,), f"the critic reads a state of {size} numbers, got {list(state.shape)}")
        return state

    def _features(self, observation: Observation, context: CriticContext) -> tuple[list[Array], list[Array | None]]:
        values: list[Array] = []
        masks: list[Array | None] = []
        for feature in self.spec.attends:
            found = find_feature(feature.name, observation, context.features)
            _check_feature(feature, found, context)
            values.append(np.asarray(found))
            masks.append(np.asarray(context.features[feature.name + MASK], bool) if feature.masked else None)
        return values, masks


def find_feature(name: str, observation: Observation, features: Mapping[str, Array]) -> Array | None:
    """A feature's value: an image is the observation's, everything else the policy's own."""
    return observation.get(name) if name.startswith(IMAGES) else features.get(name)


def _unique(chunks: Sequence[Chunk], spec: CriticSpec) -> tuple[Array, Array]:
    """The different chunks ``float32[C, T, A]``, and which one each is: ``int64[len(chunks)]``."""
    arrays = as_chunks(chunks, length=spec.chunk, action=spec.action, what="a chunk")
    flat, index = np.unique(arrays.reshape(len(arrays), -1), axis=0, return_inverse=True)
    return flat.reshape(-1, spec.chunk, spec.action), index.reshape(-1)


def _check_feature(feature: Feature, found: Array | None, context: CriticContext) -> None:
    if found is None or (feature.masked and feature.name + MASK not in context.features):
        raise ContractError(
            f"the critic attends to {feature.name!r}{' and its mask' if feature.masked else ''}, which it was not "
            f"given; the policy exposes {sorted(context.features) or 'no features'}. Use its own policy."
        )
    shape = np.shape(found)
    require(shape == feature.shape, f"the critic's {feature.name!r} has shape {list(feature.shape)}, not {list(shape)}")
    require(bool(np.isfinite(found).all()), f"the feature {feature.name!r} holds NaN or infinity")
    if feature.masked:
        mask = np.asarray(context.features[feature.name + MASK])
        good = mask.shape == feature.shape[:1] and bool(mask.any())
        require(
            good, f"the mask of {feature.name!r} must be bool[{feature.shape[0]}] with at least one token that counts"
        )
