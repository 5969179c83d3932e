"""A fake policy, gate and agent for the fake world.  They exist for tests and are good at nothing else."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from pathlib import Path
from typing import Any, Literal, cast

import gymnasium as gym
import numpy as np

from ..cost import Cost, Stopwatch
from ..envs import Array, Conventions, Dim, Observation, derive_seed
from ..envs.fakes import REACH, FakeEnv, goal_of
from ..errors import ConfigError, ContractError, require
from .agent import Agent, Decision
from .policies.arguments import split_argument
from .policy import Proposal

CHUNK = 4
"""Actions in a fake chunk."""
NOISE = 3.0
"""Standard deviation of an action without any skill, in the action's own unit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyFault:
    """How a fake policy breaks.

    Attributes:
        kind: kill its own process (signal 9), raise what no policy raises on purpose, or never come back.
        at: at which proposal, from 1.
        once: a file that is made when it happens; while it is there, nothing happens.
    """

    kind: Literal["kill", "raise", "hang"]
    at: int = 1
    once: Path | None = None

    def happen(self) -> None:
        """Break, unless that was to happen once and has."""
        if self.once is not None:
            if self.once.exists():
                return
            self.once.touch()
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "raise":
            raise RuntimeError("the fake policy was told to raise here")
        time.sleep(86_400.0)


class FakePolicy:
    """Heads for the goal with noise that shrinks as skill grows; reads the fake world's ``state``.

    Args:
        skill: 0 for noise alone, 1 for a straight line.
        conventions: what it claims to be trained with.
        fault: what happens when it is asked for the n-th time; None for nothing.

    Raises:
        ConfigError: the skill is outside [0, 1].
    """

    def __init__(self, skill: float, conventions: Conventions | None, fault: PolicyFault | None = None) -> None:
        if not 0.0 <= skill <= 1.0:
            raise ConfigError(f"the fake policy's skill must be from 0 to 1, got {skill}.")
        self.name = f"fake:{skill:g}"
        self.conventions = conventions
        self._skill, self._fault, self._asked = skill, fault, 0

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """``float32[n, 4, 2]``: each candidate has its own noise.

        Raises:
            ContractError: ``n`` is less than 1.
        """
        if n < 1:
            raise ContractError(f"a proposal needs at least 1 candidate, got n={n}.")
        self._asked += 1
        if self._fault is not None and self._asked == self._fault.at:
            self._fault.happen()
        watch = Stopwatch()
        with watch("sample"):
            point, goal = goal_of(observation)
            straight = (goal - point) / (REACH * CHUNK)
            straight = straight / max(1.0, float(np.linalg.norm(straight)))
            noises = [np.random.default_rng(derive_seed(seed, index)).normal(size=(CHUNK, 2)) for index in range(n)]
            chunks = self._skill * straight + (1 - self._skill) * NOISE * np.stack(noises)
        cost = Cost(prefix_passes=1, candidates=n, seconds=watch.seconds)
        return Proposal(chunks=chunks.astype(np.float32), cost=cost)

    def describe(self) -> dict[str, Any]:
        """Its name and skill."""
        return {"policy": "fake", "skill": self._skill}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeAgentOptions:
    """Options of the fake agent, which exists for tests."""

    skill: float = 0.5
    """Of the fake policy, from 0 to 1."""
    candidates: int = 3
    """Chunks to choose from when it deliberates."""
    every: int = 2
    """It deliberates at every so many decisions."""


