"""What a policy server offers, over openpi's protocol: ``--policy openpi:ws://HOST:PORT?keys=…&timeout=…&token_file=…``.

| server | what it is asked | repeats for one seed |
| --- | --- | --- |
| `thinktwice serve` with ``--agent reflex`` | any number of candidates for a seed | yes |
| `thinktwice serve` with another agent | its next decision in this episode | yes, from the episode's beginning on |
| another one, such as openpi's own | its next actions | as it likes: requests carry no seed |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from ...cost import Cost, Stopwatch
from ...envs import Array, Chunk, Conventions, Observation, check_chunk
from ...envs.observations import IMAGES, STATE, TASK
from ...errors import ConfigError, ContractError, ConventionError, ThinkTwiceError, UsageError, choices
from ..policy import Proposal, Trained
from ..serving.access import read_token
from ..serving.keys import KEYS, OPENPI_LIBERO, Keys
from ..serving.line import Line
from ..serving.protocol import ACTIONS, EXTRA, TIMING, About, Answer, Ask, Draw, extra, plain
from .arguments import split_argument

_OPTIONS = ("keys", "timeout", "token_file")
_SECONDS = 60.0
_WARM_UP_SECONDS = 600.0
"""For the first answer of a server that does not warm itself up: openpi compiles its model then, for minutes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
    """A server and what is known of it.

    Attributes:
        line: to ask it.
        about: what it says of itself; None when it is not a server of this library.
        metadata: all that it says, as plain data.
        keys: how observations are named for it.
        conventions: what it expects of the world.
    """

    line: Line
    about: About | None
    metadata: dict[str, Any]
    keys: Keys
    conventions: Conventions


class OpenpiPolicy:
    """A server's agent or policy as a proposal source.

    Args:
        server: was connected to.
        space: the world's actions.
    """

    def __init__(self, server: Server, space: spaces.Space[Any]) -> None:
        self._server, self._space = server, space
        self._proposes = server.about is not None and server.about.proposes
        self._reset: int | None = None
        self._in_episode = False

    @property
    def name(self) -> str:
        """``openpi:ws://HOST:PORT``."""
        return f"openpi:{self._server.line.url}"

    @property
    def conventions(self) -> Conventions | None:
        """What the server says that it expects, or what its keys mean."""
        return self._server.conventions

    def begin_episode(self, *, seed: int) -> None:
        """Reset the agent on the server with the next question, where it keeps an episode's state."""
        self._reset, self._in_episode = seed, True

    def propose(self, observation: Observation, n: int, *, seed: int) -> Proposal:
        """The server's candidates or its agent's decision, whose account is in ``notes["server"]``.

        Raises:
            ContractError: ``n`` is less than 1, or more than this server gives; the episode's beginning is not known to
                a server that keeps its state; or what came back is not finite or of a wrong shape.
            ModelError: the server failed, hung up, or was too slow.
        """
        if n < 1:
            raise ContractError(f"a proposal needs at least one candidate, got n={n}.")
        if n > 1 and not self._proposes:
            raise ContractError(
                f"{self.name} gives one chunk for a look, and {n} candidates were asked for. Use --agent reflex, or "
                "serve with --agent reflex and deliberate here."
            )
        self._reconnect()
        message = self._server.keys.send(observation)
        ask = self._ask(n, seed)
        if ask is not None:
            message[EXTRA] = ask.model_dump(exclude_none=True)
        watch = Stopwatch()
        try:
            with watch("network"):
                reply = self._server.line.ask(message)
            proposal = self._proposal(reply, n, watch.seconds["network"])
        except Exception:
            # Its agent may or may not have decided; nobody knows how its episode stands.
            self._in_episode = False
            raise
        self._reset = None
        return proposal

    def describe(self) -> dict[str, Any]:
        """The served policy's own description where it proposes, so that critics and clutches know it; the server."""
        about = self._server.about
        served = about.agent if about else {}
        known: dict[str, Any] = served.get("policy", {}) if self._proposes else {}
        return {
            **known,
            "policy": "openpi",
            "server": self._server.line.url,
            "keys": self._server.keys.name,
            "served": served if about else self._server.metadata,
            "repeats": about is not None,
        }

    def close(self) -> None:
        """Hang up; the server frees its agent."""
        self._server.line.close()

    def _ask(self, n: int, seed: int) -> Ask | None:
        if self._server.about is None:
            return None
        if self._proposes:
            return Ask(propose=Draw(n=n, seed=seed))
        if not self._in_episode:
            raise ContractError(
                f"the agent behind {self.name} keeps an episode's state, and does not know that one began, or lost it "
                "with its session. Use --agent reflex, which says so, and begin the episode again."
            )
        return Ask(reset=self._reset)

    def _reconnect(self) -> None:
        """Open a new session where the last one broke; the server must still offer the same."""
        if self._server.line.is_open:
            return
        again = _connect(self._server.line, self._server.keys)
        if again.about != self._server.about:
            self._server.line.close()
            raise ContractError(f"{self.name} offers something else than it did at first. Begin again with it.")

    def _proposal(self, reply: Any, n: int, seconds: float) -> Proposal:
        answer = extra(reply, Answer) or Answer(cost={"candidates": 1})
        try:
            cost = Cost.from_json(answer.cost)
        except (TypeError, ValueError, AttributeError) as error:
            raise ContractError(f"{self.name} answered with a ledger that cannot be read: {error}.") from error
        spent = _milliseconds(reply) / 1e3
        cost = cost + Cost(seconds={"network": max(0.0, seconds - spent)})
        if self._proposes:
            chunks = self._chunks(answer.chunks, n)
            features = {name: np.asarray(value) for name, value in answer.features.items()}
            return Proposal(chunks=chunks, features=features, cost=cost, notes=answer.notes)
        if ACTIONS not in reply:
            raise ContractError(f"{self.name} answered without {ACTIONS!r}; it sent {sorted(map(str, reply))}.")
        notes = answer.model_dump(include={"deliberated", "why", "doubt", "candidates", "chosen", "notes"})
        chunks = self._chunks([reply[ACTIONS]], 1)
        return Proposal(chunks=chunks, cost=cost, notes={"server": notes} if self._server.about else {})

    def _chunks(self, given: Any, n: int) -> Array | Sequence[Chunk]:
        """The candidates, each checked: nothing that is not finite or of a wrong shape reaches an arm."""
        candidates = list(given) if isinstance(given, np.ndarray | list) else []
        if len(candidates) != n:
            raise ContractError(f"{self.name} answered with {len(candidates)} candidates of {n}.")
        numeric = isinstance(self._space, spaces.Box)
        try:
            chunks = [_as_actions(chunk) if numeric else cast("Chunk", chunk) for chunk in candidates]
            for chunk in chunks:
                check_chunk(chunk, self._space)
            return np.stack(chunks) if numeric else chunks
        except (ContractError, TypeError, ValueError) as error:
            raise ContractError(f"{self.name} answered with something that is not executed: {error}") from error


