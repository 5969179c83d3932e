from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from thinktwice.agents.policies import bundled
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.rollouts import compare, open_run
from thinktwice.rollouts.study.config import check_study
from thinktwice.rollouts.study.doubt import (
    BINS,
    EpisodeDeliberation,
    along_the_episode,
    auroc,
    roc_curve,
    score,
    seconds_by_mode,
)
from thinktwice.scripts import study as command
from thinktwice.scripts.cli import run as call

POLICY = "fake:0.6"
STUDY: dict[str, Any] = {
    "world": "fake",
    "tasks": [0, 2],
    "episodes": 3,
    "seeds": [0, 1],
    "note": "a fake <world>",
    "arms": {
        "reflex": {
            "agent": "attc",
            "options": {"policy": POLICY, "execute": 2, "gate": "dtw", "observe": True},
        },
        "mean": {"agent": "attc", "options": {"policy": POLICY, "execute": 2, "gate": "always", "selector": "mean"}},
    },
}


def write(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({"out": str(path.parent / "study"), **STUDY, **changes}, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study's folder; tests read it and never write it."""
    folder = tmp_path_factory.mktemp("study")
    assert command.main([str(write(folder / "study.yaml"))]) == 0
    return folder / "study"


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.slow
def test_the_table_has_the_form_that_studies_share(played: Path) -> None:
    summary = summary_of(played)
    assert list(summary["arms"]) == ["reflex", "mean"]
    for arm in summary["arms"].values():
        assert arm["episodes"] == 12
        assert arm["rate"] == arm["successes"] / 12
        assert arm["ci95"][0] <= arm["rate"] <= arm["ci95"][1]
        assert set(arm["seconds_per_decision"]) >= {"mean", "p50", "p95"}
        assert {seed: row["episodes"] for seed, row in arm["per_seed"].items()} == {"0": 6, "1": 6}
        assert {task: row["episodes"] for task, row in arm["per_task"].items()} == {"fake/0": 6, "fake/2": 6}
    pair = summary["paired"]["reflex vs mean"]
    assert {"pairs", "rescues", "spoils", "mcnemar_p", "failure_reduction", "ci95"} <= set(pair)
    assert pair["pairs"] == 12
    assert pair["rescues"] - pair["spoils"] == (
        summary["arms"]["mean"]["successes"] - summary["arms"]["reflex"]["successes"]
    )


@pytest.mark.slow
def test_pooled_figures_are_the_sums_of_the_seeds(played: Path) -> None:
    pair = summary_of(played)["paired"]["reflex vs mean"]
    found = [
        compare(open_run(played / "runs" / "reflex" / seed), open_run(played / "runs" / "mean" / seed))
        for seed in ("seed-0", "seed-1")
    ]
    assert pair["rescues"] == sum(each.only_b for each in found)
    assert pair["spoils"] == sum(each.only_a for each in found)
    by_task = pair["by_task"].values()
    assert sum(row["rescues"] for row in by_task) == pair["rescues"]
    assert sum(row["spoils"] for row in by_task) == pair["spoils"]


@pytest.mark.slow
def test_costs_are_per_decision(played: Path) -> None:
    arms = summary_of(played)["arms"]
    assert arms["reflex"]["per_decision"]["candidates"] == 2
    assert arms["mean"]["per_decision"]["candidates"] == 16
    assert (arms["reflex"]["deliberation_rate"], arms["mean"]["deliberation_rate"]) == (0, 1)
    assert arms["reflex"]["nfe"] == 1
    assert {"gate", "sample"} <= set(arms["reflex"]["stages"])


@pytest.mark.slow
def test_doubt_is_judged_where_it_was_measured(played: Path) -> None:
    summary = summary_of(played)
    assert list(summary["deliberation_along_the_episode"]) == ["mean"]
    assert list(summary["foresight"]["failure"]) == ["reflex"]
    assert list(summary["foresight"]["rescue"]) == ["reflex vs mean"]


@pytest.mark.slow
def test_the_page_needs_nothing_else(played: Path) -> None:
    page = (played / "study.html").read_text()
    figures = sorted(path.name for path in played.glob("*.png"))
    assert figures == ["compute.png", "deliberation.png", "gate_roc.png", "rescues.png"]
    assert page.count("data:image/png;base64,") == len(figures)
    assert not re.search(r"(src|href)=.(?!data:)", page)
    assert "a fake &lt;world&gt;" in page
    assert all((played / name).read_bytes().startswith(b"\x89PNG") for name in figures)


@pytest.mark.slow
def test_a_study_that_was_stopped_ends_the_same(played: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "study.yaml")
    shutil.copytree(played, tmp_path / "study")
    shutil.rmtree(tmp_path / "study" / "runs" / "mean" / "seed-1")
    episodes = tmp_path / "study" / "runs" / "mean" / "seed-0" / "episodes.jsonl"
    episodes.write_text("".join(episodes.read_text().splitlines(keepends=True)[:2]))
    assert command.main([str(file), "--no-play"]) == 1
    half = summary_of(tmp_path / "study")
    assert half["unfinished"] == {"mean": "2 of 6 episodes, and 1 seeds not begun"}
    assert half["paired"]["reflex vs mean"]["pairs"] == 2
    assert command.main([str(file)]) == 0
    assert timeless(summary_of(tmp_path / "study")) == timeless(summary_of(played))


def timeless(summary: dict[str, Any]) -> dict[str, Any]:
    arms = {
        name: {
            key: value for key, value in arm.items() if key not in ("seconds_per_decision", "seconds_by_mode", "stages")
        }
        for name, arm in summary["arms"].items()
    }
    return {**summary, "arms": arms, "command": ""}


@pytest.mark.slow
def test_any_agent_is_an_arm(tmp_path: Path) -> None:
    arms = {
        "good": {"agent": "fake", "options": {"skill": 1.0}},
        "plain": {"agent": "reflex", "options": {"policy": "fake:0.2"}, "world_options": {"cap": 20}},
        "broken": {"agent": "reflex", "options": {"policy": "fake:0.2"}, "world_options": {"crash": "0:0"}},
    }
    changes: dict[str, Any] = {"arms": arms, "seeds": [3], "tasks": "0", "pairs": [["plain", "good"]]}
    file = write(tmp_path / "study.yaml", **changes, accept=["world.cap"])
    assert call(["study", str(file)]) == 1, "an episode broke"
    summary = summary_of(tmp_path / "study")
    assert summary["arms"]["good"]["rate"] == 1.0
    assert (summary["arms"]["broken"]["episodes"], summary["arms"]["broken"]["errors"]) == (2, 1)
    assert list(summary["paired"]) == ["plain vs good"]
    assert call(["study", str(file), "--no-play", "--arms", "good", "broken"]) == 1
    assert summary_of(tmp_path / "study")["paired"] == {}
    assert call(["study", str(write(tmp_path / "study.yaml", **changes)), "--no-play"]) == 2, "cap was not accepted"


@pytest.mark.slow
def test_a_control_may_play_some_of_the_seeds(tmp_path: Path) -> None:
    reflex, mean = STUDY["arms"].values()
    file = write(tmp_path / "study.yaml", arms={"reflex": reflex, "mean": {**mean, "seeds": [1]}})
    assert command.main([str(file)]) == 0
    summary = summary_of(tmp_path / "study")
    assert {name: arm["episodes"] for name, arm in summary["arms"].items()} == {"reflex": 12, "mean": 6}
    assert summary["paired"]["reflex vs mean"]["pairs"] == 6
    assert summary["unfinished"] == {}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"arms": {}}, ConfigError, "at least one arm"),
        ({"arms": {"a/b": {"agent": "fake"}}}, ConfigError, "a folder's"),
        ({"arms": {"a": {"agent": "fake", "option": {}}}}, ConfigError, "arms of the study"),
        ({"arms": {"a": {"agent": "fakee"}}}, UsageError, "Did you mean 'fake'"),
        ({"arms": {"a": {"agent": "fake", "options": {"skil": 1.0}}}}, ConfigError, "Did you mean 'skill'"),
        ({"arms": {"a": {"agent": "fake", "seeds": [2]}}}, ConfigError, r"seeds \[0, 1\], not \[2\]"),
        ({"seeds": []}, ConfigError, "one or more"),
        ({"seeds": [1, 1]}, ConfigError, "different"),
        ({"pairs": [["reflex", "meen"]]}, ConfigError, "Did you mean 'mean'"),
        ({"episode": 3}, ConfigError, "Did you mean 'episodes'"),
        ({"tasks": "9"}, UsageError, "no task 9"),
        ({"world": "fak"}, UsageError, "fak"),
    ],
)
def test_mistakes_are_found_before_anything_is_played(
    changes: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        command.main([str(write(tmp_path / "study.yaml", **changes))])
    assert not (tmp_path / "study" / "runs").exists()


def test_a_study_says_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False))
    with pytest.raises(ConfigError, match="does not say 'out'"):
        command.main([str(tmp_path / "study.yaml")])
    with pytest.raises(RecordError, match="nothing was played of the arm 'reflex'"):
        command.main([str(tmp_path / "study.yaml"), "--out", str(tmp_path / "study"), "--no-play"])
    with pytest.raises(UsageError, match="no arm 'men'"):
        command.main([str(tmp_path / "study.yaml"), "--out", str(tmp_path / "study"), "--arms", "men"])


