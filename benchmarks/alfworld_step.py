"""ALFWorld beside alfworld: CPU seconds of reset and step of the compiled engine and of alfworld's own stack.

Both engines play the same episodes in one process, command by command and by turns: a planner episode where --plans
asks for it, then one of random admissible commands.  Every reply is compared (text, admissible commands, won), and
any difference ends the benchmark.  ``--check`` reports the comparison alone.

    python -m benchmarks.alfworld_step --games ../alfworld --every 1 --check
"""

from __future__ import annotations

import dataclasses
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro

from thinktwice.envs.alfworld.compiled import CompiledEngine
from thinktwice.envs.alfworld.engine import Engine, Reply
from thinktwice.envs.alfworld.env import AlfworldEnv
from thinktwice.envs.alfworld.games import TASK_TYPES, FolderGames, Game, GameSet
from thinktwice.envs.alfworld.generator import GeneratedGames
from thinktwice.envs.alfworld.planner import Planner
from thinktwice.envs.alfworld.stock import StockEngine

from .machine import machine, write


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments:
    """What to measure."""

    games: Path | None = None
    """A folder in the json_2.1.1 layout; generated games when not given."""
    split: str = "valid_seen"
    """Of --games."""
    every: int = 6
    """Every how manyth game is played."""
    steps: int = 50
    """Random commands per game."""
    plans: bool = True
    """Play the planner's episode too."""
    check: bool = False
    """Only compare; write no timings."""


def main(arguments: Arguments | None = None) -> None:
    """Play, compare, print medians and write them as JSON."""
    asked = arguments or Arguments()
    before = machine()
    games = list(_games(asked))
    found: dict[str, list[float]] = {}
    compiled, stock, planner = CompiledEngine(), StockEngine(), Planner()
    for place, game in enumerate(games, start=1):
        compiled.start(game)
        plan = tuple(step.command for step in planner.plan(game, compiled)) if asked.plans else ()
        _play(game, plan, asked.steps, {"compiled": compiled, "stock": stock}, found)
        sys.stderr.write(f"{place} of {len(games)}: {game.source}\n")
    sys.stdout.write(f"{len(games)} games, {len(found['compiled step'])} steps: every reply is equal\n")
    if asked.check:
        return
    _images(games[:10], found)
    rows = {name: _row(values) for name, values in found.items()}
    for name, row in rows.items():
        sys.stdout.write(f"{name:<26}{row['median_ms']:>10.3f} ms median{row['mean_ms']:>10.3f} ms mean\n")
    faster = rows["stock step"]["median_ms"] / rows["compiled step"]["median_ms"]
    sys.stdout.write(f"a compiled step is {faster:.1f} times faster (medians of CPU time)\n")
    settings = {**dataclasses.asdict(asked), "games": "generated" if asked.games is None else asked.split}
    path = write("alfworld_step", {"machine": before, "settings": settings, "rows": rows, "step_speedup": faster})
    sys.stdout.write(f"wrote {path}\n")


def _games(asked: Arguments) -> list[Game]:
    games: GameSet = GeneratedGames(per_type=6)
    if asked.games is not None:
        games = FolderGames(folder=asked.games.resolve(), split=asked.split)
    every = [games.load(kind, number) for kind in TASK_TYPES for number in games.numbers(kind)]
    return every[:: asked.every]


def _play(
    game: Game, plan: tuple[str, ...], steps: int, engines: dict[str, Engine], found: dict[str, list[float]]
) -> None:
    """A planner episode and a random one, on both engines at once."""
    rng = random.Random(game.sha256)  # noqa: S311  not for secrets
    for commands in (plan, None):
        reply = _same(
            game, {name: _timed(f"{name} reset", lambda e=e: e.start(game), found) for name, e in engines.items()}
        )
        for index in range(len(plan) if commands is not None else steps):
            # "help" prints the same long text whenever it is asked.
            offered = [choice for choice in reply.commands if choice != "help"]
            command = commands[index] if commands is not None else rng.choice(offered)
            replies = {
                name: _timed(f"{name} step", lambda e=e, c=command: e.step(c), found) for name, e in engines.items()
            }
            reply = _same(game, replies)
        if commands and not reply.won:
            raise SystemExit(f"the plan does not win {game.source}")


def _same(game: Game, replies: dict[str, Reply]) -> Reply:
    if replies["compiled"] != replies["stock"]:
        raise SystemExit(f"the engines differ in {game.source}:\n{replies['compiled']}\n{replies['stock']}")
    return replies["compiled"]


def _timed(name: str, call: Callable[[], Reply], found: dict[str, list[float]]) -> Reply:
    began = time.process_time()
    reply = call()
    found.setdefault(name, []).append(time.process_time() - began)
    return reply


def _images(games: list[Game], found: dict[str, list[float]]) -> None:
    """What images and their segmentation cost on top."""
    env = AlfworldEnv(games=GeneratedGames(per_type=1))
    for game in games:
        began = time.process_time()
        env.restore_state((game, ()))
        found.setdefault("reset with images", []).append(time.process_time() - began)
        for _ in range(10):
            began = time.process_time()
            env.step("look")
            found.setdefault("step with image", []).append(time.process_time() - began)
            began = time.process_time()
            env.segmentation()
            found.setdefault("segmentation", []).append(time.process_time() - began)
    env.close()


def _row(values: list[float]) -> dict[str, Any]:
    return {
        "median_ms": 1000 * statistics.median(values),
        "mean_ms": 1000 * statistics.fmean(values),
        "count": len(values),
    }


if __name__ == "__main__":
    main(tyro.cli(Arguments))
