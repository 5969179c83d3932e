"""The label sources by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from ...errors import UsageError
from ..catalog import build_policy
from ..policy import Policy
from .branch import BranchOptions, BranchSource, judge_by_outcome
from .contract import Judge, LabelSource, SourceName
from .expert import ExpertOptions, ExpertSource, judge_by_expert
from .simulation import Simulation
from .steps import StepsOptions, StepsSource, judge_steps


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceOptions(StepsOptions, ExpertOptions, BranchOptions):
    """The options of all label sources."""

    source: SourceName = "expert"
    """steps: the paper's, many Euler steps above few; expert: near a stateless expert above far from it;
    branch: what happens in the simulator after each candidate."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judging:
    """How a source's facts become labels.

    Attributes:
        judge: facts to utilities.
        tie: utilities that differ by no more are a tie.
        between_roles: only chunks of different roles are compared.
    """

    judge: Judge
    tie: float
    between_roles: bool = False


JUDGING: Mapping[SourceName, Judging] = {
    # Root mean squares in standard deviations: what the arm's own lag hides is no difference.
    "expert": Judging(judge=judge_by_expert, tie=0.05),
    # The fiftieth part of the horizon.
    "branch": Judging(judge=judge_by_outcome, tie=0.02),
    "steps": Judging(judge=judge_steps, tie=0.0, between_roles=True),
}


def build_source(options: SourceOptions, policy: Policy, env: gym.Env[Any, Any]) -> LabelSource:
    """The label source that the options name.

    Args:
        options: which, and how.
        policy: whose candidates are labelled.
        env: the world in which it plays.

    Raises:
        UsageError: the world or the policy does not allow this source.
        ConfigError: an option has an impossible value.
    """
    simulation = Simulation(env)
    if options.source == "steps":
        return StepsSource(policy, simulation, options)
    if options.source == "branch":
        continuation = build_policy(options.continuation, env) if options.continuation else policy
        return BranchSource(simulation, continuation, options)
    if options.expert == "expert":
        if not simulation.knows_expert:
            raise UsageError(
                f"the library's stateless expert is LIBERO's; {env.unwrapped} has none. Name a policy that acts by the "
                "present state alone with --expert, or use --source branch."
            )
        return ExpertSource(simulation, None, options)
    return ExpertSource(simulation, build_policy(options.expert, env), options)
