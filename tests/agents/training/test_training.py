from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from thinktwice.agents.training.demonstrations import read_folder
from thinktwice.agents.training.loop import METRICS, POLICY, held_out, read_metrics, train
from thinktwice.agents.training.report import plot_curve, write_card
from thinktwice.agents.training.state import STATE_FILE
from thinktwice.errors import ConfigError, RecordError, UsageError


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / POLICY / "model.safetensors")


@pytest.mark.slow
def test_training_lowers_the_loss_on_held_out_episodes(small, stored: Path, save, invented) -> None:
    for seed in range(4, 16):
        save(stored, invented(seed))
    config = small(steps=80, check_every=20, lr=3e-3)
    train(config)
    checked = [line for line in read_metrics(config.out) if line.validation is not None]
    assert checked[-1].step == 80
    assert checked[-1].validation < checked[0].validation


def test_a_stopped_run_resumes_to_the_same_weights_and_curve(small, tmp_path: Path) -> None:
    whole = small(out=tmp_path / "whole")
    train(whole)

    class Stop(Exception):
        pass

    def stop_at_five(metrics) -> None:
        if metrics.step == 5:
            raise Stop

    broken = small(out=tmp_path / "broken")
    with pytest.raises(Stop):
        train(broken, report=stop_at_five)
    train(dataclasses.replace(broken, resume=True))
    ours, theirs = weights(broken.out), weights(whole.out)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    lines = [
        [dataclasses.replace(line, seconds=0.0) for line in read_metrics(folder)] for folder in (broken.out, whole.out)
    ]
    # The loss of a line is the mean since the last one, and resuming begins a new line.
    assert lines[0] == lines[1]


def test_the_global_generator_is_left_alone(small) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    train(small(steps=1))
    assert torch.rand(1).equal(expected)


def test_a_finished_folder_is_not_written_over(small) -> None:
    train(small(steps=1))
    with pytest.raises(RecordError, match="--resume"):
        train(small(steps=1))


def test_resuming_with_other_settings_or_data_is_refused(small, stored: Path, invented, save) -> None:
    train(small(steps=3))
    with pytest.raises(RecordError, match=r"lr: 0\.001, now 0\.002"):
        train(small(steps=3, lr=0.002, resume=True))
    save(stored, invented(9))
    with pytest.raises(RecordError, match="episodes"):
        train(small(steps=3, resume=True))


def test_resuming_from_nothing_or_from_a_damaged_state_is_refused(small) -> None:
    with pytest.raises(RecordError, match="no training run to resume"):
        train(small(resume=True))
    config = small(steps=3)
    train(config)
    state = config.out / STATE_FILE
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(RecordError, match="damaged"):
        train(dataclasses.replace(config, resume=True))


def test_a_stored_initial_state_is_never_trained_on(small, stored: Path, invented, save) -> None:
    save(stored, invented(9, init_state=7))
    with pytest.raises(UsageError, match="initial state 7 is kept for 'tuning'"):
        train(small())


def test_one_demonstration_is_too_few(invented) -> None:
    with pytest.raises(UsageError, match="at least two"):
        held_out([invented(0)], 0.1)


def test_the_same_episodes_are_held_out_when_more_are_added(invented) -> None:
    many = [invented(seed) for seed in range(40)]
    _, few_held = held_out(many[:20], 0.1)
    kept, held = held_out(many, 0.1)
    assert len(held) == 4
    assert not {d.episode for d in kept} & {d.episode for d in held}
    assert {d.episode.key for d in few_held} & {d.episode.key for d in held}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"data": ()}, "which demonstrations"),
        ({"ema": 1.0}, "ema must be"),
        ({"lr": 0.0}, "lr must be"),
        ({"shift": -1}, "shift must not"),
    ],
)
def test_impossible_settings_are_refused(small, settings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        small(**settings)


@pytest.mark.parametrize("device", ["cuda:7", "tpu", ""])
def test_a_device_that_is_not_there_is_refused(small, device: str) -> None:
    with pytest.raises(ConfigError, match="no device"):
        train(small(device=device))


def test_statistics_are_those_of_the_training_episodes(small, stored: Path) -> None:
    config = small(steps=1)
    train(config)
    kept, _ = held_out(read_folder([stored]), config.validation)
    labels = np.concatenate([demonstration.label for demonstration in kept])
    saved = load_file(next((config.out / POLICY).glob("policy_postprocessor*.safetensors")))
    np.testing.assert_allclose(saved["action.mean"], labels.mean(0), atol=1e-5)
    np.testing.assert_allclose(saved["action.std"], np.maximum(labels.std(0, ddof=1), 0.1), atol=1e-5)


def test_training_can_begin_from_a_checkpoint(small, tmp_path: Path) -> None:
    train(small(steps=1))
    begun = small(out=tmp_path / "second", steps=1, lr=1e-12, weight_decay=0.0, init=tmp_path / "training" / POLICY)
    train(begun)
    before, after = weights(tmp_path / "training"), weights(begun.out)
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)


def test_nothing_on_disk_is_a_pickle(small) -> None:
    config = small(steps=1)
    train(config)
    kinds = {path.suffix for path in config.out.rglob("*") if path.is_file()}
    assert kinds == {".safetensors", ".json", ".jsonl"}


@pytest.mark.slow
def test_curve_and_card_tell_what_happened(small, stored: Path) -> None:
    config = small(steps=3)
    train(config)
    metrics = read_metrics(config.out)
    plot_curve(metrics, config.out / "curve.png")
    assert (config.out / "curve.png").read_bytes().startswith(b"\x89PNG")
    text = write_card(config, read_folder([stored]), metrics, command="thinktwice train policy").read_text()
    assert "4 demonstrations of 1 tasks, 80 frames" in text
    assert "libero_object/0 | 4" in text


def test_a_torn_metrics_line_is_dropped_when_resuming(small) -> None:
    config = small(steps=6)
    train(dataclasses.replace(config, steps=6))
    with (config.out / METRICS).open("a") as file:
        file.write('{"step": 7, "lo')
    train(dataclasses.replace(config, resume=True))
    assert [json.loads(line)["step"] for line in (config.out / METRICS).read_text().splitlines()] == [1, 2, 3, 4, 5, 6]


def test_a_state_of_another_network_is_refused(small) -> None:
    config = small(steps=3)
    train(config)
    path = config.out / STATE_FILE
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        meta = file.metadata()
    tensors = load_file(path)
    tensors.pop("model.network.into.weight")
    save_file(tensors, path, metadata=meta)
    with pytest.raises(RecordError, match="another network"):
        train(dataclasses.replace(config, resume=True))
