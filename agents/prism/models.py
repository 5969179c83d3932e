"""The models that ``--llm`` and ``--vlm`` name."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import gymnasium as gym

from ...errors import ConfigError, UsageError
from ...perception.llm import CachedChat, ChatModel, Perceiver, PromptedPerceiver
from ...perception.llm.cache import CacheMode
from ...perception.scene_vlm import SceneVlmOptions
from .contract import Reasoner
from .oracle import TextOracle
from .prompted import PromptedReasoner
from .rules import RuleReasoner


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which models an agent uses and how patiently it asks them."""

    llm: str = "rules"
    """rules: the embedded reasoner; openai:MODEL: any OpenAI-compatible endpoint."""
    base_url: str | None = None
    """The endpoint of the language model, such as http://127.0.0.1:8000/v1."""
    llm_timeout: float = 60.0
    """Seconds for one try of a request."""
    llm_retries: int = 4
    """Tries of a request after the first, with growing waits."""
    llm_concurrency: int = 4
    """Requests at once from one worker."""
    llm_max_tokens: int = 384
    """The longest answer of the language model."""
    llm_extra: str = "{}"
    """Further fields of every request as JSON, such as '{"chat_template_kwargs": {"enable_thinking": false}}'."""
    llm_cache: Path | None = None
    """A folder that remembers completions, so that a run can be repeated offline."""
    llm_cache_mode: CacheMode = "use"
    """replay: ask no endpoint; what is not remembered is an error."""
    prompts: Path | None = None
    """A folder with your own versions of the prompts."""
    tries: int = 3
    """Answers to one question before the episode ends in an error."""


def chat_model(spec: str, base_url: str | None, options: ModelOptions) -> ChatModel:
    """The endpoint's model that a value such as ``"openai:qwen3"`` names, behind the cache if there is one.

    Raises:
        UsageError: the value names no model.
        ConfigError: a number of the options makes no sense.
        MissingDependency: ``openai`` is not installed.
    """
    kind, _, name = spec.partition(":")
    if kind != "openai" or not name:
        raise UsageError(
            f"{spec!r} names no model behind an endpoint. Write openai:MODEL, and where it is: --base-url."
        )
    from ...perception.llm.openai_client import Endpoint, OpenAIChat

    endpoint = Endpoint(
        model=name,
        base_url=base_url,
        timeout=options.llm_timeout,
        retries=options.llm_retries,
        concurrency=options.llm_concurrency,
        extra=_extra(options.llm_extra),
    )
    model: ChatModel = OpenAIChat(endpoint)
    return model if options.llm_cache is None else CachedChat(model, options.llm_cache, mode=options.llm_cache_mode)


def _extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--llm-extra must be a JSON object, got {text!r} ({error}).") from error
    if not isinstance(extra, dict):
        raise ConfigError(f"--llm-extra must be a JSON object, got {text!r}.")
    return cast("dict[str, Any]", extra)


def build_reasoner(options: ModelOptions, env: gym.Env[Any, Any]) -> Reasoner:
    """The reasoner that the options name, for a world.

    Raises:
        UsageError: there is no such reasoner.
    """
    if options.llm == "rules":
        from ...envs.r2r.env import R2REnv

        if isinstance(env.unwrapped, R2REnv):
            from .route import RouteReasoner

            return RouteReasoner()
        return RuleReasoner()
    model = chat_model(options.llm, options.base_url, options)
    return PromptedReasoner(model, tries=options.tries, prompts=options.prompts, max_tokens=options.llm_max_tokens)


def build_perceiver(
    vlm: str, base_url: str | None, options: ModelOptions, scene: SceneVlmOptions, env: gym.Env[Any, Any]
) -> Perceiver:
    """The perceiver that a value of ``--vlm`` names, for a world.

    Raises:
        UsageError: there is no such perceiver, or it does not know the world.
    """
    if vlm == "oracle":
        return TextOracle()
    if vlm == "scene":
        return _scene(scene, env)
    model = chat_model(vlm, base_url, options)
    return PromptedPerceiver(model, prompts=options.prompts, parallel=options.llm_concurrency)


def _scene(scene: SceneVlmOptions, env: gym.Env[Any, Any]) -> Perceiver:
    from ...envs.alfworld.env import AlfworldEnv
    from ...envs.r2r.env import R2REnv

    world = env.unwrapped
    if isinstance(world, AlfworldEnv):
        from ...perception.scene_vlm_alfworld import alfworld_scene_vlm

        return alfworld_scene_vlm(world, scene)
    if isinstance(world, R2REnv):
        from ...perception.scene_vlm_r2r import r2r_scene_vlm

        return r2r_scene_vlm(world, scene)
    raise UsageError(f"the scene VLM sees only alfworld and r2r, not {world}. Use --vlm openai:MODEL.")
