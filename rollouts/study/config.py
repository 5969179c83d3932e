"""What a study plays: named arms, each an agent with its options, on the same episodes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict

from ...envs import EpisodeId
from ...errors import ConfigError, UsageError, choices
from ..config import RunConfig, make_plan

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to act.

    Attributes:
        agent: its name, as ``thinktwice rollout --agent`` takes it.
        options: of the agent.
        world_options: what differs from the study's own options of the world, such as ``{"images": false}``.
        seeds: those of the study's seeds that this arm plays; all of them when not given.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    agent: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    world_options: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    seeds: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """A study.  A YAML file gives it; see ``docs/study.md``."""

    out: Path
    """Folder of the run folders, the table, the figures and the page."""
    world: str
    """Its name, as thinktwice rollout takes it."""
    arms: Mapping[str, Arm]
    """Name, then agent and options."""
    world_options: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """Of the world, for all arms."""
    tasks: str = "all"
    """Places, ranges and names, as thinktwice rollout takes them."""
    episodes: int = 10
    """Per task and seed."""
    seeds: tuple[int, ...] = (0,)
    """One run of every arm for each."""
    pairs: tuple[tuple[str, str], ...] | None = None
    """Arms to compare, [from, to]; the first arm with each other one when not given."""
    accept: tuple[str, ...] = ()
    """Differences between the arms' worlds that are meant, such as world.images."""
    workers: int = 1
    """Processes that play at once."""
    threads: int = 1
    """Numeric threads of each."""
    note: str = ""
    """What a reader must know of the figures; it is shown above them."""

    def __post_init__(self) -> None:
        """Check what needs no world.

        Raises:
            ConfigError: there are no arms or seeds, a name makes no folder, an arm has other seeds than the study, or a
                pair names no arm.
        """
        if not self.arms:
            raise ConfigError("a study needs at least one arm: arms: {reflex: {agent: reflex, options: {…}}}.")
        for name in self.arms:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"an arm's name is a folder's: letters, digits, '_', '.' and '-', not {name!r}.")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ConfigError(f"seeds must be one or more different numbers, got {list(self.seeds)}.")
        for name, arm in self.arms.items():
            if arm.seeds is not None and not (arm.seeds and set(arm.seeds) <= set(self.seeds)):
                raise ConfigError(
                    f"the arm {name!r} plays some of the study's seeds {list(self.seeds)}, not {list(arm.seeds)}."
                )
        for name in {name for pair in self.pairs or () for name in pair}:
            if name not in self.arms:
                raise ConfigError(f"pairs name an arm {name!r} that is not there. {choices(name, self.arms)}")

    def compared(self) -> tuple[tuple[str, str], ...]:
        """The pairs to compare."""
        first, *others = self.arms
        return tuple((first, other) for other in others) if self.pairs is None else self.pairs

    def seeds_of(self, arm: str) -> tuple[int, ...]:
        """The seeds that an arm plays, in the study's order."""
        own = self.arms[arm].seeds
        return self.seeds if own is None else tuple(seed for seed in self.seeds if seed in own)

    def run_folder(self, arm: str, seed: int) -> Path:
        """Where the run of an arm and a seed lies."""
        return self.out / "runs" / arm / f"seed-{seed}"

    def run_config(self, arm: str, seed: int) -> RunConfig:
        """What the run of an arm and a seed plays; a run that is there is continued."""
        folder, chosen = self.run_folder(arm, seed), self.arms[arm]
        return RunConfig(
            out=folder,
            world=self.world,
            world_options={**self.world_options, **chosen.world_options},
            tasks=self.tasks,
            episodes=self.episodes,
            seed=seed,
            agent=chosen.agent,
            agent_options=dict(chosen.options),
            workers=self.workers,
            threads=self.threads,
            report=False,
            resume=folder.exists(),
        )

    def select(self, names: tuple[str, ...]) -> StudyConfig:
        """The study of some of its arms, with the pairs among them.

        Raises:
            UsageError: there is no arm of a name.
        """
        for name in names:
            if name not in self.arms:
                raise UsageError(f"the study has no arm {name!r}. {choices(name, self.arms)}")
        kept = {name: arm for name, arm in self.arms.items() if name in names}
        pairs = tuple(pair for pair in self.compared() if set(pair) <= set(kept))
        return dataclasses.replace(self, arms=kept, pairs=pairs)


def check_study(config: StudyConfig) -> None:
    """Find every mistake in a study before an hour is played.

    Raises:
        UsageError: a name or an option that does not exist, in any arm.
        IdentityError: a task or initial state that the world does not have.
        ConfigError: two seeds give the same episodes, which would be counted twice.
    """
    for arm in config.arms:
        make_plan(config.run_config(arm, config.seeds_of(arm)[0]))
    first = next(iter(config.arms))
    seen: dict[EpisodeId, int] = {}
    for seed in config.seeds:
        for episode in make_plan(config.run_config(first, seed)).episodes:
            if episode in seen:
                raise ConfigError(
                    f"seeds {seen[episode]} and {seed} give the same episode {episode.key}, which would count twice."
                )
            seen[episode] = seed
