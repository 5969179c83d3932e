"""What happens to numbers before and after the network, as LeRobot's processors."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from lerobot.configs import PipelineFeatureType, PolicyFeature
from lerobot.lerobot_types import EnvTransition, TransitionKey
from lerobot.processor import (
    PolicyAction,
    PolicyProcessorPipeline,
    ProcessorStep,
    ProcessorStepRegistry,
    make_default_policy_processor_steps,
    make_policy_processor_pipelines,
)
from lerobot.utils.constants import ACTION, OBS_LANGUAGE_TOKENS, OBS_STATE
from torch import Tensor

from .configuration_flow import FlowConfig
from .rotation import canonical_rotation
from .vocabulary import encode_instruction

type Statistics = dict[str, dict[str, Tensor]]
"""Statistics by feature and name, such as ``{"action": {"mean": float32[7], "std": float32[7]}}``."""


@dataclasses.dataclass
@ProcessorStepRegistry.register(name="thinktwice_flow_inputs")
class FlowInputsStep(ProcessorStep):
    """The instruction as tokens, and the state's rotation in one spelling.

    Attributes:
        vocabulary: the known words.
        max_words: tokens per instruction.
        rotation_start: where the state's axis-angle rotation begins; None when it has none.
        trained_words: the words that occurred in training, or None to accept the whole vocabulary.
    """

    vocabulary: list[str]
    max_words: int
    rotation_start: int | None
    trained_words: list[str] | None = None

    def __call__(self, transition: EnvTransition) -> EnvTransition:
        """Add the tokens and rewrite the state.

        Raises:
            UsageError: there is no instruction, or it has unknown words.
        """
        result: Any = dict(transition)
        extra = result.get(TransitionKey.COMPLEMENTARY_DATA) or {}
        tasks = extra.get("task", "")
        rows = [
            encode_instruction(task, self.vocabulary, length=self.max_words, trained=self.trained_words)
            for task in ([tasks] if isinstance(tasks, str) else tasks)
        ]
        observation = dict(result[TransitionKey.OBSERVATION])
        observation[OBS_LANGUAGE_TOKENS] = torch.tensor(rows)
        if self.rotation_start is not None and OBS_STATE in observation:
            observation[OBS_STATE] = canonical_rotation(observation[OBS_STATE], self.rotation_start)
        result[TransitionKey.OBSERVATION] = observation
        return result

    def transform_features(
        self, features: dict[PipelineFeatureType, dict[str, PolicyFeature]]
    ) -> dict[PipelineFeatureType, dict[str, PolicyFeature]]:
        """Unchanged: tokens are no feature of the data."""
        return features

    def get_config(self) -> dict[str, Any]:
        """Plain data for the checkpoint."""
        return dataclasses.asdict(self)


def floored(statistics: Statistics, floor: float) -> Statistics:
    """The statistics with the action's standard deviations not below a floor (`FlowConfig.action_floor`)."""
    action = statistics.get(ACTION, {})
    if "std" not in action:
        return statistics
    deviation = torch.as_tensor(action["std"], dtype=torch.float32).clamp(min=floor)
    return {**statistics, ACTION: {**action, "std": deviation}}


def make_thinktwice_flow_pre_post_processors(
    config: FlowConfig, dataset_stats: Statistics | None = None
) -> tuple[
    PolicyProcessorPipeline[dict[str, Any], dict[str, Any]], PolicyProcessorPipeline[PolicyAction, PolicyAction]
]:
    """LeRobot's default steps with `FlowInputsStep` before normalisation.

    Args:
        config: of the policy.
        dataset_stats: means and standard deviations of ``observation.state`` and ``action``.
    """
    statistics = floored(dataset_stats, config.action_floor) if dataset_stats else None
    steps = make_default_policy_processor_steps(config, statistics, normalizer_device=config.device)
    inputs = FlowInputsStep(
        vocabulary=list(config.vocabulary),
        max_words=config.max_words,
        rotation_start=config.rotation_start,
        trained_words=config.trained_words,
    )
    return make_policy_processor_pipelines(
        input_steps=[steps.rename_observations, steps.add_batch_dim, inputs, steps.to_device, steps.normalize],
        output_steps=[steps.unnormalize, steps.to_cpu],
    )
