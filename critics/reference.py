"""What an expert would do here, predicted: a dense target beside the few bits of each comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .spec import CriticSpec
from .trunk import Shared, Stem, TrunkBlock

if TYPE_CHECKING:
    from .network import CriticInputs


class Reference(nn.Module):
    """Predicts the expert's chunk from the context, the proprioception, the chunk under way and the candidates' middle.

    A comparison of two candidates says one bit about what is right; the expert's own chunk says it for every entry.
    With a few thousand labelled decisions that is what limits a critic, so it learns both, on one context encoder.

    Args:
        spec: the critic's.
    """

    def __init__(self, spec: CriticSpec) -> None:
        super().__init__()
        self.spec = spec
        flat = spec.horizon * spec.action
        self.crowd = Stem(2 * flat + 1, spec.width)
        self.commitment = Stem(flat + spec.horizon, spec.width)
        self.proprioception = Stem(spec.state, spec.width) if spec.state else None
        self.blocks = nn.ModuleList(TrunkBlock(spec, gate=1.0) for _ in range(spec.layers))
        self.norm = nn.LayerNorm(spec.width)
        self.head = nn.Linear(spec.width, flat)
        # The first prediction is about the candidates' mean.
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, middle: Tensor, spread: Tensor, inputs: CriticInputs, shared: Shared) -> Tensor:
        """The prediction, standardised.

        Args:
            middle: ``float32[B, horizon, A]``: the candidates' mean, standardised; zeros where nobody says.
            spread: ``float32[B, horizon, A]``: their standard deviation in the scale's unit.
            inputs: of the critic.
            shared: what all of the critic reads.

        Returns:
            ``float32[B, horizon, A]``.
        """
        crowd = torch.cat([middle.flatten(1), spread.flatten(1), inputs.crowded], dim=-1)
        tokens = [self.crowd(crowd), self.commitment(shared.tail)]
        if self.proprioception is not None and shared.state is not None:
            tokens.append(self.proprioception(shared.state))
        hidden = torch.stack(tokens, dim=1)[:, None]
        for block in self.blocks:
            hidden = block(hidden, shared.context)
        change = self.head(self.norm(hidden[:, 0].mean(dim=1)))
        return middle + change.view_as(middle).float()
