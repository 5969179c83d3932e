"""A published checkpoint: half the bytes, the same policy within float16."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from thinktwice.agents.policies.flow.loading import load_flow
from thinktwice.agents.training.demonstrations import read_folder
from thinktwice.agents.training.loop import train
from thinktwice.agents.training.publish import publish
from thinktwice.agents.training.report import CARD, write_card
from thinktwice.errors import UsageError, WeightsError

WEIGHTS = "model.safetensors"


@pytest.fixture
def checkpoint(small, tmp_path: Path) -> Path:
    config = small(out=tmp_path / "run", steps=4)
    folder = train(config)
    write_card(config, read_folder(config.data), [], command="thinktwice train policy")
    return folder


def test_it_is_half_as_large_and_within_float16_of_the_same(checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "weights" / "flow"
    out.mkdir(parents=True)
    (out / "old").touch()
    assert publish(checkpoint, out) == out
    assert not (out / "old").exists()
    assert (out / WEIGHTS).stat().st_size < 0.6 * (checkpoint / WEIGHTS).stat().st_size
    before, after = (load_flow(folder, device="cpu").policy.state_dict() for folder in (checkpoint, out))
    for name, value in before.items():
        assert after[name].dtype == value.dtype
        torch.testing.assert_close(after[name], value, rtol=1e-3, atol=1e-7)
    assert load_flow(publish(checkpoint, out, steps=3), device="cpu").policy.config.denoising_steps == 3
    digest = hashlib.sha256((out / WEIGHTS).read_bytes()).hexdigest()
    assert f"sha256 `{digest}`, float16 of `" in (out / CARD).read_text()


def test_a_weight_beyond_float16_is_refused_and_what_was_there_is_kept(checkpoint: Path, tmp_path: Path) -> None:
    out = publish(checkpoint, tmp_path / "flow")
    kept = (out / WEIGHTS).read_bytes()
    weights = load_file(checkpoint / WEIGHTS)
    next(value for value in weights.values() if value.is_floating_point()).view(-1)[0] = 1e6
    save_file(weights, checkpoint / WEIGHTS)
    with pytest.raises(WeightsError, match="finite"):
        publish(checkpoint, out)
    assert (out / WEIGHTS).read_bytes() == kept
    with pytest.raises(UsageError, match="itself"):
        publish(out, out)
    with pytest.raises(UsageError, match="at least 1, got 0"):
        publish(checkpoint, out, steps=0)
