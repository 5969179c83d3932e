"""The checkpoint in the repository: what its card says, and what it accepts."""

from __future__ import annotations

import hashlib
import json
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.agents.policies.bundled import WEIGHTS, build_bundled
from thinktwice.envs.libero.suites import suite_tasks


def test_the_card_names_what_is_stored_and_it_is_small() -> None:
    digest = hashlib.sha256((WEIGHTS / "model.safetensors").read_bytes()).hexdigest()
    assert f"`{digest}`" in (WEIGHTS / "README.md").read_text()
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < 20e6
    assert not [path.name for path in WEIGHTS.iterdir() if path.suffix in {".pt", ".pth", ".pkl", ".bin"}]


@pytest.mark.slow
def test_it_acts_on_the_instruction_of_each_of_the_forty_tasks() -> None:
    policy = build_bundled("", cast("gym.Env[Any, Any]", None))
    assert policy.conventions is not None
    cameras = {camera.name: (camera.height, camera.width, 3) for camera in policy.conventions.cameras}
    config = json.loads((WEIGHTS / "config.json").read_text())
    random = np.random.default_rng(0)
    seen = {f"images.{name}": random.integers(0, 255, shape, np.uint8) for name, shape in cameras.items()}
    seen["state"] = np.array([0, 0, 1, np.pi, 0, 0, 0.04, -0.04], np.float32)
    chunks = []
    for task in suite_tasks("libero"):
        (chunk,) = policy.propose({**seen, "task": task.language}, 1, seed=0).chunks
        assert chunk.shape == (config["chunk_size"], 7)
        assert np.isfinite(chunk).all()
        chunks.append(chunk)
    assert len({chunk.tobytes() for chunk in chunks}) == 40