def test_the_area_is_the_curves_and_the_chance_of_the_right_order() -> None:
    random = np.random.default_rng(0)
    scores, labels = np.round(random.normal(size=80), 1), random.random(80) < 0.3
    area, (low, high) = auroc(scores, labels)
    higher = scores[labels][:, None] - scores[~labels][None]
    assert area == pytest.approx(((higher > 0) + 0.5 * (higher == 0)).mean())
    false, true = np.array(roc_curve(scores, labels)).T
    assert np.trapezoid(true, false) == pytest.approx(area)
    assert (false[-1], true[-1]) == (1, 1)
    assert low < area < high


def test_the_intervals_of_the_area_cover_it() -> None:
    random, covered = np.random.default_rng(2), 0
    truth = 0.760250  # P(N(1, 1) > N(0, 1))
    for _ in range(300):
        labels = np.arange(100) < 40
        _, (low, high) = auroc(random.normal(size=100) + labels, labels)
        covered += low <= truth <= high
    assert covered / 300 > 0.9


def episode(doubts: Any, *, deliberated: Any = None, solved: bool = True) -> EpisodeDeliberation:
    values = np.array(doubts, float)
    chosen = np.zeros(len(values), bool) if deliberated is None else np.array(deliberated)
    seconds = np.where(chosen, 3.0, 1.0)
    return EpisodeDeliberation(
        key=f"{values.tolist()}", solved=solved, doubts=values, deliberated=chosen, seconds=seconds
    )


