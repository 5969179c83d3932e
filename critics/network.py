"""The critics' network: a small transformer over a pair, in the world's units (it standardises by its own buffers)."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from .features import ContextEncoder
from .inputs import TRAITS
from .reference import Reference
from .spec import CriticSpec
from .trunk import Shared, Stem, TrunkBlock

_SHARPNESS = 2.0
"""What the difference of two candidates' distances to the reference is multiplied by at first, for a logit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticInputs:
    """B observations with C chunks and G comparisons each.

    Attributes:
        chunks: ``float32[B, C, T, A]``.
        traits: ``float32[B, C, len(TRAITS)]``.
        crowd: ``float32[B, 2, horizon, A]``: mean and spread of all candidates, zeros where nobody says.
        crowded: ``float32[B, 1]``: 1 where the candidates are known.
        tail: ``float32[B, horizon, A]``: the committed tail, zeros where unknown.
        known: ``float32[B, horizon]``: 1 where the tail is known.
        state: ``float32[B, S]``: proprioception.
        features: one batch per feature of the specification.
        masks: for each feature, ``bool[B, K]`` or None.
        pairs: ``int64[B, G, 2]``: which chunks are compared.
    """

    chunks: Tensor
    traits: Tensor
    crowd: Tensor
    crowded: Tensor
    tail: Tensor
    known: Tensor
    state: Tensor
    features: list[Tensor]
    masks: list[Tensor | None]
    pairs: Tensor


class CriticNetwork(nn.Module):
    """Logits of "the first is better"; antisymmetric by construction.

    Args:
        spec: sizes and kind.
    """

    action_mean: Tensor
    action_std: Tensor
    state_mean: Tensor
    state_std: Tensor

    def __init__(self, spec: CriticSpec) -> None:
        super().__init__()
        self.spec = spec
        for name, size in (("action", spec.action), ("state", spec.state)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_std", torch.ones(size))
        looks = spec.kind != "action-only"
        self.looks = looks
        self.context = ContextEncoder(spec) if looks and spec.features else None
        self.reference = Reference(spec) if spec.predicts else None
        self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS)) if spec.predicts else None
        self.trunk = Trunk(spec, looks=looks) if spec.kind != "regression" else None

    def forward(self, inputs: CriticInputs) -> Tensor:
        """``float32[B, G]``: the logit that ``pairs[..., 0]`` is better than ``pairs[..., 1]``."""
        return self.read(inputs)[0]

    def read(self, inputs: CriticInputs) -> tuple[Tensor, Tensor | None]:
        """What `forward` gives, and what the expert is predicted to do.

        Returns:
            Logits ``float32[B, G]``; and ``float32[B, horizon, A]``, standardised, or None for a critic that predicts
            nothing.
        """
        shared = self._shared(inputs)
        actions = (inputs.chunks[:, :, : self.spec.horizon] - self.action_mean) / self.action_std
        first, second = inputs.pairs[..., 0], inputs.pairs[..., 1]
        about, predicted = inputs.traits, None
        logits = torch.zeros(first.shape, device=actions.device)
        if self.reference is not None and self.sharpness is not None:
            predicted = self._predicted(self.reference, inputs, shared)
            # Comparisons do not train the prediction: they would bend it to what tells the training pairs apart.
            away = (actions - predicted.detach()[:, None]).square().mean(dim=(2, 3)).sqrt()
            about = torch.cat([about, away[..., None]], dim=-1)
            logits = logits + self.sharpness * (away.gather(1, second) - away.gather(1, first))
        if self.trunk is not None:
            logits = logits + self.trunk(torch.cat([actions.flatten(2), about], dim=-1), first, second, shared)
        return logits, predicted

    def _predicted(self, reference: Reference, inputs: CriticInputs, shared: Shared) -> Tensor:
        crowded = inputs.crowded[:, :, None]
        middle = (inputs.crowd[:, 0] - self.action_mean) / self.action_std * crowded
        return reference(middle, inputs.crowd[:, 1] / self.action_std * crowded, inputs, shared)

    def _shared(self, inputs: CriticInputs) -> Shared:
        tail = (inputs.tail - self.action_mean) / self.action_std * inputs.known[..., None]
        return Shared(
            tail=torch.cat([tail.flatten(1), inputs.known], dim=-1),
            state=(inputs.state - self.state_mean) / self.state_std if self.looks and self.spec.state else None,
            context=self.context(inputs.features, inputs.masks) if self.context is not None else None,
        )


class Trunk(nn.Module):
    """Compares candidates, each known by its actions and what is said about it.

    Args:
        spec: the critic's.
        looks: whether it reads the observation.
    """

    def __init__(self, spec: CriticSpec, *, looks: bool) -> None:
        super().__init__()
        flat = spec.horizon * spec.action
        size = flat + len(TRAITS) + spec.predicts
        self.first = Stem(size, spec.width)
        self.second = Stem(size, spec.width) if spec.kind != "scalar" else None
        self.difference = Stem(size, spec.width) if spec.kind != "scalar" else None
        self.proprioception = Stem(spec.state, spec.width) if looks and spec.state else None
        self.commitment = Stem(flat + spec.horizon, spec.width)
        self.blocks = nn.ModuleList(TrunkBlock(spec) for _ in range(spec.layers))
        self.norm = nn.LayerNorm(spec.width)
        self.head = nn.Linear(spec.width, 1)

    def forward(self, candidates: Tensor, first: Tensor, second: Tensor, shared: Shared) -> Tensor:
        """``[B, C, size]`` candidates and ``int64[B, G]`` places, to logits ``float32[B, G]``."""
        repeated = [self.commitment(shared.tail)]
        if self.proprioception is not None and shared.state is not None:
            repeated.append(self.proprioception(shared.state))
        if self.second is None or self.difference is None:
            scores = self._read([self.first(candidates)], repeated, shared.context)
            return scores.gather(1, first) - scores.gather(1, second)
        # Both orders in one pass, so that their difference is antisymmetric: f(i, j) and f(j, i).
        ones, others = torch.cat([first, second], dim=1), torch.cat([second, first], dim=1)
        apart = self.difference(_rows(candidates, ones) - _rows(candidates, others))
        tokens = [_rows(self.first(candidates), ones), _rows(self.second(candidates), others), apart]
        forward, backward = self._read(tokens, repeated, shared.context).chunk(2, dim=1)
        return (forward - backward) / 2

    def _read(self, tokens: list[Tensor], shared: list[Tensor], context: Tensor | None) -> Tensor:
        """Tokens ``[B, G, width]`` each, of one comparison or candidate, to one number each: ``float32[B, G]``."""
        count = tokens[0].shape[1]
        repeated = [token[:, None].expand(-1, count, -1) for token in shared]
        hidden = torch.stack([*tokens, *repeated], dim=2)
        for block in self.blocks:
            hidden = block(hidden, context)
        return self.head(self.norm(hidden.mean(dim=2))).squeeze(-1).float()


def _rows(values: Tensor, index: Tensor) -> Tensor:
    """``values[b, index[b, g]]``: ``[B, C, W]`` and ``int64[B, G]`` to ``[B, G, W]``."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))
