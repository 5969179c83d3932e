"""The time of one training step of the flow-matching policy at its recipe's sizes, on invented demonstrations.

``THREADS=2`` and ``DEVICE=cuda`` choose where.  The time does not depend on what the pictures show.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from thinktwice.agents.training.config import TrainConfig
from thinktwice.agents.training.demonstrations import SUFFIX, Demonstration, write_demonstration
from thinktwice.agents.training.loop import read_metrics, train
from thinktwice.envs import EpisodeId
from thinktwice.envs.libero.conventions import libero_conventions

from .machine import machine, write

DEMONSTRATIONS, FRAMES, PIXELS = 8, 120, 96
WARM, MEASURED = 5, 25
RECIPE_STEPS = 20_000
"""Of ``agents/training/policy.yaml``."""


def invent(seed: int) -> Demonstration:
    """A demonstration of noise."""
    random = np.random.default_rng(seed)
    cameras = ("agentview", "wrist")
    label = random.uniform(-1, 1, (FRAMES, 7)).astype(np.float32)
    return Demonstration(
        episode=EpisodeId(world="thinktwice/Libero-v0", task="libero_object/0", init_state=None, seed=seed),
        instruction="pick up the milk and place it in the basket",
        conventions=libero_conventions(cameras, height=PIXELS, width=PIXELS, rendering="fast"),
        images={name: random.integers(0, 255, (FRAMES, PIXELS, PIXELS, 3), np.uint8) for name in cameras},
        state=random.normal(size=(FRAMES, 8)).astype(np.float32),
        label=label,
        executed=label,
    )


def main() -> None:
    """Measure and write."""
    device, threads = os.environ.get("DEVICE", "cpu"), int(os.environ.get("THREADS", os.cpu_count() or 1))
    before = machine()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(DEMONSTRATIONS):
            demonstration = invent(seed)
            with (Path(folder) / f"{demonstration.episode.key}{SUFFIX}").open("wb") as file:
                write_demonstration(file, demonstration)
        config = TrainConfig(
            data=(Path(folder),),
            out=Path(folder) / "training",
            steps=WARM + MEASURED,
            check_every=WARM + MEASURED + 1,
            log_every=1,
            device=device,
            threads=threads,
        )
        train(config)
        # The last step is followed by a validation and a checkpoint, which its line includes.
        seconds = [line.seconds for line in read_metrics(config.out)][WARM:-1]
    median = float(np.median(seconds))
    results = {
        "machine": before,
        "device": device,
        "threads": threads,
        "batch": config.batch,
        "noise_samples": config.noise_samples,
        "seconds_per_step": {"median": round(median, 3), "p95": round(float(np.percentile(seconds, 95)), 3)},
        "recipe_minutes": round(median * RECIPE_STEPS / 60, 1),
    }
    path = write("policy_training", results)
    sys.stdout.write(
        f"{median:.3f} s per step of {config.batch} frames with {threads} threads on {device}: "
        f"{results['recipe_minutes']} minutes for {RECIPE_STEPS} steps. Wrote {path}\n"
    )


if __name__ == "__main__":
    main()
