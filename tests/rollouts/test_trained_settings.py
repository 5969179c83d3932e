"""What a run takes from the policy's checkpoint where its options leave it open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinktwice.agents.policies import bundled
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.errors import WeightsError
from thinktwice.rollouts import RunConfig
from thinktwice.rollouts.config import make_plan


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The part of a checkpoint that a plan reads."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    conventions = libero_conventions(("wrist",), height=96, width=80, rendering="fast")
    (folder / "config.json").write_text(json.dumps({"conventions": conventions.to_json(), "n_action_steps": 5}))
    return folder


def plan(tmp_path: Path, world: str = "libero_object", **options: object) -> dict[str, dict[str, object]]:
    """Agent and world options of a plan, as they are recorded."""
    world_options = options.pop("world_options", None)
    config = RunConfig(
        world=world, out=tmp_path / "run", episodes=1, agent_options=options, world_options=world_options
    )
    recorded = make_plan(config).recorded_config()
    return {"agent": recorded["agent_options"], "world": recorded["world_options"]}


def test_the_world_shows_what_the_policy_was_trained_to_see(tmp_path: Path, checkpoint: Path) -> None:
    settled = plan(tmp_path, policy=f"bundled:{checkpoint}")
    assert settled["agent"] == {"policy": f"bundled:{checkpoint}", "execute": 5}
    view = {name: settled["world"][name] for name in ("rendering", "cameras", "height", "width")}
    assert view == {"rendering": "fast", "cameras": ["wrist"], "height": 96, "width": 80}


def test_what_is_given_is_kept(tmp_path: Path, checkpoint: Path) -> None:
    settled = plan(tmp_path, policy=f"bundled:{checkpoint}", execute=3, world_options={"rendering": "faithful"})
    assert settled["agent"]["execute"] == 3
    assert (settled["world"]["rendering"], settled["world"]["height"]) == ("faithful", 96)


def test_a_policy_that_does_not_say_leaves_the_worlds_own_pictures(tmp_path: Path) -> None:
    settled = plan(tmp_path, policy="expert")
    assert settled["agent"] == {"policy": "expert", "execute": None}
    assert (settled["world"]["rendering"], settled["world"]["width"]) == ("faithful", 256)


def test_without_a_name_the_bundled_policy_acts_in_libero_alone(
    tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "WEIGHTS", checkpoint)
    assert plan(tmp_path)["agent"]["policy"] == "bundled"
    assert plan(tmp_path, world="fake")["agent"]["policy"] is None


def test_a_missing_checkpoint_is_found_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"no policy checkpoint in .*elsewhere"):
        plan(tmp_path, policy=f"bundled:{tmp_path / 'elsewhere'}")
    assert not (tmp_path / "run").exists()