def build_openpi(argument: str, env: gym.Env[Any, Any]) -> OpenpiPolicy:
    """Connect to ``ws://HOST:PORT?keys=openpi-libero&timeout=60&token_file=FILE``, and let it warm up.

    Raises:
        UsageError: the address or the token is wrong, or the server does not say how to name observations.
        ConfigError: an option is wrong.
        ConventionError: the server's conventions cannot be read.
        ModelError: nobody answers there.
    """
    return OpenpiPolicy(_connect(*_parse(argument)), env.unwrapped.action_space)


def read_served(argument: str) -> Trained:
    """What the server behind ``openpi:argument`` expects to see, so that a run can show it just that.

    Raises:
        UsageError: the address or the token is wrong, or the server does not say how to name observations.
        ConfigError: an option is wrong.
        ConventionError: the server's conventions cannot be read.
        ModelError: nobody answers there.
    """
    line, keys = _parse(argument)
    try:
        return Trained(conventions=_greet(line, keys).conventions, execute=None)
    finally:
        line.close()


def _connect(line: Line, keys: Keys | None) -> Server:
    """A new session; a server that does not warm itself up is asked once before anything depends on its answer."""
    server = _greet(line, keys)
    if server.about is None:
        line.ask(server.keys.send(_example(server.conventions)), timeout=_WARM_UP_SECONDS)
    return server


def _greet(line: Line, keys: Keys | None) -> Server:
    metadata = line.open()
    try:
        return _understood(line, metadata, keys)
    except ThinkTwiceError:
        line.close()
        raise


def _understood(line: Line, metadata: Any, keys: Keys | None) -> Server:
    about = extra(metadata, About)
    plainly = plain(metadata)
    if about is None:
        if keys is None or keys.needs is None:
            raise UsageError(
                f"the server at {line.url} does not say what it expects, so it is no `thinktwice serve`. Say how to "
                f"name observations for it: ?keys={OPENPI_LIBERO.name}"
            )
        return Server(line=line, about=None, metadata=plainly, keys=keys, conventions=keys.needs)
    if about.keys not in KEYS or (keys is not None and keys.name != about.keys):
        raise ConventionError(f"the server at {line.url} expects {about.keys!r} keys. Leave ?keys= out.")
    conventions = Conventions.from_json(about.conventions)
    return Server(line=line, about=about, metadata=plainly, keys=KEYS[about.keys], conventions=conventions)


def _example(conventions: Conventions) -> dict[str, Any]:
    """An observation of nothing."""
    size = sum(dim.size for dim in conventions.state)
    images = {f"{IMAGES}{camera.name}": np.zeros((256, 256, 3), np.uint8) for camera in conventions.cameras}
    return {**images, STATE: np.zeros(size, np.float32), TASK: "warm up"}


def _as_actions(chunk: Any) -> Array:
    array = np.asarray(chunk)
    # What float32 cannot hold becomes infinite, and is refused as that.
    with np.errstate(over="ignore"):
        return array.astype(np.float32) if array.dtype.kind in "fiu" else array


def _milliseconds(reply: Any) -> float:
    """How long the server says that it computed; 0 where it does not."""
    timing = reply.get(TIMING) if isinstance(reply, dict) else None
    spent = timing.get("infer_ms", 0.0) if isinstance(timing, dict) else 0.0
    return float(spent) if isinstance(spent, int | float) else 0.0


def _parse(argument: str) -> tuple[Line, Keys | None]:
    url, options = split_argument("openpi", argument, _OPTIONS)
    keys = options.get("keys")
    if keys is not None and keys not in KEYS:
        raise ConfigError(f"openpi knows no keys {keys!r}. {choices(keys, KEYS)}")
    token = read_token(Path(options["token_file"])) if "token_file" in options else None
    line = Line(url, token=token, timeout=_seconds(options.get("timeout")))
    return line, KEYS[keys] if keys is not None else None


def _seconds(text: str | None) -> float:
    if text is None:
        return _SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"openpi's timeout must be seconds, more than 0, got {text!r}.")
    return seconds
