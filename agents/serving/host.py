"""What is served: an agent for each session, all of them over one copy of the policy's weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from ... import __version__
from ...envs import DeclaresConventions, World, check_compatible
from ...errors import UsageError
from ..agent import Agent
from ..catalog import agent_entry, sharing
from ..policy import FollowsEpisodes, Policy
from ..reflex import ReflexAgent
from .arrays import pack
from .keys import Keys
from .protocol import About, plain
from .session import Served, Session

_NEEDS_SIMULATOR = ("demonstrator", "pairs")
"""Agents that read or move the simulator that they act in, whatever their policy."""


class Host:
    """Builds agents for a world whose episodes are played elsewhere.

    Args:
        world: the observations and actions are those of its environment.
        agent: the agent's name in the catalogue.
        options: an instance of its options.
        keys: how clients name their observations.
        seed: of an agent that no client resets.

    Raises:
        UsageError: the agent or its policy reads the simulator, or does not exist.
        ConventionError: the policy was trained with other conventions than the world's, or the keys cannot name its
            observations.
        MissingDependency: something that the world or the policy needs is not installed.
    """

    def __init__(self, world: World, agent: str, options: Any, *, keys: Keys, seed: int = 0) -> None:
        if agent in _NEEDS_SIMULATOR:
            raise UsageError(
                f"agent {agent!r} works on the simulator itself, which the clients have and the server has not."
            )
        self._world, self._agent, self._options = world, agent, options
        self._policies: dict[str, Policy] = {}
        self._env = world.make()
        self.conventions = cast("DeclaresConventions", self._env.unwrapped).conventions
        check_compatible(
            self.conventions, keys.needs, world_name=world.name, policy_name=f"a client's {keys.name} keys"
        )
        first = self._build()
        described = first.describe()
        privileged = list(privileged_parts(described))
        if privileged:
            raise UsageError(
                f"{privileged[0]} is privileged: it reads the simulator, which clients have and a server has not. "
                "Serve a policy that acts on observations, such as bundled or lerobot:PATH."
            )
        if any(isinstance(policy, FollowsEpisodes) for policy in self._policies.values()):
            raise UsageError("this policy is on a server already. Let the clients ask that one.")
        reflex = first if isinstance(first, ReflexAgent) else None
        self._served = Served(
            space=self._env.action_space,
            conventions=self.conventions,
            keys=keys,
            policy=reflex.policy if reflex else None,
            execute=described["execute"] if reflex else None,
            seed=seed,
        )
        wanted = keys.needs or self.conventions
        self._about = About(
            version=__version__,
            world=world.name,
            conventions=wanted.to_json(),
            keys=keys.name,
            agent=plain(described),
            proposes=reflex is not None,
            warm=False,
        )

    @property
    def about(self) -> About:
        """What clients are told when they connect."""
        return self._about

    def session(self) -> Session:
        """A new agent for a new client; the policy is shared, since policies keep no state."""
        return Session(self._build(), self._served)

    def warm_up(self) -> None:
        """Decide once on the world's own first observation, so that no client waits for what is loaded lazily.

        Raises:
            WorldError: the world's simulator does not start on this machine.
            ContractError: the agent cannot act on the world's observation.
        """
        env = self._world.make()
        try:
            observation, _ = env.reset(seed=0)
        finally:
            env.close()
        named = self._served.keys.send(observation)
        self.session().answer(pack(named))
        self._about = self._about.model_copy(update={"warm": True})

    def expects(self) -> list[str]:
        """What a client has to send, for people: a line for each entry."""
        return self._served.keys.expects(self.conventions)

    def close(self) -> None:
        """Free the environment."""
        self._env.close()

    def _build(self) -> Agent:
        with sharing(self._policies):
            return agent_entry(self._agent).load()[1](self._options, self._env)


def privileged_parts(described: Any) -> Iterator[str]:
    """The names of all parts of a description that say they are privileged."""
    if isinstance(described, Mapping):
        part = cast("Mapping[str, Any]", described)
        if part.get("privileged"):
            yield str(part.get("policy") or part.get("agent") or part.get("name"))
        for entry in part.values():
            yield from privileged_parts(entry)
    elif isinstance(described, list | tuple):
        for entry in cast("list[Any]", described):
            yield from privileged_parts(entry)
