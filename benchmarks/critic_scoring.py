"""The time of a critic: all pairs of 16 candidates in one call, and one training step.

Critics have random weights (time does not depend on them) and read features of the bundled policy's sizes, or 64 tokens
of width 2048 as a pooled π0.5 would expose; on one CPU thread or on ``DEVICE=cuda``.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thinktwice.critics import Binding, CriticContext, CriticSpec, Feature, LearnedCritic
from thinktwice.critics.inputs import TRAITS
from thinktwice.critics.losses import focal_loss, reference_loss
from thinktwice.critics.network import CriticInputs, CriticNetwork
from thinktwice.critics.spec import KINDS

from .machine import machine, write

REPEATS, CANDIDATES, BATCH = 30, 16, 256
CHUNK, HORIZON, ACTION, STATE = 16, 8, 7, 8
FEATURES = {
    "bundled": (
        Feature(name="summary", kind="vector", shape=(384,)),
        Feature(name="tokens", kind="tokens", shape=(64, 34)),
        Feature(name="language", kind="vector", shape=(128,)),
        Feature(name="state", kind="vector", shape=(8,)),
    ),
    "64 tokens of 2048": (Feature(name="tokens", kind="tokens", shape=(64, 2048)),),
}


def milliseconds(action: Callable[[], Any]) -> float:
    """The median."""
    for _ in range(3):
        action()
    spent: list[float] = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        action()
        spent.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(spent), 2)


def judging(critic: LearnedCritic) -> Callable[[], Any]:
    """One decision: every unordered pair of the candidates."""
    random = np.random.default_rng(0)
    chunks = list(random.normal(size=(CANDIDATES, CHUNK, ACTION)).astype(np.float32))
    features = {feature.name: random.normal(size=feature.shape).astype(np.float32) for feature in critic.spec.features}
    context = CriticContext(features=features, candidates=chunks, committed=chunks[0][HORIZON:])
    pairs = [(chunks[i], chunks[j]) for i in range(CANDIDATES) for j in range(i + 1, CANDIDATES)]
    seen = {"state": np.zeros(STATE, np.float32)}
    return lambda: critic.prefer(seen, pairs, context)


def training(network: CriticNetwork, device: str) -> Callable[[], Any]:
    """One step of the optimiser on random pairs."""
    spec = network.spec
    optimizer = torch.optim.AdamW(network.parameters())
    inputs = CriticInputs(
        chunks=torch.randn(BATCH, 2, CHUNK, ACTION, device=device),
        traits=torch.randn(BATCH, 2, len(TRAITS), device=device),
        crowd=torch.randn(BATCH, 2, spec.horizon, ACTION, device=device),
        crowded=torch.ones(BATCH, 1, device=device),
        tail=torch.randn(BATCH, spec.horizon, ACTION, device=device),
        known=torch.ones(BATCH, spec.horizon, device=device),
        state=torch.randn(BATCH, STATE, device=device),
        features=[torch.randn(BATCH, *feature.shape, device=device) for feature in spec.attends],
        masks=[None for _ in spec.attends],
        pairs=torch.tensor([[[0, 1]]], device=device).expand(BATCH, -1, -1),
    )

    def step() -> None:
        logits, predicted = network.read(inputs)
        loss = focal_loss(logits[:, 0], torch.ones(BATCH, device=device), gamma=2.0)
        if predicted is not None:
            loss = loss + reference_loss(predicted, torch.zeros_like(predicted), torch.ones(BATCH, device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def main() -> None:
    """Measure and print one line per critic."""
    device = os.environ.get("DEVICE", "cpu")
    torch.set_num_threads(1)
    results: list[dict[str, Any]] = []
    for name, features in FEATURES.items():
        for kind in KINDS:
            spec = CriticSpec(
                kind=kind,
                chunk=CHUNK,
                action=ACTION,
                state=STATE,
                features=features,
                horizon=HORIZON,
                reference=kind in ("relative", "scalar"),
            )
            network = CriticNetwork(spec).to(device)
            critic = LearnedCritic(network.eval(), Binding(policy_sha256=None, policy="none"))
            judged = milliseconds(judging(critic))
            stepped = milliseconds(training(network.train(), device))
            row = {"features": name, "kind": kind, "ms_judging": judged, "ms_training_step": stepped}
            sys.stdout.write(f"{row}\n")
            results.append({**row, "parameters": critic.describe()["parameters"]})
    setting = {"candidates": CANDIDATES, "batch": BATCH, "device": device, "threads": 1}
    write("critic_scoring", {"machine": machine(), "setting": setting, "results": results})
