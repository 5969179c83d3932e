"""From pair sets to what the network reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....critics.inputs import Candidates, crowd, padded_tail, traits
from ....critics.spec import MASK, CriticSpec
from ....envs import Array
from ..expert import expert_chunk
from ..pairset import PairSet

if TYPE_CHECKING:
    from torch import Tensor

    from ....critics.network import CriticInputs


class Batches:
    """Inputs of any decisions of a pair set.

    Args:
        pairs: the pair set.
        spec: the critic's.
        scale: ``float32[A]``: the unit of the traits' distances.
        device: torch device of the inputs.
    """

    def __init__(self, pairs: PairSet, spec: CriticSpec, *, scale: Array, device: str) -> None:
        self.pairs = pairs
        self._spec, self._scale, self._device = spec, scale, device
        self._read = [self._prepared(index) for index in range(len(pairs.states))]
        self._expert = [expert_chunk(state, horizon=spec.horizon, scale=scale) for state in pairs.states]

    def of_pairs(self, indices: Array) -> CriticInputs:
        """One comparison per entry, the better chunk first: ``int64[B]`` indices of pairs."""
        chosen = np.stack([self.pairs.better[indices], self.pairs.worse[indices]], axis=1)
        compared = np.broadcast_to(np.array([[0, 1]]), (len(indices), 1, 2))
        return self._inputs(self.pairs.state[indices], chosen, compared)

    def of_states(self, indices: Array, *, count: int) -> CriticInputs:
        """All ordered comparisons among the first ``count`` chunks of some decisions: ``int64[B]`` indices."""
        every = np.stack(np.meshgrid(np.arange(count), np.arange(count), indexing="ij"), axis=-1).reshape(1, -1, 2)
        chosen = np.broadcast_to(np.arange(count), (len(indices), count))
        return self._inputs(indices, chosen, np.broadcast_to(every, (len(indices), *every.shape[1:])))

    def references(self, indices: Array) -> tuple[Tensor, Tensor]:
        """What the expert would have done at the decisions of some pairs.

        Returns:
            ``float32[B, horizon, A]`` in the world's units, and ``float32[B]``: 1 where the labels came from an expert.
        """
        import torch

        spec = self._spec
        chunks = np.zeros((len(indices), spec.horizon, spec.action), np.float32)
        known = np.zeros(len(indices), np.float32)
        for place, state in enumerate(self.pairs.state[indices]):
            chunk = self._expert[state]
            if chunk is not None:
                chunks[place], known[place] = chunk, 1.0
        return torch.from_numpy(chunks).to(self._device), torch.from_numpy(known).to(self._device)

    def _prepared(self, index: int) -> tuple[Array, ...]:
        """Chunks, traits, the crowd and whether there is one, tail and where it is known, of one decision."""
        state, spec = self.pairs.states[index], self._spec
        chunks, tail = state.stored.compared(state.row), state.stored.tail(state.row)
        among = Candidates(chunks=state.candidates, committed=tail)
        padded, known = padded_tail(tail, length=spec.horizon, action=spec.action)
        middle, crowded = crowd(among, length=spec.horizon, action=spec.action)
        placed = traits(chunks, among, horizon=spec.horizon, scale=self._scale)
        return chunks, placed, middle, crowded, padded, known

    def _inputs(self, states: Array, chosen: Array, compared: Array) -> CriticInputs:
        import torch

        from ....critics.network import CriticInputs

        rows = [self._read[state] for state in states]
        picked = list(zip(rows, chosen, strict=True))
        found = [self.pairs.states[state] for state in states]
        features: list[Tensor] = []
        masks: list[Tensor | None] = []

        def tensor(values: Any) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

        for feature in self._spec.attends:
            features.append(tensor(np.stack([state.stored.features[feature.name][state.row] for state in found])))
            name = feature.name + MASK
            counted = [state.stored.features[name][state.row] for state in found] if feature.masked else None
            masks.append(None if counted is None else tensor(np.stack(counted)))
        return CriticInputs(
            chunks=tensor(np.stack([row[0][which] for row, which in picked])),
            traits=tensor(np.stack([row[1][which] for row, which in picked])),
            crowd=tensor(np.stack([row[2] for row in rows])),
            crowded=tensor(np.stack([row[3] for row in rows])),
            tail=tensor(np.stack([row[4] for row in rows])),
            known=tensor(np.stack([row[5] for row in rows])),
            state=tensor(np.stack([state.stored.state[state.row] for state in found])),
            features=features,
            masks=masks,
            pairs=tensor(compared.astype(np.int64)),
        )
