"""Critics learn what there is to learn, resume to the same weights, and refuse what they cannot learn from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from thinktwice.agents.pairs.contract import LabelOptions
from thinktwice.agents.pairs.expert import WAYS
from thinktwice.agents.pairs.labelling import label
from thinktwice.agents.pairs.pairset import read_pairs
from thinktwice.agents.pairs.tables import write_tables
from thinktwice.agents.pairs.training import loop
from thinktwice.agents.pairs.training.building import held_out
from thinktwice.agents.pairs.training.config import CriticTrainConfig
from thinktwice.agents.pairs.training.loop import CRITIC, METRICS, CriticMetrics, read_metrics, train_critic
from thinktwice.critics import load_critic
from thinktwice.critics.checkpoint import WEIGHTS
from thinktwice.errors import ConfigError, RecordError, UsageError, WeightsError
from thinktwice.scripts import train
from thinktwice.scripts.train_critic import parse

RECIPE = Path(train.__file__).parents[1] / "critics" / "rac.yaml"

type Small = Callable[..., CriticTrainConfig]


def weights(out: Path) -> bytes:
    return (out / CRITIC / WEIGHTS).read_bytes()


def curve(out: Path) -> list[tuple[Any, ...]]:
    return [(line.step, line.loss, line.validation, line.accuracy) for line in read_metrics(out)]


@pytest.mark.slow
def test_critics_learn_what_is_written_in_the_features(
    small: Small, tmp_path: Path, store: Callable[..., Path], decisions: Callable[..., Any]
) -> None:
    """And the action-only control cannot, because it does not see them."""
    folder = store(tmp_path / "many", *(decisions(seed, 40, task="ab"[seed % 2]) for seed in range(20)))
    label(folder, LabelOptions(), provenance={})
    settings: dict[str, Any] = {"steps": 150, "check_every": 75, "batch": 128, "lr": 5e-3, "warmup": 20, "ema": 0.9}
    settings |= {"data": (folder,), "feature_noise": 0.0, "dropout": 0.0}
    relative, scalar, regression, blind = (
        train_critic(small(kind=kind, out=tmp_path / kind, **settings))
        for kind in ("relative", "scalar", "regression", "action-only")
    )
    for sees in (relative, scalar, regression):
        assert sees.accuracy > 0.8
        assert sees.own_pairs == sees.pairs
        assert sees.regret is not None
        assert sees.regret.critic < 0.5 * sees.regret.random
        assert sees.antisymmetry_error < 1e-6
    assert scalar.cycle_rate == regression.cycle_rate == 0
    # What is nearer to the middle is right more often, so that even this one learns something.
    assert blind.accuracy < 0.75
    assert json.loads((tmp_path / "scalar" / "evaluation.json").read_text())["accuracy"] == scalar.accuracy


def test_a_critic_starts_from_another_of_the_same_sizes(small: Small, tmp_path: Path) -> None:
    first = small(out=tmp_path / "first")
    train_critic(first)
    again = {"init": first.out / CRITIC, "steps": 1, "warmup": 1}
    train_critic(small(out=tmp_path / "second", lr=1e-9, **again))
    before, after = (load_file(tmp_path / name / CRITIC / WEIGHTS) for name in ("first", "second"))
    for name, value in before.items():
        assert torch.allclose(value, after[name], atol=1e-6), name
    with pytest.raises(UsageError, match=r"cannot be started from: it has kind 'relative' instead of 'scalar'"):
        train_critic(small(out=tmp_path / "third", kind="scalar", **again))
    with pytest.raises(WeightsError, match="there is no critic"):
        train_critic(small(out=tmp_path / "fourth", init=tmp_path / "nowhere"))


def test_the_expert_is_predicted_unless_that_weighs_nothing(small: Small, tmp_path: Path) -> None:
    train_critic(small(out=tmp_path / "with"))
    train_critic(small(out=tmp_path / "without", reference_weight=0.0))
    predicting, plain = (load_critic(tmp_path / name / CRITIC, "a" * 64) for name in ("with", "without"))
    assert predicting.spec.reference
    assert not plain.spec.reference
    assert plain.network.reference is None


def test_a_regression_critic_needs_an_expert(small: Small, tmp_path: Path, store: Any, decisions: Any) -> None:
    some = [decisions(seed, task="ab"[seed % 2]) for seed in range(4)]
    short = [dataclasses.replace(states, facts={WAYS: states.facts[WAYS][:, :, :2].copy()}) for states in some]
    folder = store(tmp_path / "short", *short)
    label(folder, LabelOptions(label_horizon=2), provenance={})
    with pytest.raises(UsageError, match="no decision of these pairs has 3 actions of one"):
        train_critic(small(data=(folder,), kind="regression", horizon=3))


def test_equal_settings_give_equal_weights_and_another_seed_others(small: Small, tmp_path: Path) -> None:
    state = torch.random.get_rng_state()
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        train_critic(small(out=tmp_path / name, seed=seed))
    assert weights(tmp_path / "one") == weights(tmp_path / "two") != weights(tmp_path / "three")
    assert curve(tmp_path / "one") == curve(tmp_path / "two")
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, 6])
def test_a_stopped_run_continues_to_the_same_weights(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    train_critic(small(out=tmp_path / "whole"))

    class Stop(Exception):
        pass

    step = loop._Training._step

    def stopped(self: Any, number: int) -> float:
        if number == stop:
            raise Stop
        return step(self, number)

    config = small()
    with monkeypatch.context() as patched:
        patched.setattr(loop._Training, "_step", stopped)
        with pytest.raises(Stop):
            train_critic(config)
    with pytest.raises(RecordError, match="Continue it with --resume"):
        train_critic(config)
    train_critic(small(resume=True))
    assert weights(config.out) == weights(tmp_path / "whole")
    assert curve(config.out) == curve(tmp_path / "whole")
    state = "state.safetensors"
    for name, value in load_file(tmp_path / "whole" / state).items():
        assert torch.equal(load_file(config.out / state)[name], value), name


def test_only_the_same_run_is_continued(small: Small, tmp_path: Path) -> None:
    train_critic(small())
    for changed in ({"lr": 1e-4}, {"kind": "scalar"}, {"gamma": 1.0}):
        with pytest.raises(RecordError, match=f"{next(iter(changed))}: "):
            train_critic(small(resume=True, **changed))
    label(tmp_path / "made up", LabelOptions(tie=0.3), provenance={})
    with pytest.raises(RecordError, match="pairs: "):
        train_critic(small(resume=True))
    with pytest.raises(RecordError, match="no training run to resume"):
        train_critic(small(resume=True, out=tmp_path / "new"))


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([0.6, 0.5, 0.7, 0.7, 0.6, 0.4])
    kept: list[int] = []
    save = loop._Training._save

    def noted(self: Any, line: CriticMetrics, *, best: bool) -> None:
        save(self, line, best=best)
        kept.extend([line.step] if best else [])

    monkeypatch.setattr(loop._Training, "_validate", lambda _: (next(given), 0.5))
    monkeypatch.setattr(loop._Training, "_save", noted)
    config = small(steps=100, check_every=2, patience=2)
    train_critic(config)
    assert read_metrics(config.out)[-1].step == 8
    assert kept == [2, 4]
    training = load_critic(config.out / CRITIC, "a" * 64).binding.training
    assert (training["step"], training["validation"]) == (4, 0.5)


def test_held_out_episodes_share_nothing_with_the_others(learnable: Path) -> None:
    pairs = read_pairs([learnable])
    kept, held = held_out(pairs, 0.25)
    episodes = [{pairs.states[pairs.state[index]].episode for index in part} for part in (kept, held)]
    assert not episodes[0] & episodes[1]
    assert len(episodes[1]) == 2
    assert len(kept) + len(held) == len(pairs)


def test_mixed_precision_trains_and_the_result_is_float32(small: Small) -> None:
    config = small(precision="bfloat16")
    train_critic(config)
    critic = load_critic(config.out / CRITIC, "a" * 64)
    assert {parameter.dtype for parameter in critic.network.parameters()} == {torch.float32}


def test_a_single_task_is_refused_unless_it_is_meant(
    small: Small, tmp_path: Path, store: Callable[..., Path], decisions: Callable[..., Any]
) -> None:
    folder = store(tmp_path / "one task", *(decisions(seed) for seed in range(3)))
    label(folder, LabelOptions(), provenance={})
    with pytest.raises(UsageError, match="--single-task"):
        train_critic(small(data=(folder,)))
    train_critic(small(data=(folder,), single_task=True))


def test_pairs_that_nothing_can_be_learned_from(
    small: Small, tmp_path: Path, store: Callable[..., Path], decisions: Callable[..., Any], learnable: Path
) -> None:
    lone = store(tmp_path / "lone", decisions(1))
    label(lone, LabelOptions(), provenance={})
    with pytest.raises(UsageError, match="at least two episodes"):
        train_critic(small(data=(lone,), single_task=True))
    with pytest.raises(UsageError, match="no pair set"):
        train_critic(small(data=(tmp_path / "nowhere",)))
    write_tables(learnable, [], [], np.zeros(0, np.float32))
    with pytest.raises(UsageError, match="is empty"):
        train_critic(small())
    assert not (small().out / METRICS).exists()


def test_the_critic_belongs_to_the_policy_of_its_pairs(small: Small) -> None:
    config = small()
    train_critic(config)
    assert load_critic(config.out / CRITIC, "a" * 64).describe()["policy"] == "bundled"
    with pytest.raises(WeightsError, match="one checkpoint"):
        load_critic(config.out / CRITIC, "b" * 64)


def test_training_that_diverges_says_so(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "focal_loss", lambda logits, *_, **__: logits.sum() * torch.nan)
    with pytest.raises(WeightsError, match="Lower --lr"):
        train_critic(small())


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"batch": 0},
        {"patience": -1},
        {"gamma": float("nan")},
        {"lr": 0.0},
        {"ema": 1.0},
        {"validation": 0.0},
        {"data": ()},
        {"horizon": 9},
        {"device": "abacus"},
    ],
)
def test_settings_that_make_no_sense(small: Small, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        train_critic(small(**wrong))


def test_the_recipe_in_the_repository_is_valid() -> None:
    config = parse(["--config", str(RECIPE), "--steps", "7"])
    assert (config.kind, config.steps, config.gamma) == ("relative", 7, 2.0)


@pytest.mark.slow
def test_the_command_writes_plots_and_a_card(
    small: Small, learnable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "by command"
    given = ["--data", str(learnable), "--out", str(out), "--steps", "4", "--check-every", "2", "--width", "16"]
    assert train.main(["critic", *given, "--layers", "1", "--device", "cpu", "--heads", "2"]) == 0
    assert {"curve.png", "calibration.png", "evaluation.json", CRITIC} <= {path.name for path in out.iterdir()}
    card = (out / CRITIC / "README.md").read_text()
    assert load_critic(out / CRITIC, "a" * 64).binding.sha256 in card
    assert "thinktwice train critic" in card
    assert "accuracy, policy against policy" in card
    assert "regret against the best of N" in capsys.readouterr().out
