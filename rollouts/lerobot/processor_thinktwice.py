"""What happens to numbers before and after the agent: nothing, for it takes and gives the world's own units."""

from __future__ import annotations

from typing import Any

from lerobot.processor import PolicyAction, PolicyProcessorPipeline, make_policy_processor_pipelines

from .configuration_thinktwice import ThinktwiceConfig


def make_thinktwice_pre_post_processors(
    config: ThinktwiceConfig,  # noqa: ARG001  LeRobot's factory passes it
    dataset_stats: Any = None,  # noqa: ARG001  LeRobot's factory passes them
) -> tuple[
    PolicyProcessorPipeline[dict[str, Any], dict[str, Any]], PolicyProcessorPipeline[PolicyAction, PolicyAction]
]:
    """Two empty pipelines."""
    return make_policy_processor_pipelines(input_steps=[], output_steps=[])
