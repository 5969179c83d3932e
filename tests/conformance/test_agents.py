"""Every policy, gate, critic, agent and perception keeps its contract; a new one is added to its list."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from thinktwice.agents import Agent, Policy, Proposal
from thinktwice.agents.attc import MEASURES, ChunkMetric, FixedGate, MeasureSettings, ThresholdGate, build_measure
from thinktwice.agents.catalog import agent_entry, build_policy
from thinktwice.agents.conformance import check_agent, check_gate, check_policy
from thinktwice.agents.fakes import FakeGate
from thinktwice.critics import Binding, CriticContext, CriticSpec, Feature, LearnedCritic
from thinktwice.critics.conformance import check_critic
from thinktwice.critics.fakes import FakeCritic
from thinktwice.critics.network import CriticNetwork
from thinktwice.critics.spec import KINDS
from thinktwice.envs import MultiStep, Observation
from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import ContractError
from thinktwice.perception.conformance import check_perception
from thinktwice.perception.fakes import FakePerception

POLICIES = ["fake:0.5", "random", "hold"]
AGENTS = [
    ("fake", {}),
    ("reflex", {"policy": "random", "execute": 1}),
    ("demonstrator", {"expert": "fake:1", "learner": "fake:0", "perturb": 0.5}),
    ("pairs", {"policy": "fake:0.5", "execute": 2, "expert": "fake:1"}),
    ("attc", {"policy": "fake:0.5", "execute": 2, "gate": "dtw", "threshold": 4.0, "critic": "fake"}),
    ("attc", {"policy": "fake:0.5", "execute": 2, "gate": "always", "selector": "mean"}),
    ("attc", {"policy": "fake:0.5", "execute": 2, "gate": "random", "rate": 0.5, "selector": "nearest"}),
]
_METRIC = ChunkMetric(weights=(1.0, 1.0), execute=2)
GATES = [
    FakeGate,
    lambda: FixedGate(always=True),
    *(
        partial(ThresholdGate, measure=build_measure(settings, None), threshold=0.5)
        for settings in (
            MeasureSettings(name=name, metric=_METRIC, gripper_weight=1.0) for name in MEASURES if name != "velocity"
        )
    ),
]


def untrained_critic(kind: Any) -> LearnedCritic:
    """A small critic of the fake world with random weights, that looks at the picture itself."""
    picture = Feature(name="images.front", kind="image", shape=(32, 32, 3))
    sizes = {"chunk": 4, "action": 2, "state": 4, "horizon": 4, "width": 16, "layers": 1, "heads": 2}
    network = CriticNetwork(CriticSpec(kind=kind, features=(picture,), **sizes)).eval()
    return LearnedCritic(network, Binding(policy_sha256=None, policy="fake"))


CRITICS = [FakeCritic, *(partial(untrained_critic, kind) for kind in KINDS)]
PERCEPTIONS = [(FakePerception, ["goal", "point"])]


@pytest.fixture
def env() -> MultiStep:
    return MultiStep(FakeEnv())


@pytest.fixture
def observations(env: MultiStep) -> list[Observation]:
    seen = [env.reset(seed=0, options={"task": "fake/1", "init_state": 2})[0]]
    seen += [env.step(np.full((2, 2), 0.3, np.float32))[0] for _ in range(3)]
    return seen


@pytest.mark.parametrize("spec", POLICIES)
def test_policies(spec: str, env: MultiStep, observations: list[Observation]) -> None:
    check_policy(build_policy(spec, env), observations[0], env.env.action_space)


@pytest.mark.parametrize(("name", "options"), AGENTS)
def test_agents(name: str, options: dict[str, Any], env: MultiStep, observations: list[Observation]) -> None:
    options_class, build = agent_entry(name).load()
    agent: Agent = build(options_class(**options), env)
    check_agent(agent, observations, env.env.action_space)


@pytest.mark.parametrize("make", GATES)
def test_gates(make: Callable[[], Any], env: MultiStep, observations: list[Observation]) -> None:
    check_gate(make(), observations[0], build_policy("fake:0.5", env).propose(observations[0], 4, seed=1))


@pytest.mark.parametrize("make", CRITICS)
def test_critics(make: Callable[[], Any], env: MultiStep, observations: list[Observation]) -> None:
    chunks = list(build_policy("fake:0.5", env).propose(observations[0], 4, seed=1).chunks)
    check_critic(make(), observations[0], chunks, CriticContext(candidates=chunks))


@pytest.mark.parametrize(("make", "queries"), PERCEPTIONS)
def test_perceptions(make: Callable[[], Any], queries: list[str], observations: list[Observation]) -> None:
    check_perception(make(), observations[0], queries, camera="front")


# The checks themselves must be able to fail.


class FaultyPolicy:
    """The fake policy with a fault."""

    def __init__(self, inner: Policy, fault: str) -> None:
        self.inner, self.fault, self.calls = inner, fault, 0
        self.name, self.conventions = inner.name, inner.conventions

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        self.calls += 1
        if self.fault == "reads n":
            return self.inner.propose(observation, n, seed=seed + n)
        if self.fault == "forgets seed":
            return self.inner.propose(observation, n, seed=self.calls)
        proposal = self.inner.propose(observation, max(n, 1) if self.fault == "takes zero" else n, seed=seed)
        if self.fault == "nan":
            return dataclasses.replace(proposal, chunks=np.asarray(proposal.chunks) * np.nan)
        return proposal

    def describe(self) -> dict[str, Any]:
        return {"array": np.zeros(2)} if self.fault == "describes arrays" else self.inner.describe()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("reads n", "changes with the number"),
        ("forgets seed", "others for one seed"),
        ("nan", "not finite"),
        ("takes zero", "accepted n=0"),
        ("describes arrays", "plain JSON"),
    ],
)
def test_the_policy_check_finds_faults(fault: str, words: str, env: MultiStep, observations: list[Observation]) -> None:
    policy = FaultyPolicy(build_policy("fake:0.5", env), fault)
    with pytest.raises(ContractError, match=words):
        check_policy(policy, observations[0], env.env.action_space)


class LopsidedCritic(FakeCritic):
    """Likes whatever comes first a little more."""

    def prefer(self, *arguments: Any) -> Any:
        return np.minimum(super().prefer(*arguments) + np.float32(0.01), 1).astype(np.float32)


class CrowdCritic(FakeCritic):
    """Judges a pair by how many others there are."""

    def prefer(self, observation: Any, pairs: Any, context: Any) -> Any:
        preferences = super().prefer(observation, pairs, context)
        return (0.5 + (preferences - 0.5) / (1 + len(pairs))).astype(np.float32)


@pytest.mark.parametrize(("critic", "words"), [(LopsidedCritic(), "swapping"), (CrowdCritic(), "others in the batch")])
def test_the_critic_check_finds_faults(
    critic: FakeCritic, words: str, env: MultiStep, observations: list[Observation]
) -> None:
    chunks = list(build_policy("fake:0.5", env).propose(observations[0], 3, seed=1).chunks)
    with pytest.raises(ContractError, match=words):
        check_critic(critic, observations[0], chunks, CriticContext())
