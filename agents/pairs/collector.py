"""An agent that plays by reflex, or by a critic's choice, and has the candidates of its decisions labelled.

It runs in the ordinary runner, so collecting is parallel, supervised and resumable, and what it finds out lies in the
traces: the candidates, and in the notes everything under `PREFIX`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np

from ...critics import Critic, CriticContext, LearnedCritic, load_critic
from ...critics.spec import MASK
from ...envs import Array, DeclaresConventions, Observation, check_compatible, derive_seed
from ...envs.observations import IMAGES
from ...errors import ConfigError, ContractError, UsageError
from ..agent import Agent, Decision
from ..catalog import POLICIES, build_policy
from ..policy import Policy, Proposal
from .again import RecordedEpisodes, recorded_moment
from .contract import Evidence, LabelSource, Moment
from .simulation import Simulation
from .sources import SourceOptions, build_source
from .states import StoredStates

PREFIX = "pairs."
FEATURE, EXTRA, FACT = f"{PREFIX}feature.", f"{PREFIX}extra.", f"{PREFIX}fact."
COMMITTED, PHASE = f"{PREFIX}committed", f"{PREFIX}phase"
"""The notes of a labelled decision: the policy's features, the source's further chunks and facts, the committed tail
``float32[K, A]`` (left out at the first decision), and what the task's expert would be doing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectorOptions(SourceOptions):
    """Options of ``--agent pairs``."""

    policy: str | None = None
    """Whose candidates are labelled: bundled, bundled:FOLDER, lerobot:PATH_OR_HUB_ID, …"""
    candidates: int = 8
    """Candidates at each decision."""
    execute: int = 8
    """Actions to execute of each chunk before the next look."""
    share: float = 1.0
    """Share of the decisions that are labelled."""
    critic: str = ""
    """A critic's folder: its favourite candidate is executed, so that the labels come from its own rollouts; the
    policy's first candidate when empty."""
    again: Path | None = None
    """An earlier pair set of --source expert: its episodes are played again, action by action, and its expert's chunks
    label this policy's candidates. Give the same --tasks, --episodes, --seed and --execute."""


class Collector:
    """Plays, and notes what a label source finds out.

    Args:
        policy: proposes.
        source: labels.
        critic: chooses what is executed; None for the first candidate.
        simulation: tells the phase of the task.
        options: how many candidates, and how often they are labelled.
        recorded: what is played again, instead of choosing and labelling; None otherwise.

    Raises:
        ConfigError: a number makes no sense.
    """

    def __init__(
        self,
        policy: Policy,
        source: LabelSource,
        critic: Critic | None,
        simulation: Simulation,
        options: CollectorOptions,
        *,
        recorded: RecordedEpisodes | None = None,
    ) -> None:
        if options.candidates < 2:
            raise ConfigError(f"pairs need at least 2 candidates, got {options.candidates}.")
        if options.execute < 1:
            raise ConfigError(f"execute must be at least 1, got {options.execute}.")
        if not 0.0 < options.share <= 1.0:
            raise ConfigError(f"share must be more than 0 and at most 1, got {options.share}.")
        self._policy, self._source, self._critic, self._simulation = policy, source, critic, simulation
        self._options, self._recorded = options, recorded
        self._episode: StoredStates | None = None
        self._seed, self._index = 0, 0
        self._committed: Array | None = None

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._index, self._committed, self._episode = seed, 0, None, None

    def act(self, observation: Observation) -> Decision:
        """Propose, have it labelled, and choose.  Labels never change what is executed."""
        seed, options = derive_seed(self._seed, self._index), self._options
        proposal = self._policy.propose(observation, options.candidates, seed=seed)
        chunks = np.asarray(proposal.chunks, np.float32)
        if chunks.ndim != 3:
            raise ContractError(f"pairs need chunks of vectors, float32[N, T, A]; {self._policy.name} proposes others.")
        proposal = dataclasses.replace(proposal, chunks=chunks)
        if self._recorded is not None:
            return self._play_again(observation, proposal, self._recorded)
        notes: Mapping[str, Any] = {}
        if np.random.default_rng(derive_seed(seed, "labelled")).random() < options.share:
            notes = self._label(observation, proposal, seed)
        chosen, preferences = self._choose(observation, proposal)
        chunk = chunks[chosen]
        self._committed, self._index = chunk[options.execute :], self._index + 1
        return Decision(
            chunk=chunk[: options.execute],
            why="the critic's favourite" if self._critic else "reflex",
            mode="deliberate" if self._critic else "reflex",
            candidates=list(chunks),
            chosen=chosen,
            preferences=preferences,
            cost=proposal.cost,
            notes=notes,
        )

    def describe(self) -> dict[str, Any]:
        """Policy, source, critic and options."""
        critic = self._critic.describe() if isinstance(self._critic, LearnedCritic) else None
        return {
            "agent": "pairs",
            "policy": self._policy.describe(),
            "source": self._source.describe(),
            "critic": critic,
            "candidates": self._options.candidates,
            "execute": self._options.execute,
            "share": self._options.share,
            "again": None if self._options.again is None else self._options.again.name,
        }

    def _play_again(self, observation: Observation, proposal: Proposal, recorded: RecordedEpisodes) -> Decision:
        if self._episode is None:
            self._episode = recorded.find(self._seed)
        then = recorded_moment(self._episode, self._index, observation)
        self._index += 1
        return Decision(
            chunk=then.executed[: self._options.execute],
            why="as recorded",
            candidates=list(proposal.chunks),
            cost=proposal.cost,
            notes=_notes(observation, proposal, Evidence(facts=then.facts), committed=then.committed, phase=then.phase),
        )

    def _label(self, observation: Observation, proposal: Proposal, seed: int) -> dict[str, Any]:
        moment = Moment(
            observation=observation,
            proposal=proposal,
            committed=self._committed,
            execute=self._options.execute,
            seed=seed,
        )
        evidence = self._source.evidence(moment)
        return _notes(observation, proposal, evidence, committed=self._committed, phase=self._simulation.phase())

    def _choose(self, observation: Observation, proposal: Proposal) -> tuple[int, Array | None]:
        if self._critic is None:
            return 0, None
        chunks = list(np.asarray(proposal.chunks))
        context = CriticContext(features=proposal.features, candidates=chunks, committed=self._committed)
        pairs = [(first, second) for first in chunks for second in chunks]
        preferences = self._critic.prefer(observation, pairs, context).reshape(len(chunks), len(chunks))
        return int(preferences.sum(axis=1).argmax()), preferences


