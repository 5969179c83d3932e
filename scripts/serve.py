"""``thinktwice serve --policy … --agent …``: let other machines and programs ask an agent, over openpi's protocol."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import tyro

from ..agents.catalog import agent_entry
from ..agents.serving import KEYS, Host, Listening, SessionEnd, serve
from ..agents.serving.access import read_token
from ..agents.serving.keys import dims_line
from ..envs import world_entry
from ..errors import UsageError, WorldError
from ..rollouts import RunConfig
from ..rollouts.config import make_plan
from .config import identifier

_PROGRAM = "thinktwice serve"
_WORLD, _AGENT = "libero_object", "reflex"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServeArgs:
    """Options of the server."""

    world: str = _WORLD
    """The world that clients act in, see thinktwice envs; --world NAME --help lists its own options below."""
    agent: str = _AGENT
    """Who answers, see thinktwice rollout --help; --agent NAME --help lists its own options below."""
    host: str = "127.0.0.1"
    """The address to listen on: 127.0.0.1 for this machine alone, 0.0.0.0 for others too, which needs --token-file."""
    port: int = 8000
    """The port to listen on; 0 for a free one, which is printed."""
    token_file: Path | None = None
    """A file with a secret that clients must send (openpi-client's api_key). Not given: anybody may ask."""
    keys: Literal["thinktwice", "openpi-libero"] = "thinktwice"
    """How clients name observations: as this library does, or as openpi's LIBERO example does."""
    seed: int = 0
    """The agent's seed for clients that do not say when an episode begins."""
    warmup: bool = True
    """Decide once before listening, so that the first client need not wait; starts the world for a moment."""


_DESCRIPTION = (
    "Let other machines and programs ask an agent, over openpi's websocket protocol: they act in the world, it says "
    "what to do. Example: thinktwice serve --world libero_object --policy bundled"
)


def main(arguments: Sequence[str]) -> int:
    """Serve until interrupted.

    Raises:
        UsageError: what was asked for does not exist, cannot be served, or would be open to everybody.
        ConventionError: the policy was trained with other conventions than the world's.
        WorldError: the simulator that warming up needs does not start here.
    """
    args, world_options, agent_options = parse(arguments)
    token = None if args.token_file is None else read_token(args.token_file)
    listening = Listening(host=args.host, port=args.port, token=token)
    host = build_host(args, world_options, agent_options)
    try:
        if args.warmup:
            _warm_up(host)
        asyncio.run(serve(host, listening, ready=lambda url: _say(_banner(host, args, url)), ended=_ended))
    except KeyboardInterrupt:
        _say("\nstopped")
    finally:
        host.close()
    return 0


def parse(arguments: Sequence[str]) -> tuple[ServeArgs, Any, Any]:
    """The server's options, the world's and the agent's, which stand beside each other on one line.

    Raises:
        UsageError: there is no world or agent of that name.
        SystemExit: tyro printed the help, or what is wrong with a flag.
    """
    world, agent = _named(arguments, "--world", _WORLD), _named(arguments, "--agent", _AGENT)
    classes = {
        "server": ServeArgs,
        f"world_{identifier(world)}": tyro.conf.FlagCreatePairsOff[world_entry(world).load()[0]],
        f"agent_{identifier(agent)}": tyro.conf.FlagCreatePairsOff[agent_entry(agent).load()[0]],
    }
    fields: list[tuple[str, Any]] = [(name, tyro.conf.OmitArgPrefixes[options]) for name, options in classes.items()]
    call: Any = dataclasses.make_dataclass("Call", fields, frozen=True)
    read = tyro.cli(call, prog=_PROGRAM, description=_DESCRIPTION, args=list(arguments))
    serving, world_options, agent_options = (getattr(read, name) for name in classes)
    return serving, world_options, agent_options


def build_host(args: ServeArgs, world_options: Any, agent_options: Any) -> Host:
    """What is served, with the settings that a rollout of the same world, agent and policy would have.

    Raises:
        UsageError: something does not exist, or cannot be served.
        ConventionError: the policy was trained with other conventions than the world's.
    """
    config = RunConfig(
        world=args.world,
        world_options=world_options,
        agent=args.agent,
        agent_options=agent_options,
        episodes=1,
        out=Path(),
    )
    plan = make_plan(config)
    return Host(plan.world, args.agent, plan.config.agent_options, keys=KEYS[args.keys], seed=args.seed)


def _warm_up(host: Host) -> None:
    _say(f"warming up: {host.about.world} starts for a first observation")
    try:
        host.warm_up()
    except WorldError as error:
        raise UsageError(
            f"{error} Warming up needs the world's simulator for a moment; --no-warmup skips it."
        ) from error


def _banner(host: Host, args: ServeArgs, url: str) -> str:
    """Where it listens, and what a client has to know."""
    about, conventions = host.about, host.conventions
    policy = f"openpi:{url}{'?token_file=FILE' if args.token_file else ''}"
    first, *others = host.expects()
    rate = [] if conventions.control_hz is None else [f"rate      {conventions.control_hz:g} actions per second"]
    size = sum(dim.size for dim in conventions.action)
    actions = f"float32[T, {size}]: {dims_line(conventions.action)}" if size else "a list of the world's own actions"
    return "\n".join(
        [
            f"serving   {args.agent} for {about.world}{'' if about.warm else ', not warmed up'}",
            f"listening {url} ({'with a token' if args.token_file else 'without a token'}; Ctrl-C stops)",
            f"expects   {first}",
            *(f"          {line}" for line in others),
            f"answers   actions  {actions}",
            *rate,
            f"try       thinktwice rollout {about.world} --policy '{policy}' --out runs/served",
        ]
    )


def _ended(session: SessionEnd) -> None:
    deliberated = f" ({session.deliberated} deliberated)" if session.deliberated else ""
    ending = f"failed: {session.error}" if session.error else "the client left"
    _say(
        f"session {session.number}  {session.client}  {session.decisions} decisions{deliberated} in "
        f"{session.seconds:.0f} s, {ending}"
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _named(arguments: Sequence[str], flag: str, default: str) -> str:
    """The value of a flag that decides which other flags there are."""
    for index, argument in enumerate(arguments):
        if argument == flag and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith(f"{flag}="):
            return argument.partition("=")[2]
    return default
