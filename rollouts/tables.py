"""Tables for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .comparison import Comparison
from .statistics import Interval
from .summary import Group, Summary

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_SHOWN = 12
"""Differences between two agents that are shown before the rest is only counted."""


def print_summary(summary: Summary) -> None:
    """Print the table of a run on standard output."""
    from rich.table import Table

    overall = summary.overall
    columns, metrics = _columns(overall), sorted(overall.metrics)
    title = f"{summary.world}, agent {summary.agent}" + ("" if summary.finished else " (unfinished)")
    table = Table(title=title, caption="95%: Wilson interval of the rate; steps: mean of the solved episodes")
    for name in [*columns, *metrics]:
        table.add_column(name, justify="left" if name == "task" else "right", no_wrap=name != "task")
    for group in summary.tasks:
        table.add_row(*_row(group, columns, metrics))
    if len(summary.tasks) > 1:
        table.add_section()
        table.add_row(*_row(overall, columns, metrics), style="bold")
    console = console_for_output()
    console.print(table)
    if overall.errors:
        console.print(
            f"{overall.errors} of {overall.played} episodes ended in an error: they count neither as solved nor as "
            "failed, and rates are over the rest. attempts.jsonl says why.",
            highlight=False,
        )


def console_for_output() -> Console:
    """A console on standard output: as wide as the terminal, or wide enough for a table where there is none."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120, highlight=False)


def percent(value: float | None, *, signed: bool = False) -> str:
    """A share as a percentage, or a dash where it is undefined."""
    if value is None:
        return "–"
    return f"{100 * value:+.1f}%" if signed else f"{100 * value:.1f}%"


def percent_interval(interval: Interval | None, *, signed: bool = False) -> str:
    """An interval of a share."""
    if interval is None:
        return "–"
    return f"{percent(interval.low, signed=signed)} … {percent(interval.high, signed=signed)}"


def _columns(overall: Group) -> list[str]:
    """What to show beside the metrics: errors and deliberation only where there are any."""
    extra = (["errors"] if overall.errors else []) + (["deliberated"] if overall.deliberated else [])
    return ["task", "solved", "rate", "95%", "steps", *extra]


def _row(group: Group, columns: Sequence[str], metrics: Sequence[str]) -> list[str]:
    known = {
        "task": group.task,
        "solved": f"{group.successes}/{group.judged}",
        "rate": percent(group.rate),
        "95%": percent_interval(group.interval),
        "steps": "–" if group.steps_of_a_success is None else f"{group.steps_of_a_success:.0f}",
        "errors": str(group.errors),
        "deliberated": f"{group.deliberated}/{group.decisions}",
    }
    means = [f"{group.metrics[name].mean:.3f}" if name in group.metrics else "–" for name in metrics]
    return [*(known[name] for name in columns), *means]


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison on standard output, with the method behind each figure."""
    console = console_for_output()
    for line in _heading(comparison):
        console.print(line, markup=False)
    console.print(_figures(comparison))
    for line in _footnotes(comparison):
        console.print(line, style="dim", markup=False)


def _heading(comparison: Comparison) -> list[str]:
    more = len(comparison.agents) - _SHOWN
    unpaired = f"{comparison.unpaired_a} of A, {comparison.unpaired_b} of B"
    return [
        f"A  {comparison.run_a}",
        f"B  {comparison.run_b}",
        f"{comparison.pairs} pairs; unpaired: {unpaired}; {comparison.errors} left out because of an error",
        *(f"A, then B  {line}" for line in comparison.agents[:_SHOWN]),
        *([f"… and {more} more; --json lists all"] if more > 0 else []),
        *(f"accepted difference  {line}" for line in comparison.accepted),
        *(f"note: other versions  {line}" for line in comparison.notes),
    ]


def _figures(comparison: Comparison) -> Table:
    from rich.table import Table

    table = Table(show_header=False)
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify)
    table.add_row("solved by both / A alone / B alone / neither", _counts(comparison))
    table.add_row("rate of A", percent(comparison.rate_a))
    table.add_row("rate of B", percent(comparison.rate_b))
    table.add_row(
        "difference, B − A",
        percent(comparison.difference, signed=True),
        percent_interval(comparison.interval, signed=True),
    )
    table.add_row("McNemar p", f"{comparison.p_value:.4g}")
    reduction = comparison.reduction
    table.add_row(
        "relative failure reduction",
        percent(reduction.value, signed=True),
        percent_interval(reduction.interval, signed=True),
    )
    for name, mean in comparison.metrics.items():
        interval = f"{mean.interval.low:+.4f} … {mean.interval.high:+.4f}" if mean.interval else "–"
        table.add_row(f"{name}: {mean.mean_a:.4f} → {mean.mean_b:.4f}", f"{mean.difference:+.4f}", interval)
    return table


def _footnotes(comparison: Comparison) -> list[str]:
    notes = [
        f"{name}: {text}" for name, text in comparison.methods().items() if name != "metrics" or comparison.metrics
    ]
    if comparison.clusters == "episodes":
        notes.append("There is one task only, so the bootstraps resample episodes and not tasks.")
    if comparison.reduction.value is None:
        notes.append("A failed nowhere, so the relative failure reduction is undefined.")
    elif comparison.reduction.undefined:
        share = percent(comparison.reduction.undefined)
        notes.append(f"A failed nowhere in {share} of the resamples; they are left out.")
    return notes


def _counts(comparison: Comparison) -> str:
    return f"{comparison.both} / {comparison.only_a} / {comparison.only_b} / {comparison.neither}"
