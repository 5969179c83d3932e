from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinktwice.agents.attc import (
    AttcOptions,
    ChunkMetric,
    Clutch,
    MeasureSettings,
    build_attc,
    load_clutch,
    policy_fingerprint,
)
from thinktwice.agents.catalog import build_policy
from thinktwice.agents.policies.bundled import build_bundled
from thinktwice.errors import ConfigError, WeightsError


def clutch_for(policy: Any, **changes: Any) -> Clutch:
    given: dict[str, Any] = {
        "measure": MeasureSettings(
            name="dtw", metric=ChunkMetric(weights=(2.0,) * 6 + (0.5,), execute=8), gripper_weight=0.25
        ),
        "threshold": 1.25,
        "policy": policy_fingerprint(policy.describe()),
        "target": {"percentile": 80},
        "rate": 0.2,
        "episodes": 10,
        "decisions": 100,
    }
    return Clutch(**(given | changes))


def save(clutch: Clutch, path: Path) -> Path:
    path.write_text(json.dumps(clutch.to_json()))
    return path


def options(checkpoint: Path, clutch: Path, **changes: Any) -> AttcOptions:
    spec = f"bundled:{checkpoint}?device=cpu"
    return AttcOptions(**({"policy": spec, "execute": 8, "clutch": clutch} | changes))


@pytest.fixture
def stored(checkpoint: Path, libero_look: Any, tmp_path: Path) -> Path:
    return save(clutch_for(build_bundled(f"{checkpoint}?device=cpu", libero_look)), tmp_path / "clutch.json")


def test_it_reads_what_it_wrote(stored: Path) -> None:
    clutch = load_clutch(stored)
    assert clutch == Clutch.from_json(json.dumps(clutch.to_json()))
    assert (clutch.threshold, clutch.measure.metric.execute) == (1.25, 8)


def test_the_agent_takes_gate_weights_and_threshold_from_it(stored: Path, checkpoint: Path, libero_look: Any) -> None:
    described = build_attc(options(checkpoint, stored), libero_look).describe()
    assert described["gate"]["name"] == "dtw"
    assert described["gate"]["threshold"] == 1.25
    assert described["gate"]["metric"]["weights"][0] == 2.0
    assert described["gate"]["clutch"] == "clutch.json"


def test_another_checkpoint_is_refused(stored: Path, other_checkpoint: Path, libero_look: Any) -> None:
    with pytest.raises(ConfigError, match=r"calibrated on another policy \(sha256: .* there, .* now\)"):
        build_attc(options(other_checkpoint, stored), libero_look)


def test_another_number_of_euler_steps_is_refused(stored: Path, checkpoint: Path, libero_look: Any) -> None:
    with pytest.raises(ConfigError, match="denoising_steps: 10 there, 3 now"):
        build_attc(options(checkpoint, stored, policy=f"bundled:{checkpoint}?device=cpu&steps=3"), libero_look)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"execute": 4}, "execute 8 actions, not 4"),
        ({"execute": None}, "not all"),
        ({"gate": "temporal"}, "measures 'dtw', not --gate temporal"),
        ({"threshold": 2.0}, "its own threshold"),
        ({"observe": True}, "its own threshold"),
        ({"gate": "never"}, "looks at nothing"),
    ],
)
def test_options_that_contradict_it(
    changes: dict[str, Any], words: str, stored: Path, checkpoint: Path, libero_look: Any
) -> None:
    with pytest.raises(ConfigError, match=words):
        build_attc(options(checkpoint, stored, **changes), libero_look)


def test_a_clutch_of_another_world_is_refused(checkpoint: Path, libero_look: Any, tmp_path: Path) -> None:
    policy = build_bundled(f"{checkpoint}?device=cpu", libero_look)
    measure = MeasureSettings(name="dtw", metric=ChunkMetric(weights=(1.0,) * 2, execute=8), gripper_weight=0.25)
    path = save(clutch_for(policy, measure=measure), tmp_path / "clutch.json")
    with pytest.raises(ConfigError, match="2 entries, the world's have 7"):
        build_attc(options(checkpoint, path), libero_look)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.pop("policy"), "policy"),
        (lambda data: data.update(format=2), "format is 2"),
        (lambda data: data.update(threshold="high"), "threshold"),
        (lambda data: data.update(threshold=float("nan")), "threshold is nan"),
        (lambda data: data.update(more=1), "more"),
        (lambda data: data["measure"].update(name="dwt"), "no gate 'dwt'"),
        (lambda data: data["measure"]["metric"].update(weights=[-1.0]), "weights must be"),
    ],
)
def test_a_damaged_file_is_refused(change: Any, words: str, stored: Path) -> None:
    data = json.loads(stored.read_text())
    change(data)
    stored.write_text(json.dumps(data))
    with pytest.raises(WeightsError, match=words):
        load_clutch(stored)


@pytest.mark.parametrize("content", ["", "[]", "{", "3"])
def test_a_file_that_is_no_clutch_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "clutch.json"
    path.write_text(content)
    with pytest.raises(WeightsError, match="damaged"):
        load_clutch(path)


def test_a_policy_without_weights_is_known_by_all_it_says(env: Any) -> None:
    clutch = clutch_for(build_policy("fake:0.5", env))
    clutch.check_policy(build_policy("fake:0.5", env).describe(), source="clutch.json")
    with pytest.raises(ConfigError, match="skill"):
        clutch.check_policy(build_policy("fake:0.7", env).describe(), source="clutch.json")
