"""A new critic for a pair set: its sizes and statistics, and the split of the pairs by episode."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....critics import open_critic
from ....critics.spec import CriticSpec
from ....envs import Array, derive_seed
from ....errors import UsageError
from ..expert import expert_chunk
from ..pairset import LabelledState, PairSet
from .config import CriticTrainConfig

if TYPE_CHECKING:
    from torch import Tensor

    from ....critics.network import CriticNetwork

_LEAST = 1e-3
"""The least standard deviation that a number is divided by."""


def check_learnable(pairs: PairSet, *, single_task: bool) -> None:
    """Raise `UsageError` unless a critic can be trained and validated on the pairs."""
    if len(pairs.tasks) < 2 and not single_task:
        raise UsageError(
            f"all pairs are of one task, {pairs.tasks[0]!r}: a critic could learn it by heart and would say nothing "
            "about others. Collect pairs of more tasks, or say --single-task when that one is all you want."
        )
    if len(pairs.episodes) < 2:
        raise UsageError("training needs pairs of at least two episodes, of which one is held out for validation.")


def held_out(pairs: PairSet, share: float) -> tuple[Array, Array]:
    """Split the pairs by episode, by a hash of its key: the same episodes are held out however many there are.

    Returns:
        Indices of the pairs to learn from and of those held out, ``int64`` each; neither is empty.
    """
    ordered = sorted(pairs.episodes, key=lambda key: derive_seed("held out", key))
    held = set(ordered[: min(len(ordered) - 1, max(1, round(share * len(ordered))))])
    is_held = np.array([state.episode in held for state in pairs.states])[pairs.state]
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def spec_for(config: CriticTrainConfig, pairs: PairSet) -> CriticSpec:
    """The critic's sizes.

    Raises:
        ConfigError: a size makes no sense.
        UsageError: a regression critic is asked for and no expert labelled.
    """
    stored = pairs.states[0].stored
    length, action = stored.chunks.shape[2:]
    horizon = config.horizon or length
    scale = pairs.scale()
    # Not each way was played ahead as far as the critic reads; one that was is enough to learn from.
    labelled = any(expert_chunk(state, horizon=horizon, scale=scale) is not None for state in pairs.states)
    if config.kind == "regression" and not labelled:
        raise UsageError(
            f"a regression critic learns what an expert does, and no decision of these pairs has {horizon} actions of "
            "one: collect pairs with --source expert, or read fewer actions with --horizon."
        )
    return CriticSpec(
        kind=config.kind,
        chunk=length,
        action=action,
        state=stored.state.shape[1],
        features=pairs.features(),
        horizon=horizon,
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        queries=config.queries,
        dropout=config.dropout,
        reference=labelled and config.reference_weight > 0,
    )


def start_from(network: CriticNetwork, folder: Path) -> None:
    """Take another critic's weights, and with them its statistics, which they were learned with.

    Raises:
        WeightsError: there is none.
        UsageError: it has other sizes.
    """
    other = open_critic(folder).network
    if other.spec != network.spec:
        ours, theirs = network.spec.to_json(), other.spec.to_json()
        apart = [f"{name} {theirs[name]!r} instead of {ours[name]!r}" for name in ours if ours[name] != theirs[name]]
        raise UsageError(f"the critic in {folder} cannot be started from: it has {'; '.join(apart)}.")
    network.load_state_dict(other.state_dict())


def standardise(network: CriticNetwork, states: Iterable[LabelledState], *, scale: Array) -> None:
    """Fill the network's buffers with the statistics of some decisions.

    Args:
        network: new.
        states: those to learn from.
        scale: ``float32[A]``: the spread of the actions.
    """
    import torch

    from ....critics.features import VectorStem

    seen = list(states)
    network.action_std.copy_(torch.from_numpy(scale))
    network.action_mean.copy_(_statistics([state.candidates for state in seen])[0])
    if network.spec.state:
        mean, std = _statistics([state.stored.state[state.row] for state in seen])
        network.state_mean.copy_(mean)
        network.state_std.copy_(std)
    if network.context is None:
        return
    for feature, stem in zip(network.context.features, network.context.stems, strict=True):
        if isinstance(stem, VectorStem):
            mean, std = _statistics([state.stored.features[feature.name][state.row] for state in seen])
            stem.mean.copy_(mean)
            stem.std.copy_(std)


def _statistics(values: Iterable[Array]) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the last axis' entries, in one pass over the memory-mapped values."""
    import torch

    count, total, squares = 0, np.zeros(()), np.zeros(())
    for value in values:
        rows = np.asarray(value, np.float64).reshape(-1, value.shape[-1])
        count, total, squares = count + len(rows), total + rows.sum(axis=0), squares + (rows**2).sum(axis=0)
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, _LEAST**2))
    return torch.from_numpy(mean).float(), torch.from_numpy(std).float()
