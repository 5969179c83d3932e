"""A hook of mkdocs: writes the tables of the evidence page from ``docs/evidence/*/*.json`` each time the site is built.

The files are what the benchmarks wrote, so no figure on that page is typed by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MARK = "<!-- evidence -->"
DOCS = Path(__file__).parents[1]
_INTERVALS = ("ci95", "interval")
_TABLES = {"arm": "arms", "pair": "paired", "runner": "runners", "environment": "environments"}
"""What a row is, and the part of the file that holds the rows."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark, where a page has it, by one section for every file of evidence."""
    if MARK not in markdown:
        return markdown
    files = sorted(
        (DOCS / "evidence").glob("*/*.json"), key=lambda path: (path.parent.name, path.stem != "summary", path.stem)
    )
    return markdown.replace(MARK, "\n".join(section(path) for path in files))


def section(path: Path) -> str:
    """One file as Markdown: what it says of itself, then its tables and ratios."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    name = path.relative_to(DOCS).as_posix()
    about = f"{path.parent.name}.md"
    more = f", explained on the page [{path.parent.name}]({about})" if (DOCS / about).exists() else ""
    lines = [f"## {path.parent.name}: {path.stem}", "", f"[{name}]({name}){more}"]
    if "command" in found:
        lines += ["", "```", str(found["command"]), "```"]
    said = [found.get(key) for key in ("kind", "note")]
    lines += [text for each in said if each for text in ("", str(each))]
    limits = found.get("limits", [])
    lines += ["", *(f"* {limit}" for limit in ([limits] if isinstance(limits, str) else limits))]
    for title, part in _TABLES.items():
        if rows := found.get(part):
            lines += ["", *table(title, {row: _flat(values) for row, values in rows.items()})]
    if ratios := found.get("ratios"):
        lines += ["", *table("ratio", {name: {"times": f"{value:.3g}"} for name, value in ratios.items()})]
    return "\n".join(lines) + "\n"


def table(title: str, rows: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """The lines of a Markdown table; a column is there when any row has it."""
    columns = list(dict.fromkeys(name for values in rows.values() for name in values))
    yield f"| {title} | {' | '.join(name.replace('_', ' ') for name in columns)} |"
    yield "| --- " * (len(columns) + 1) + "|"
    for row, values in rows.items():
        yield f"| `{row}` | {' | '.join(values.get(name, '') for name in columns)} |"


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    """The figures of an arm or a pair, each with its interval where it has one."""
    nested = values.get("per_episode")
    figures = {**values, **(nested if isinstance(nested, Mapping) else {})}
    intervals = {name: figures[name] for name in figures if name.endswith(_INTERVALS) and figures[name]}
    # An interval without a name of its own belongs to what the table is about.
    main = next((name for name in ("rate", "failure_reduction", "difference") if name in figures), "")
    shown: dict[str, str] = {}
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        own = next((f"{name}_{kind}" for kind in _INTERVALS if f"{name}_{kind}" in intervals), None)
        own = own or (next((kind for kind in _INTERVALS if kind in intervals), None) if name == main else None)
        shown[name] = _number(name, value) + (f" ({_ends(name, intervals[own])})" if own else "")
    return shown


def _ends(name: str, interval: Any) -> str:
    low, high = [interval[end] for end in ("low", "high")] if isinstance(interval, Mapping) else interval
    return f"{_number(name, low)}\u00a0to\u00a0{_number(name, high)}"  # never broken over two lines


def _number(name: str, value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if name == "rate" or name.endswith(("_rate", "_reduction")):
        return f"{100 * value:.1f}%"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
