"""LESA from the command line's options."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import gymnasium as gym

from ...envs.rooms.env import RoomsEnv
from ...errors import UsageError
from ...perception import Perception
from ...perception.reasoner import Reasoner
from ...perception.reasoner_mllm import PromptedLesaReasoner
from ...perception.reasoner_rules import RuleReasoner
from ...perception.rooms_oracle import RoomsOracle
from ..agent import Agent
from ..prism.models import ModelOptions, chat_model
from .agent import LesaAgent
from .cloning import ClonedReasoner
from .settings import LesaSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class LesaOptions(ModelOptions):
    """Options of ``--agent lesa`` and ``--agent every-frame``; ``--llm`` names the reasoner."""

    perception: Literal["trained", "oracle"] = "trained"
    """trained: the bundled closed-vocabulary segmenter; oracle: the simulator's own ids, an upper bound."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NavigationOptions:
    """Options of the agents that ask no model."""

    perception: Literal["trained", "oracle"] = "trained"
    """trained: the bundled closed-vocabulary segmenter; oracle: the simulator's own ids, an upper bound."""


def rooms_of(env: gym.Env[Any, Any]) -> RoomsEnv:
    """The rooms behind any wrappers.

    Raises:
        UsageError: this is another world.
    """
    base = env.unwrapped
    if not isinstance(base, RoomsEnv):
        raise UsageError(f"this agent explores the world 'rooms'; it cannot act in {base}.")
    return base


def build_perception(name: str, env: RoomsEnv) -> Perception:
    """The perception that an option names."""
    if name == "oracle":
        return RoomsOracle(env)
    from ...perception.rooms_trained import RoomsSegmenter

    return RoomsSegmenter.bundled()


def build_reasoner(options: LesaOptions) -> Reasoner:
    """The reasoner that the options name: tables by default, or a multimodal model behind an endpoint."""
    if options.llm == "rules":
        return RuleReasoner()
    return PromptedLesaReasoner(chat_model(options.llm, options.base_url, options), tries=options.tries)


def build_lesa(options: LesaOptions, env: gym.Env[Any, Any]) -> Agent:
    """The sparse agent."""
    return _build(options, env, LesaSettings())


def build_every_frame(options: LesaOptions, env: gym.Env[Any, Any]) -> Agent:
    """The same agent, calling the reasoner at every frame: the cost that LESA saves."""
    return _build(options, env, LesaSettings(every_frame=True))


def build_cloned(options: NavigationOptions, env: gym.Env[Any, Any]) -> Agent:
    """The same agent with a cloned choice of frontiers and no model at all."""
    rooms = rooms_of(env)
    # Every choice is the clone's: it costs nothing, so there is no reason to ask it sparsely.
    settings = LesaSettings(margin=float("inf"), rank_calls=10**9, verify_calls=10**9)
    perception = build_perception(options.perception, rooms)
    return LesaAgent(perception, ClonedReasoner.bundled(), settings=settings, port=rooms.submit_mask)


def _build(options: LesaOptions, env: gym.Env[Any, Any], settings: LesaSettings) -> Agent:
    rooms = rooms_of(env)
    perception = build_perception(options.perception, rooms)
    return LesaAgent(perception, build_reasoner(options), settings=settings, port=rooms.submit_mask)
