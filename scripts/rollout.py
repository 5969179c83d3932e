"""``thinktwice rollout WORLD …``: play episodes and record them."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tyro

from ..agents.catalog import AGENTS, POLICIES, agent_entry
from ..envs import WORLDS, world_entry
from ..errors import ConfigError, UsageError
from ..rollouts import RunConfig, run
from ..rollouts.config import RunOptions
from ..rollouts.progress import ShownProgress
from ..rollouts.records import read_manifest
from ..rollouts.tables import print_summary
from .config import identifier, read_config, sections

_PROGRAM = "thinktwice rollout"


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        0 when every episode was judged, 1 when some ended in an error, 130 when it was interrupted.
    """
    config = parse(arguments)
    progress = ShownProgress()
    # Opening a world and reading a checkpoint's settings takes seconds on a busy machine.
    progress.say(f"opening {config.world}")
    try:
        summary = run(config, progress=progress)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nStopped. Everything that was finished is recorded; continue with:\n  {_resume(config)}\n")
        return 130
    print_summary(summary)
    sys.stdout.write(f"\nrecords   {config.out}\n")
    report = config.out / "report.html"
    if config.report and report.exists():
        sys.stdout.write(f"report    {report}\n")
    sys.stdout.write(f"compare   thinktwice compare {shlex.quote(str(config.out))} OTHER_RUN\n")
    return 1 if summary.overall.errors else 0


def parse(arguments: Sequence[str]) -> RunConfig:
    """The configuration that a command line and its configuration file ask for.

    Raises:
        UsageError: no world is named, or there is none of that name.
        ConfigError: the configuration file is wrong.
        RecordError: there is no run to resume.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    named = [arguments[0]] if arguments and not arguments[0].startswith("-") else []
    rest = list(arguments[len(named) :])
    early = _early(rest)
    values, source = _values(early, has_world=bool(named))
    world = named[0] if named else values.pop("world", None)
    values.pop("world", None)
    if world is None:
        if early.help:
            _print_help()
        raise UsageError(
            f"say which world to play: {_PROGRAM} WORLD …, where WORLD is one of {', '.join(WORLDS)}. "
            f"{_PROGRAM} --help says more."
        )
    agent = early.agent or values.get("agent") or "reflex"
    classes = {
        "run": RunOptions,
        f"world {world}": world_entry(str(world)).load()[0],
        f"agent {agent}": agent_entry(str(agent)).load()[0],
    }
    defaults = list(sections(values, classes, source).values())
    call = _Call(str(world), str(agent), [type(default) for default in defaults])
    options, world_options, agent_options = call.read(rest, defaults)
    return RunConfig(
        world=str(world),
        world_options=world_options,
        agent_options=agent_options,
        **{field.name: getattr(options, field.name) for field in dataclasses.fields(RunOptions)},
    )


class _Call:
    """The command line of one world and one agent: their options stand beside the run's, without prefixes."""

    def __init__(self, world: str, agent: str, classes: Sequence[type[Any]]) -> None:
        self._world = world
        self._names = ("run", f"world_{identifier(world)}", f"agent_{identifier(agent)}")
        fields: list[tuple[str, Any]] = [
            (name, tyro.conf.OmitArgPrefixes[options]) for name, options in zip(self._names, classes, strict=True)
        ]
        self._class = dataclasses.make_dataclass("Call", [*fields, ("config", Path | None, None)], frozen=True)

    def read(self, arguments: Sequence[str], defaults: Sequence[Any]) -> tuple[Any, Any, Any]:
        call = tyro.cli(
            self._class,
            prog=f"{_PROGRAM} {self._world}",
            description=_DESCRIPTION,
            args=arguments,
            default=self._class(*defaults),
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        run_options, world_options, agent_options = (getattr(call, name) for name in self._names)
        return run_options, world_options, agent_options


_DESCRIPTION = (
    "Play episodes and record them. --config names a YAML file with these options (episodes: 20); "
    "the command line overrides it."
)


def _early(arguments: Sequence[str]) -> argparse.Namespace:
    """The few flags that decide which other flags there are."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--agent")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    try:
        return parser.parse_known_args(arguments)[0]
    except argparse.ArgumentError as error:
        raise UsageError(f"{error}.") from error


def _values(early: argparse.Namespace, *, has_world: bool) -> tuple[dict[str, Any], str]:
    """What the configuration file says, or, for a run that is resumed by its folder alone, what its record says."""
    if early.config is not None:
        return _from_file(read_config(early.config)), str(early.config)
    if early.resume and early.out is not None and not has_world:
        return _from_record(read_manifest(early.out)), str(early.out)
    return {}, ""


def _from_file(values: dict[str, Any]) -> dict[str, Any]:
    tasks = values.get("tasks")
    if isinstance(tasks, int | list):
        values["tasks"] = ",".join(str(task) for task in tasks) if isinstance(tasks, list) else str(tasks)
    for name in ("world", "agent"):
        if name in values and not isinstance(values[name], str):
            raise ConfigError(f"{name} in the configuration must be a name, got {values[name]!r}.")
    return values


def _from_record(manifest: Mapping[str, Any]) -> dict[str, Any]:
    config = dict(manifest["config"])
    options = config.pop("world_options") | config.pop("agent_options")
    return {**config, **manifest["operation"], **options, "tasks": ",".join(config["tasks"])}


def _resume(config: RunConfig) -> str:
    return f"{_PROGRAM} --resume --out {shlex.quote(str(config.out))}"


def _print_help() -> None:
    """The help without a world: its options are those of every world."""
    listed = {
        "worlds": {name: entry.summary for name, entry in WORLDS.items()},
        "agents": {name: entry.summary for name, entry in AGENTS.items()},
        "policies": {name: line for name, (_, _, line) in POLICIES.items()},
    }
    text = "".join(
        f"\n{title}\n" + "".join(f"  {name:<16} {line}\n" for name, line in lines.items())
        for title, lines in listed.items()
    )
    sys.stdout.write(f"{_PROGRAM} WORLD --help shows the options of that world and of --agent.\n{text}\n")
    plain = (tyro.conf.FlagCreatePairsOff,)
    tyro.cli(RunOptions, prog=f"{_PROGRAM} WORLD", description=_DESCRIPTION, args=["--help"], config=plain)
