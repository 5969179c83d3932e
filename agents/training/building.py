"""A new policy for some demonstrations: its features, conventions and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.policies.factory import make_pre_post_processors

from ...envs import Conventions
from ...envs.conventions import entries
from ..policies.flow.configuration_flow import FlowConfig
from ..policies.flow.modeling_flow import FlowPolicy
from ..policies.flow.processor_flow import FlowInputsStep
from ..policies.flow.rotation import canonical_rotation
from ..policies.flow.vocabulary import LIBERO_WORDS, words_of
from ..policies.lerobot_checkpoint import Checkpoint
from .config import TrainConfig
from .demonstrations import Demonstration
from .devices import device_for

_LEAST = 1e-3
"""The least standard deviation that a state's entry is divided by: a millimetre."""


def build_policy(config: TrainConfig, demonstrations: Sequence[Demonstration]) -> FlowPolicy:
    """A policy with random weights, with the demonstrations' features and words.

    Raises:
        ConfigError: the device is not there.
    """
    demonstration = demonstrations[0]
    words = trained_words(demonstrations)
    images = {
        f"observation.images.{name}": PolicyFeature(FeatureType.VISUAL, (3, *frames.shape[1:3]))
        for name, frames in demonstration.images.items()
    }
    state = {"observation.state": PolicyFeature(FeatureType.STATE, demonstration.state.shape[1:])}
    return FlowPolicy(
        FlowConfig(
            device=device_for(config.device),
            input_features={**images, **state},
            output_features={"action": PolicyFeature(FeatureType.ACTION, demonstration.label.shape[1:])},
            conventions=demonstration.conventions.to_json(),
            vocabulary=sorted({*LIBERO_WORDS, *words}),
            trained_words=words,
            rotation_start=_rotation_start(demonstration.conventions),
            chunk_size=config.chunk_size,
            n_action_steps=max(1, config.chunk_size // 2),
            noise_samples=config.noise_samples,
            keyframe_weight=config.keyframe_weight,
            channels=config.channels,
            blocks=config.blocks,
            keypoints=config.keypoints,
            head_width=config.head_width,
            head_blocks=config.head_blocks,
            push_to_hub=False,
        )
    )


def trained_words(demonstrations: Sequence[Demonstration]) -> list[str]:
    """Every word of the demonstrations' instructions, sorted."""
    return sorted({word for instruction in {d.instruction for d in demonstrations} for word in words_of(instruction)})


def pipelines(config: FlowConfig, demonstrations: Sequence[Demonstration]) -> tuple[Any, Any]:
    """The policy's processors with the demonstrations' statistics."""
    return make_pre_post_processors(config, dataset_stats=statistics(config, demonstrations))


def learn_words(checkpoint: Checkpoint, demonstrations: Sequence[Demonstration]) -> None:
    """Let a loaded policy accept the words of more demonstrations, as far as its vocabulary has them."""
    config: FlowConfig = checkpoint.policy.config
    config.trained_words = sorted({*(config.trained_words or ()), *trained_words(demonstrations)})
    for step in checkpoint.preprocessor.steps:
        if isinstance(step, FlowInputsStep):
            step.trained_words = config.trained_words


def statistics(config: FlowConfig, demonstrations: Sequence[Demonstration]) -> dict[str, dict[str, torch.Tensor]]:
    """Mean and standard deviation of every entry of states and labels, as the pre-processor will see them."""
    states = torch.from_numpy(np.concatenate([demonstration.state for demonstration in demonstrations]))
    if config.rotation_start is not None:
        states = canonical_rotation(states, config.rotation_start)
    labels = torch.from_numpy(np.concatenate([demonstration.label for demonstration in demonstrations]))
    return {
        "observation.state": {"mean": states.mean(0), "std": states.std(0).clamp(min=_LEAST)},
        "action": {"mean": labels.mean(0), "std": labels.std(0)},
    }


def _rotation_start(conventions: Conventions) -> int | None:
    """Where the state's axis-angle rotation begins."""
    place = entries(conventions.state, representation="axis_angle")
    return None if place is None else place.start
