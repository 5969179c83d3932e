"""The agents and policies by the names that the command line uses."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from typing import Any, cast

import gymnasium as gym

from ..errors import UsageError, choices
from .agent import Agent
from .policy import Policy, Trained


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgentEntry:
    """Where an agent lives.

    Attributes:
        module: the module, relative to this package, that holds both names below.
        options: the dataclass of its command-line options.
        build: the function ``(options, env) -> Agent``, called in the process that plays the episodes.
        summary: one line for the help.
    """

    module: str
    options: str
    build: str
    summary: str

    def load(self) -> tuple[type[Any], Callable[[Any, gym.Env[Any, Any]], Agent]]:
        """The options' class and the function that builds the agent; imports its module."""
        module = importlib.import_module(self.module, __package__)
        build = cast("Callable[[Any, gym.Env[Any, Any]], Agent]", getattr(module, self.build))
        return getattr(module, self.options), build


AGENTS: Mapping[str, AgentEntry] = {
    "reflex": AgentEntry(
        module=".reflex", options="ReflexOptions", build="build_reflex", summary="execute what the policy proposes"
    ),
    "attc": AgentEntry(
        module=".attc.build",
        options="AttcOptions",
        build="build_attc",
        summary="VLA-ATTC: the policy's reflex, a clutch that measures doubt, and a choice among N where it opens",
    ),
    "pairs": AgentEntry(
        module=".pairs.collector",
        options="CollectorOptions",
        build="build_collector",
        summary="a policy whose candidates are labelled on the way, for training critics",
    ),
    "demonstrator": AgentEntry(
        module=".demonstrator",
        options="DemonstratorOptions",
        build="build_demonstrator",
        summary="an expert that is disturbed on purpose, for recording demonstrations",
    ),
    "prism": AgentEntry(
        module=".prism.build",
        options="PrismOptions",
        build="build_prism",
        summary="a language model that decides and a vision-language model that perceives, coupled by questions",
    ),
    "react": AgentEntry(
        module=".text.react",
        options="ReactOptions",
        build="build_react",
        summary="ReAct on the world's text: a thought and an action per step",
    ),
    "lesa": AgentEntry(
        module=".lesa.build",
        options="LesaOptions",
        build="build_lesa",
        summary="rooms: maps and tracks by reflex, remembers in layers, asks the large model only when it pays",
    ),
    "every-frame": AgentEntry(
        module=".lesa.build",
        options="LesaOptions",
        build="build_every_frame",
        summary="rooms: LESA that asks the large model at every frame, the cost it is compared with",
    ),
    "cloned": AgentEntry(
        module=".lesa.build",
        options="NavigationOptions",
        build="build_cloned",
        summary="rooms: LESA whose choice of frontiers was cloned from the RVAS data set; asks no model",
    ),
    "frontier": AgentEntry(
        module=".navigation.baselines",
        options="NavigationOptions",
        build="build_frontier",
        summary="rooms: always to the nearest frontier, up to the first thing that fits",
    ),
    "random": AgentEntry(
        module=".navigation.baselines",
        options="NavigationOptions",
        build="build_random_walk",
        summary="rooms: a random walk, up to the first thing that fits",
    ),
    "oracle-path": AgentEntry(
        module=".navigation.oracle_path",
        options="OracleOptions",
        build="build_oracle_path",
        summary="rooms: privileged, the shortest path of one who knows",
    ),
    "fake": AgentEntry(
        module=".fakes", options="FakeAgentOptions", build="build_fake_agent", summary="a fake for tests"
    ),
}


def agent_entry(name: str) -> AgentEntry:
    """The entry of an agent.

    Raises:
        UsageError: no agent has this name.
    """
    if name not in AGENTS:
        raise UsageError(f"there is no agent {name!r}. {choices(name, AGENTS)}")
    return AGENTS[name]


