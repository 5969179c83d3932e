"""Workers that share a policy beside workers that each hold it: episodes per hour, decisions per second and memory.

``python -m benchmarks batching``; ``WORKERS=1,2,4 EPISODES=8 STEPS=80 BATCH=4`` are the defaults, ``DEVICE=cuda`` puts
the policy on a GPU, ``WORLD=fake`` tries it without a simulator (with a fake policy).  The same episodes of
libero_object with the bundled policy, or the checkpoint that ``POLICY=FOLDER`` names.
First the policy alone: proposals per second by observations in a pass.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym

from thinktwice.agents.policies.bundled import build_bundled
from thinktwice.agents.policy import Look
from thinktwice.rollouts import RunConfig, open_run, run
from thinktwice.rollouts.progress import Progress

from .machine import machine, resident_mib, write
from .proposing import observation

WORLD = os.environ.get("WORLD", "libero_object")
WORKERS = [int(number) for number in os.environ.get("WORKERS", "1,2,4").split(",")]
EPISODES, STEPS = int(os.environ.get("EPISODES", "8")), int(os.environ.get("STEPS", "80"))
BATCH = int(os.environ.get("BATCH", "4"))
REPEATS = 20


class Clock(Progress):
    """Seconds from the first worker that is ready to the last episode, and from the beginning."""

    def __init__(self) -> None:
        self.began = self.ready = time.monotonic()

    def playing(self) -> None:
        """The first worker has built its world and its agent."""
        self.ready = time.monotonic()


@contextlib.contextmanager
def peak_memory() -> Generator[dict[str, float]]:
    """The most that this process's children held together while the context lasted, MiB."""
    peak, done = {"mib": 0.0}, threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            total = 0.0
            for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
                with contextlib.suppress(OSError):
                    total += resident_mib(int(child))
            peak["mib"] = max(peak["mib"], total)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def arm(spec: str, out: Path, *, workers: int, batching: Literal["on", "off"]) -> dict[str, Any]:
    """One run."""
    clock = Clock()
    options = {"cap": STEPS} if WORLD == "fake" else {"max_steps": STEPS, "rendering": "fast"}
    config = RunConfig(
        world=WORLD,
        out=out,
        tasks="0",
        episodes=EPISODES,
        workers=workers,
        batching=batching,
        report=False,
        world_options=options,
        agent_options={"policy": spec},
    )
    with peak_memory() as peak:
        summary = run(config, progress=clock)
    ended = time.monotonic()
    latency = {stage: round(1e3 * value.p50, 1) for stage, value in summary.latency.items()}
    playing, whole = ended - clock.ready, ended - clock.began
    return {
        "workers": workers,
        "batching": batching,
        "policy": open_run(out).config["agent_options"]["policy"].rpartition("/")[2],
        "errors": summary.overall.errors,
        "decisions": summary.overall.decisions,
        "decisions_per_second": round(summary.overall.decisions / playing, 2),
        "episodes_per_hour": round(3600 * EPISODES / whole, 1),
        "seconds_to_first_ready": round(clock.ready - clock.began, 1),
        "peak_resident_mib": round(peak["mib"]),
        "median_ms": latency,
    }


def alone(folder: str) -> dict[int, float]:
    """Proposals per second of the policy by observations in a pass."""
    rates: dict[int, float] = {}
    for batch in (1, 2, 4, 8, 16):
        policy = build_bundled(f"{folder}?batch={batch}&device={os.environ.get('DEVICE', 'cpu')}", gym.Env())
        looks = [Look(observation=observation(), n=1, seed=seed) for seed in range(batch)]
        spent: list[float] = []
        for _ in range(REPEATS + 3):
            began = time.perf_counter()
            policy.propose_many(looks)
            spent.append(time.perf_counter() - began)
        rates[batch] = round(batch / statistics.median(spent[3:]), 1)
        sys.stdout.write(f"policy alone, {batch:>2} observations in a pass {rates[batch]:>8.1f} proposals/s\n")
    return rates


def main() -> None:
    """Measure and write the table."""
    described = machine()
    with tempfile.TemporaryDirectory() as name:
        folder = os.environ.get("POLICY", "")
        device = f"device={os.environ['DEVICE']}" if "DEVICE" in os.environ else ""
        rates = {} if WORLD == "fake" else alone(folder)
        rows: list[dict[str, Any]] = []
        for workers in WORKERS:
            for batching in ("off", "on"):
                options = [device, *([f"batch={BATCH}"] if batching == "on" else [])]
                query = "&".join(option for option in options if option)
                spec = "fake:0.1" if WORLD == "fake" else f"bundled:{folder}" + (f"?{query}" if query else "")
                row = arm(spec, Path(name) / f"{workers}-{batching}", workers=workers, batching=batching)
                rows.append(row)
                sys.stdout.write(
                    f"{workers} workers, {batching:<3} {row['decisions_per_second']:>8.2f} decisions/s "
                    f"{row['episodes_per_hour']:>8.1f} episodes/h {row['peak_resident_mib']:>7} MiB\n"
                )
    settings = {"world": WORLD, "episodes": EPISODES, "steps": STEPS, "batch": BATCH}
    path = write("batching", {"machine": described, "settings": settings, "policy_alone": rates, "rows": rows})
    sys.stdout.write(f"Wrote {path}\n")


if __name__ == "__main__":
    main()