def _notes(
    observation: Observation, proposal: Proposal, evidence: Evidence, *, committed: Array | None, phase: str | None
) -> dict[str, Any]:
    """A labelled decision in the trace."""
    notes: dict[str, Any] = {FEATURE + name: value for name, value in readable(observation, proposal).items()}
    notes |= {EXTRA + role: chunks for role, chunks in evidence.extra.items()}
    notes |= {FACT + name: value for name, value in evidence.facts.items()}
    if committed is not None and len(committed):
        notes[COMMITTED] = committed
    return notes if phase is None else notes | {PHASE: phase}


def readable(observation: Observation, proposal: Proposal) -> dict[str, Array]:
    """What a critic can attend to: the policy's own features, or the images where it exposes none."""
    features = {name: np.asarray(value) for name, value in proposal.features.items()}
    if any(not name.endswith(MASK) for name in features):
        return features
    return {name: np.asarray(value) for name, value in observation.items() if name.startswith(IMAGES)}


def build_collector(options: CollectorOptions, env: gym.Env[Any, Any]) -> Agent:
    """The agent that the options name.

    Raises:
        UsageError: no policy is named, or the world or the policy does not allow the source.
        ConventionError: the policy was trained with other conventions than the world's.
        ConfigError: an option has an impossible value.
        WeightsError: the critic cannot be loaded or belongs to another policy.
    """
    if options.policy is None:
        raise UsageError(f"pairs are of a policy's candidates: --policy NAME, one of {', '.join(POLICIES)}.")
    if options.again is not None and (options.source != "expert" or options.critic):
        raise UsageError("--again plays what was recorded, with --source expert's labels and without --critic.")
    policy = build_policy(options.policy, env)
    world = cast("DeclaresConventions", env.unwrapped)
    check_compatible(world.conventions, policy.conventions, world_name=str(env.unwrapped), policy_name=policy.name)
    critic = load_critic(options.critic, policy.describe().get("sha256")) if options.critic else None
    recorded = None if options.again is None else RecordedEpisodes(options.again)
    return Collector(policy, build_source(options, policy, env), critic, Simulation(env), options, recorded=recorded)