POLICIES: Mapping[str, tuple[str, str, str]] = {
    "random": (".policies.simple", "build_random", "actions drawn from the action space"),
    "hold": (".policies.simple", "build_hold", "the world's own action that changes nothing"),
    "expert": (
        ".policies.expert",
        "build_expert",
        "a privileged scripted expert: reads the simulator, not the cameras",
    ),
    "ros-expert": (
        ".policies.ros_expert",
        "build_ros_expert",
        "ros-expert:TASK, the privileged expert for a LIBERO scene behind a bridge",
    ),
    "wave": (".policies.wave", "build_wave", "circles with the end effector, to try an arm over ROS"),
    "bundled": (
        ".policies.bundled",
        "build_bundled",
        "the flow-matching policy of the repository, or bundled:FOLDER?steps=N for another checkpoint of its kind",
    ),
    "lerobot": (".policies.lerobot", "build_lerobot", "lerobot:PATH_OR_HUB_ID, any LeRobot policy checkpoint"),
    "openpi": (
        ".policies.openpi",
        "build_openpi",
        "openpi:ws://HOST:PORT, a policy server: thinktwice serve, or openpi's own with ?keys=openpi-libero",
    ),
    "planner": (".text.policies", "build_planner", "privileged: the world's own plan (alfworld, r2r)"),
    "admissible": (".text.policies", "build_admissible", "drawn from the actions that a text world accepts now"),
    "fake": (".fakes", "build_fake_policy", "a fake for tests, in the fake world alone"),
}
"""Name, then module, builder ``(argument, env) -> Policy`` and one line for the help.

``name:argument`` is split at the first colon."""


SHAREABLE: Mapping[str, str | None] = {"bundled": "batch", "lerobot": None, "fake": None}
"""Policies that act on observations alone, so that one of them may serve many environments; and their option that says
how many observations share a pass, where they have one."""

DEFAULT_POLICIES: Mapping[str, str] = {"thinktwice/Libero-v0": "bundled"}
"""World, then the policy that acts in it where none is named."""

_TRAINED: Mapping[str, tuple[str, str]] = {
    "bundled": (".policies.bundled", "read_trained"),
    "openpi": (".policies.openpi", "read_served"),
}
"""Name, then module and function ``(argument) -> Trained`` of policies whose checkpoints say how they were trained."""

_CHECKS: Mapping[str, tuple[str, str]] = {
    "lerobot": (".policies.lerobot", "check_lerobot"),
    "fake": (".fakes", "check_fake_policy"),
}
"""Name, then module and function ``(argument) -> None`` of policies that are checked before a worker starts; `trained`
checks the others that have an argument."""

_shared: ContextVar[dict[str, Policy] | None] = ContextVar("shared policies", default=None)


def trained(spec: str) -> Trained | None:
    """How the checkpoint behind a ``--policy`` value was trained, or None where it does not say; loads no weights.

    Raises:
        WeightsError: there is no checkpoint, or it cannot be read.
        ConventionError: its conventions cannot be read.
    """
    name, _, argument = spec.partition(":")
    if name not in _TRAINED:
        return None
    module, function = _TRAINED[name]
    return cast("Trained", getattr(importlib.import_module(module, __package__), function)(argument))


def check_policy_value(spec: str) -> None:
    """Refuse a ``--policy`` value that no builder would take, as far as that needs no world, no network and no torch.

    Raises:
        UsageError: no policy has this name, or what stands after the colon makes no sense.
        WeightsError: the checkpoint that it names is not there.
    """
    check_policy_name(spec)
    name, _, argument = spec.partition(":")
    if name in _CHECKS:
        module, function = _CHECKS[name]
        getattr(importlib.import_module(module, __package__), function)(argument)


def check_policy_name(spec: str) -> None:
    """Raise `UsageError` unless a ``--policy`` value begins with the name of a policy."""
    name = spec.partition(":")[0]
    if name not in POLICIES:
        raise UsageError(f"there is no policy {spec!r}. {choices(name, POLICIES)}")


def build_policy(spec: str, env: gym.Env[Any, Any]) -> Policy:
    """The policy that a ``--policy`` value names.

    Args:
        spec: ``"expert"``, or ``"lerobot:outputs/act"`` where the part after the colon is the builder's.
        env: the environment it will act in: a privileged policy reads its simulator, and each policy's
            conventions are checked against it.

    Raises:
        UsageError: no policy has this name.
        ConventionError: the policy was trained with other conventions than the world's.
    """
    name, _, argument = spec.partition(":")
    check_policy_name(spec)
    shared = _shared.get()
    if shared is not None and spec in shared:
        return shared[spec]
    module_name, builder, _ = POLICIES[name]
    build = getattr(importlib.import_module(module_name, __package__), builder)
    policy = cast("Policy", build(argument, env))
    if shared is not None:
        shared[spec] = policy
    return policy


@contextlib.contextmanager
def sharing(policies: dict[str, Policy]) -> Generator[None]:
    """Within it, `build_policy` keeps what it builds and gives it again: one copy of the weights for many agents.

    Policies keep no state, so agents may share them as long as they act one at a time.

    Args:
        policies: by the ``--policy`` value, for one environment; it is filled.
    """
    token = _shared.set(policies)
    try:
        yield
    finally:
        _shared.reset(token)
