"""``thinktwice envs``: the worlds that can be run here."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..envs import WORLDS
from ..errors import ThinkTwiceError, UsageError, choices


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnvsArgs:
    """List the worlds that can be run here, or the tasks of one."""

    world: tyro.conf.Positional[str | None] = None
    """A world whose tasks to list."""
    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: Sequence[str]) -> int:
    """Print the worlds or one world's tasks."""
    args = tyro.cli(EnvsArgs, prog="thinktwice envs", args=list(arguments))
    rows = _worlds() if args.world is None else _tasks(args.world)
    if args.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    table = Table(*rows[0].keys(), box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row.values()))
    # Through a pipe there is no width to fit into, and a wrapped command could not be copied.
    Console(soft_wrap=True, width=None if sys.stdout.isatty() else 240).print(table)
    return 0


def _worlds() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for name, entry in WORLDS.items():
        try:
            options, open_world = entry.load()
            here = f"{len(open_world(name, options()).tasks())} tasks"
        except ThinkTwiceError as error:
            here = f"no: {error}"
        rows.append({"world": name, "runs here": here, "what it is": entry.summary})
    return rows


def _tasks(name: str) -> list[dict[str, str]]:
    if name not in WORLDS:
        raise UsageError(f"there is no world {name!r}. {choices(name, WORLDS)}")
    options, open_world = WORLDS[name].load()
    return [{"index": str(i), "task": task} for i, task in enumerate(open_world(name, options()).tasks())]