def test_what_a_closed_gate_costs_is_told_apart() -> None:
    found = seconds_by_mode([episode([1.0, 2.0], deliberated=[False, True]), episode([0.0])])
    assert (found["reflex"]["mean"], found["reflex"]["count"]) == (1.0, 2)
    assert (found["deliberate"]["p95"], found["deliberate"]["count"]) == (3.0, 1)
    assert "deliberate" not in seconds_by_mode([episode([0.0])])


def test_scores_do_not_grow_with_the_length_of_an_episode() -> None:
    scores = score([episode([1.0, 3.0]), episode([1.0, 3.0] * 5), episode([np.nan] * 3)])
    assert scores is not None
    assert (scores.window, len(scores.keys)) == (2, 2)
    np.testing.assert_array_equal(scores.whole, [2, 2])
    np.testing.assert_array_equal(scores.early, [2, 2])
    assert score([episode([0.0, 0.0])]) is None, "a gate that never looked"


def test_deliberation_is_counted_by_its_place() -> None:
    late = [False] * 15 + [True] * 5
    shares = along_the_episode([episode(range(20), deliberated=late), episode(range(20), deliberated=[False] * 20)])
    assert shares == [0.0] * 7 + [0.25] + [0.5] * 2
    assert len(shares) == BINS
    assert along_the_episode([episode([1.0], deliberated=[True])]).count(None) == BINS - 1


@pytest.mark.parametrize("name", ["fake", "attc"])
def test_the_studies_in_the_documentation_can_be_played(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A plan reads of the bundled checkpoint how it was trained.
    conventions = libero_conventions(("agentview", "wrist"), height=96, width=96, rendering="fast")
    (tmp_path / "config.json").write_text(json.dumps({"conventions": conventions.to_json(), "n_action_steps": 8}))
    monkeypatch.setattr(bundled, "WEIGHTS", tmp_path)
    file = Path(__file__).parents[2] / "docs" / "studies" / f"{name}.yaml"
    config = command.read_study(command.StudyOptions(file=file, out=tmp_path / "study"))
    check_study(config)
    assert {arm for pair in config.compared() for arm in pair} == set(config.arms)
