"""``--agent prism`` and its options."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium as gym

from ...perception.scene_vlm import SceneVlmOptions
from ..agent import Agent
from .agent import Ablation, Bounds, PrismAgent
from .models import ModelOptions, build_perceiver, build_reasoner


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrismOptions(ModelOptions):
    """Options of ``--agent prism``."""

    vlm: str = "scene"
    """scene: the embedded stand-in that sees the rendered image; openai:MODEL; oracle: the world's own text."""
    vlm_base_url: str | None = None
    """The endpoint of the vision-language model; --base-url when not given."""
    ablation: Ablation = "full"
    """passive: no questions; fixed: the same questions always; oracle: the world's own text instead of an image."""
    rounds: int = Bounds.rounds
    """Rounds of questions per decision."""
    questions: int = Bounds.questions
    """Questions per round."""
    window: int = Bounds.window
    """Past decisions that the language model is shown."""
    miss: float = SceneVlmOptions.miss
    """Of --vlm scene: the probability that a description leaves out a small thing."""
    hallucinate: float = SceneVlmOptions.hallucinate
    """Of --vlm scene: the probability that it claims something that is not there."""


def build_prism(options: PrismOptions, env: gym.Env[Any, Any]) -> Agent:
    """The agent that the options name.

    Raises:
        UsageError: a model that does not exist, or the scene VLM in a world that it does not see.
        ConfigError: a number that makes no sense.
        MissingDependency: a package that the models need is missing.
    """
    scene = SceneVlmOptions(miss=options.miss, hallucinate=options.hallucinate)
    bounds = Bounds(rounds=options.rounds, questions=options.questions, window=options.window)
    vlm = "oracle" if options.ablation == "oracle" else options.vlm
    perceiver = build_perceiver(vlm, options.vlm_base_url or options.base_url, options, scene, env)
    return PrismAgent(build_reasoner(options, env), perceiver, ablation=options.ablation, bounds=bounds)
