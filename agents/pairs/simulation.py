"""Play a world ahead and take it back."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs import Array, Observation, SavesState, SkipsObservations, derive_seed
from ...envs.libero.env import LiberoEnv
from ...errors import UsageError
from ..experts import LiberoExpert
from ..experts.chunk import expert_chunk
from ..experts.goals import PLACES
from ..experts.predicates import holds
from ..policy import Policy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ahead:
    """What happened when the world was played ahead.

    Attributes:
        actions: ``float32[S, A]``: what was executed.
        success: whether the task was solved at the end.
        progress: in [0, 1], see `Simulation.progress`.
    """

    actions: Array
    success: bool
    progress: float


class Simulation:
    """A world within an episode that can be played ahead and put back exactly.

    Args:
        env: a simulator, wrapped or not.

    Raises:
        UsageError: the world cannot be put back.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        world = env.unwrapped
        if not isinstance(world, SavesState):
            raise UsageError(f"{world} cannot be put back where it was, so nothing can be tried out in it.")
        self._world: Any = world
        self._expert: LiberoExpert | None = None
        self._seen: Observation | None = None

    @property
    def knows_expert(self) -> bool:
        """Whether the library's stateless expert acts here."""
        return isinstance(self._world, LiberoEnv)

    @contextmanager
    def taken_back(self) -> Generator[None]:
        """What is played inside the ``with`` block leaves no trace."""
        before = self._world.save_state()
        try:
            yield
        finally:
            self._world.restore_state(before)

    def play(
        self, policy: Policy, observation: Observation, *, opening: Array, execute: int, horizon: int, seed: int
    ) -> Ahead:
        """Execute an opening, then what a policy proposes, until success, the step cap or the horizon.

        Args:
            policy: continues.
            observation: of the present moment.
            opening: ``float32[K, A]``, K may be 0.
            execute: how many actions of each of its chunks are executed.
            horizon: actions in all.
            seed: of the policy's draws.
        """
        plan, actions = list(opening), list[Array]()
        success, ended = False, False
        while len(actions) < horizon and not ended:
            if not plan:
                seen = self._look() if actions else observation
                drawn = policy.propose(seen, 1, seed=derive_seed(seed, len(actions)))
                plan = list(np.asarray(drawn.chunks[0], np.float32)[:execute])
            actions.append(plan.pop(0))
            success, ended = self._step(actions[-1])
        return Ahead(actions=np.stack(actions), success=success, progress=1.0 if success else self.progress())

    def progress(self) -> float:
        """How much of the task is done, in [0, 1].

        In LIBERO the share of the goal's predicates that hold; an object in the hand that a goal is still about counts
        for half of one.  Other worlds do not say: 0.
        """
        if not self.knows_expert:
            return 0.0
        expert = self._libero_expert()
        view = expert.scene.view(self._world.data)
        goals = expert.problem.goal
        met = [holds(view, goal) for goal in goals]
        wanted = {goal[1] for goal, done in zip(goals, met, strict=True) if not done and goal[0] in PLACES}
        return (sum(met) + (0.5 if view.held in wanted else 0.0)) / len(goals)

    def phase(self) -> str | None:
        """What the expert would be doing now, such as ``"pick milk_1: descend"``; None where there is no expert."""
        if not self.knows_expert:
            return None
        return self._libero_expert().advise(self._world.data, seed=self._world.save_state().seed).phase

    def expert_modes(self, length: int, count: int) -> Array:
        """The expert's next actions by several of its ways of doing the task; the first is the episode's own way.

        Returns:
            ``float32[count, length, A]``; ways that do not differ here give equal chunks.

        Raises:
            UsageError: there is no expert in this world.
        """
        if not self.knows_expert:
            raise UsageError(
                f"there is a stateless expert for LIBERO only, not for {self._world}. Name a policy as it."
            )
        own = self._world.save_state().seed
        seeds = [own, *(derive_seed(own, "way", index) for index in range(1, count))]
        expert = self._libero_expert()
        return np.stack([expert_chunk(self._world, length, expert=expert, seed=seed) for seed in seeds])

    def _libero_expert(self) -> LiberoExpert:
        model, problem = self._world.model, self._world.problem
        if self._expert is None or self._expert.scene.model is not model or self._expert.problem != problem:
            self._expert = LiberoExpert(model, problem)
        return self._expert

    def _step(self, action: Array) -> tuple[bool, bool]:
        if isinstance(self._world, SkipsObservations):
            _, terminated, truncated, info = self._world.step_blind(action)
            self._seen = None
        else:
            self._seen, _, terminated, truncated, info = self._world.step(action)
        return bool(info["is_success"]), bool(terminated or truncated)

    def _look(self) -> Observation:
        return self._world.observe() if self._seen is None else self._seen