class FakeAgent:
    """Deliberates at every few decisions: of some candidates it takes the one that would end nearest to the goal.

    Args:
        policy: proposes.
        options: when and among how many.
    """

    def __init__(self, policy: FakePolicy, options: FakeAgentOptions) -> None:
        self._policy = policy
        self._options = options
        self._seed, self._index = 0, 0

    def reset(self, *, seed: int) -> None:
        """Begin an episode."""
        self._seed, self._index = seed, 0

    def act(self, observation: Observation) -> Decision:
        """A reflex, or the best of the candidates, with everything that a trace can hold."""
        index, self._index = self._index, self._index + 1
        deliberate = index % self._options.every == self._options.every - 1
        count = self._options.candidates if deliberate else 1
        proposal = self._policy.propose(observation, count, seed=derive_seed(self._seed, index))
        chunks = np.asarray(proposal.chunks)
        point, goal = goal_of(observation)
        away = np.linalg.norm(point + REACH * np.clip(chunks, -1, 1).sum(axis=1) - goal, axis=1)
        if not deliberate:
            return Decision(chunk=chunks[0], why="the fake reflex", doubt=float(away[0]), cost=proposal.cost)
        chosen = int(away.argmin())
        return Decision(
            chunk=chunks[chosen],
            mode="deliberate",
            why=f"candidate {chosen} ends nearest to the goal",
            doubt=float(away[0]),
            candidates=list(chunks),
            chosen=chosen,
            preferences=_preferences(away),
            cost=proposal.cost + Cost(comparisons=count * (count - 1)),
            notes={"away": away.astype(np.float32), "asked": {"goal": goal.tolist()}},
        )

    def describe(self) -> dict[str, Any]:
        """Its policy and options."""
        return {"agent": "fake", "policy": self._policy.describe(), **dataclasses.asdict(self._options)}


class FakeGate:
    """Doubts as much as the first two candidates differ on average, and opens above a level.

    Args:
        level: in the action's own unit.
    """

    candidates_needed = 2

    def __init__(self, level: float = 0.5) -> None:
        self._level = level

    def doubt(self, observation: Observation, proposal: Proposal) -> float:
        """The mean absolute difference of the first two candidates."""
        del observation
        require(len(proposal.chunks) >= 2, f"the gate compares two candidates; the proposal has {len(proposal.chunks)}")
        return float(np.abs(np.asarray(proposal.chunks[0]) - np.asarray(proposal.chunks[1])).mean())

    def opens(self, doubt: float) -> bool:
        """Whether the doubt is above the level."""
        return doubt > self._level


def build_fake_policy(argument: str, env: gym.Env[Any, Any]) -> FakePolicy:
    """``fake``, ``fake:SKILL``, or ``fake:foreign``, which claims conventions that no world has.

    ``fake:SKILL?kill=3&once=FILE`` kills its process at its third proposal if there is no such file yet; ``raise`` and
    ``hang`` likewise.

    Raises:
        ConfigError: the argument is none of these, or the world is not the fake one.
    """
    return _fake_policy(argument, _fake_world(env).conventions)


def check_fake_policy(argument: str) -> None:
    """Raise `ConfigError` unless `build_fake_policy` understands the argument."""
    _fake_policy(argument, None)


def _fake_policy(argument: str, conventions: Conventions | None) -> FakePolicy:
    target, options = split_argument("fake", argument, ("kill", "raise", "hang", "once"))
    if target == "foreign":
        wheel = Dim(name="wheel", size=1, unit="rad", frame="joint", representation="absolute")
        return FakePolicy(0.5, Conventions(action=(wheel,)))
    once = Path(options.pop("once")) if "once" in options else None
    try:
        faults = [PolicyFault(kind=cast("Any", kind), at=int(at), once=once) for kind, at in options.items()]
        return FakePolicy(float(target or 0.5), conventions, *faults)
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"fake:{argument} is no fake policy. Use fake, fake:SKILL, fake:SKILL?kill=N or fake:foreign."
        ) from error


def build_fake_agent(options: FakeAgentOptions, env: gym.Env[Any, Any]) -> Agent:
    """The fake agent.

    Raises:
        ConfigError: an option makes no sense, or the world is not the fake one.
    """
    if options.candidates < 1 or options.every < 1:
        raise ConfigError(f"candidates and every must be at least 1, got {options.candidates} and {options.every}.")
    return FakeAgent(FakePolicy(options.skill, _fake_world(env).conventions), options)


def _fake_world(env: gym.Env[Any, Any]) -> FakeEnv:
    world = env.unwrapped
    if not isinstance(world, FakeEnv):
        raise ConfigError(f"the fakes act in the fake world alone, not in {world}. Choose another policy.")
    return world


def _preferences(away: Array) -> Array:
    """``float32[N, N]``: a logistic of how much nearer i ends than j."""
    return (1.0 / (1.0 + np.exp(10.0 * (away[:, None] - away[None, :])))).astype(np.float32)
