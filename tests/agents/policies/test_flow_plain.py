"""A checkpoint that is loaded without LeRobot's policies acts as one that LeRobot loads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from thinktwice.agents.policies.bundled import WEIGHTS, BundledPolicy, build_bundled
from thinktwice.agents.policies.flow.loading import load_flow
from thinktwice.agents.policies.flow.plain import UnusualCheckpointError, load_plain
from thinktwice.envs.libero.conventions import libero_conventions

CONVENTIONS = libero_conventions(("agentview", "wrist"), height=24, width=24, rendering="fast")


@pytest.fixture(scope="module")
def tiny(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_flow(tmp_path_factory.mktemp("tiny"), CONVENTIONS, mean=0.5, deviation=2.0)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    for path in tiny.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def observation(pixels: int) -> dict[str, Any]:
    random = np.random.default_rng(1)
    images = {
        f"images.{name}": random.integers(0, 255, (pixels, pixels, 3), np.uint8) for name in ("agentview", "wrist")
    }
    state = random.normal(size=8).astype(np.float32)
    return {**images, "state": np.where(np.arange(8) == 3, -3, state).astype(np.float32), "task": "turn on the stove"}


@pytest.mark.parametrize("which", ["tiny", "bundled"])
def test_it_is_what_lerobot_loads(which: str, tiny: Path) -> None:
    folder, pixels = (tiny, 24) if which == "tiny" else (WEIGHTS, 96)
    ours, theirs = (
        BundledPolicy(name="it", checkpoint=load(folder, device="cpu"), conventions=CONVENTIONS, steps=None)
        for load in (load_plain, load_flow)
    )
    assert ours.describe() == theirs.describe()
    for n in (1, 2, 16):
        one, other = (policy.propose(observation(pixels), n, seed=5) for policy in (ours, theirs))
        np.testing.assert_array_equal(one.chunks, other.chunks)
        assert set(one.features) == set(other.features)
        for name, feature in one.features.items():
            np.testing.assert_array_equal(feature, other.features[name])
    np.testing.assert_array_equal(
        ours.extend(ours.propose(observation(pixels), 2, seed=5), 4, seed=5).chunks,
        theirs.propose(observation(pixels), 4, seed=5).chunks,
    )


@pytest.mark.slow
def test_nothing_of_lerobots_policies_is_imported() -> None:
    code = (
        "import sys, gymnasium; from thinktwice.agents.catalog import build_policy; "
        "build_policy('bundled', gymnasium.Env()); "
        "print([name for name in ('lerobot.policies', 'lerobot.processor', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def change(path: Path, act: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    act(content)
    path.write_text(json.dumps(content))


def test_an_unusual_checkpoint_is_left_to_lerobot(copy: Path) -> None:
    """An observation that is renamed is no mistake, and nothing that the short way knows."""
    change(
        copy / "policy_preprocessor.json",
        lambda found: found["steps"][0]["config"].update(rename_map={"observation.other": "observation.images.wrist"}),
    )
    with pytest.raises(UnusualCheckpointError, match="renamed"):
        load_plain(copy, device="cpu")
    assert build_bundled(f"{copy}?device=cpu", gym.Env()).propose(observation(24), 1, seed=0).chunks.shape == (1, 16, 7)


@pytest.mark.parametrize(
    ("file", "act"),
    [
        ("config.json", lambda found: found.update(type="act")),
        ("config.json", lambda found: found["normalization_mapping"].update(ACTION="MIN_MAX")),
        ("config.json", lambda found: found.update(head_width=found["head_width"] * 2)),
        ("config.json", lambda found: found["input_features"].pop("observation.state")),
        ("policy_preprocessor.json", lambda found: found["steps"].pop()),
        ("policy_preprocessor.json", lambda found: found["steps"][3]["config"].update(float_dtype="float16")),
        ("policy_postprocessor.json", lambda found: found["steps"][0]["config"]["norm_map"].update(ACTION="MIN_MAX")),
    ],
)
def test_what_it_does_not_know_it_does_not_load(file: str, act: Callable[[Any], Any], copy: Path) -> None:
    change(copy / file, act)
    with pytest.raises(UnusualCheckpointError):
        load_plain(copy, device="cpu")


@pytest.mark.parametrize("stem", ["model", "policy_preprocessor_step_4_normalizer_processor"])
def test_numbers_that_are_not_finite_are_refused(stem: str, copy: Path) -> None:
    path = copy / f"{stem}.safetensors"
    save_file({name: value * float("nan") for name, value in load_file(path).items()}, path)
    with pytest.raises(UnusualCheckpointError, match="not finite"):
        load_plain(copy, device="cpu")


def test_a_device_that_is_not_there_is_refused(tiny: Path) -> None:
    with pytest.raises(UnusualCheckpointError, match="xpu"):
        load_plain(tiny, device="xpu")
