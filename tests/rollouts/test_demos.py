from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from thinktwice.agents.demonstrator import DRIVER, LABEL, DemonstratorOptions, build_demonstrator, disturbance_scale
from thinktwice.agents.training.demonstrations import read_folder
from thinktwice.envs.fakes import FakeEnv, FakeOptions
from thinktwice.envs.libero.conventions import ACTION
from thinktwice.errors import ConfigError, RecordError, UsageError
from thinktwice.rollouts import RunConfig, run
from thinktwice.rollouts.demos import FRAMES, PROVENANCE, RUN, DemoOptions, collect, render
from thinktwice.rollouts.lerobot_export import export
from thinktwice.rollouts.records import open_run

EXPERT = DemonstratorOptions(expert="fake:1", perturb=0.5)


def options(out: Path, **settings) -> DemoOptions:
    return DemoOptions(out=out, **({"tasks": "0,2", "episodes": 3} | settings))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Demonstrations of the fake world; tests read them and never write them."""
    out = tmp_path_factory.mktemp("demos") / "fake"
    collect("fake", options(out), EXPERT)
    return out


@pytest.mark.slow
def test_labels_are_the_experts_and_executed_ones_are_disturbed(collected: Path) -> None:
    demonstrations = read_folder([collected / FRAMES])
    assert len(demonstrations) == 6
    disturbed = 0
    for demonstration in demonstrations:
        point, goal = demonstration.state[:, :2], demonstration.state[:, 2:]
        towards = goal - point
        # The label is right at the state that was reached, whatever led there.
        cosine = (demonstration.label * towards).sum(1) / (
            np.linalg.norm(demonstration.label, axis=1) * np.linalg.norm(towards, axis=1)
        )
        assert cosine.min() > 0.99
        moved = np.diff(point, axis=0) / 0.05
        np.testing.assert_allclose(moved, demonstration.executed[:-1], atol=1e-4)
        disturbed += int((demonstration.executed != demonstration.label).any(axis=1).sum())
    assert disturbed > 10


@pytest.mark.slow
def test_placements_are_fresh_and_frames_belong_to_their_states(collected: Path) -> None:
    demonstrations = read_folder([collected / FRAMES])
    assert all(demonstration.episode.init_state is None for demonstration in demonstrations)
    assert len({demonstration.state[0].tobytes() for demonstration in demonstrations}) == 6
    for demonstration in demonstrations:
        red = (demonstration.images["front"][:, :, :, 0] == 200).nonzero()
        columns = np.array([red[2][red[0] == step].mean() for step in range(len(demonstration))])
        # The fake world paints the point as three columns of its 32.
        expected = (demonstration.state[:, 0] + 1) / 2 * 29 + 1
        assert np.abs(columns - expected).max() <= 1


@pytest.mark.slow
def test_provenance_counts_everything(tmp_path: Path) -> None:
    """A weak expert under a short cap fails at times: failures are counted and not kept."""
    out = tmp_path / "weak"
    world = "fake"
    weak = DemonstratorOptions(expert="fake:0.3", perturb=0.0)
    result = collect(world, options(out, episodes=8), weak)
    told = json.loads((out / PROVENANCE).read_text())
    assert result.failures > 0
    assert (told["kept"], told["failures"], told["errors"]) == (result.kept, result.failures, 0)
    assert result.kept + result.failures == 16
    assert sum(counts["success"] for counts in told["tasks"].values()) == result.kept
    assert len(list((out / FRAMES).iterdir())) == result.kept
    assert told["run"]["config"]["agent_options"]["expert"] == "fake:0.3"


@pytest.mark.slow
def test_a_stopped_collection_continues_to_the_same_frames(collected: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        collect("fake", options(out), EXPERT, rendered=stop)
    (out / FRAMES / ".partial-1-x.safetensors").write_bytes(b"half")
    with pytest.raises(RecordError, match="resume"):
        collect("fake", options(out), EXPERT)
    collect("fake", options(out, resume=True), EXPERT)
    names = sorted(path.name for path in (out / FRAMES).iterdir())
    assert names == sorted(path.name for path in (collected / FRAMES).iterdir())
    for name in names:
        assert (out / FRAMES / name).read_bytes() == (collected / FRAMES / name).read_bytes()


@pytest.mark.slow
def test_rendering_processes_end_with_their_parent() -> None:
    """A killed parent must leave no simulator behind."""
    code = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from thinktwice.envs.fakes import FakeOptions, open_fake
from thinktwice.rollouts import demos
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    given = (open_fake("fake", FakeOptions()),)
    with ProcessPoolExecutor(1, mp_context=context, initializer=demos._open_world, initargs=given) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(600):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"process {child} outlived its parent")


@pytest.mark.slow
def test_two_workers_keep_the_same_frames(collected: Path, tmp_path: Path) -> None:
    collect("fake", options(tmp_path / "two", workers=2), EXPERT)
    for path in (collected / FRAMES).iterdir():
        assert (tmp_path / "two" / FRAMES / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_a_run_of_another_agent_has_no_labels(tmp_path: Path) -> None:
    from thinktwice.envs.fakes import open_fake

    given = FakeOptions(init_states="fresh")
    reflex = {"agent": "reflex", "agent_options": {"policy": "fake:1"}}
    run(RunConfig(out=tmp_path / "run", world="fake", tasks="0", episodes=1, world_options=given, **reflex))
    played = open_run(tmp_path / "run")
    with pytest.raises(RecordError, match="step has no label"):
        render(played, open_fake("fake", given), tmp_path / "frames", workers=1)


@pytest.mark.slow
def test_an_expert_that_solves_nothing_is_an_error(tmp_path: Path) -> None:
    lost = DemonstratorOptions(expert="fake:0", perturb=0.0)
    with pytest.raises(UsageError, match="solved none of 1 attempts"):
        collect("fake", options(tmp_path / "lost", tasks="0", episodes=1), lost)


def test_a_world_that_only_has_stored_states_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thinktwice.rollouts import demos

    monkeypatch.setattr(demos, "fresh_options", lambda world, **options: {})
    with pytest.raises(UsageError, match="demonstrations may use fresh placements"):
        collect("fake", options(tmp_path / "stored"), EXPERT)
    assert not (tmp_path / "stored" / RUN).exists()


@pytest.mark.slow
def test_lerobot_loads_the_data_set(collected: Path) -> None:
    from lerobot.datasets import LeRobotDataset

    root = export(collected)
    dataset = LeRobotDataset("thinktwice/fake", root=root)
    demonstrations = read_folder([collected / FRAMES])
    assert dataset.num_episodes == 6
    assert len(dataset) == sum(len(demonstration) for demonstration in demonstrations)
    item, first = dataset[0], demonstrations[0]
    assert item["task"] == first.instruction
    np.testing.assert_allclose(item["action"].numpy(), first.label[0])
    np.testing.assert_allclose(item["executed_action"].numpy(), first.executed[0])
    shown = item["observation.images.front"].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(shown, first.images["front"][0] / 255, atol=1e-6)
    with pytest.raises(RecordError, match="never written over"):
        export(collected)


class TestDemonstrator:
    def play(self, seed: int, given: DemonstratorOptions, steps: int = 120):
        env = FakeEnv(FakeOptions(cap=1000, stay=True))
        agent = build_demonstrator(given, env)
        seen, _ = env.reset(seed=0)
        agent.reset(seed=seed)
        decisions = []
        for _ in range(steps):
            decisions.append(agent.act(seen))
            seen, *_ = env.step(decisions[-1].chunk[0])
        return decisions

    def test_without_perturbation_every_action_is_the_label(self) -> None:
        for decision in self.play(0, DemonstratorOptions(expert="fake:1", perturb=0.0)):
            np.testing.assert_array_equal(decision.chunk[0], decision.notes[LABEL])

    def test_disturbances_are_held_and_end(self) -> None:
        decisions = self.play(1, EXPERT)
        drivers = [decision.notes[DRIVER] for decision in decisions]
        assert set(drivers) == {"expert", "noise"}
        assert 0.1 < drivers.count("noise") / len(drivers) < 0.5
        for decision in decisions:
            same = np.array_equal(decision.chunk[0], decision.notes[LABEL])
            assert same == (decision.notes[DRIVER] == "expert")

    def test_the_seed_decides_the_disturbances(self) -> None:
        first, again, other = (self.play(seed, EXPERT) for seed in (1, 1, 2))
        assert all(np.array_equal(a.chunk, b.chunk) for a, b in zip(first, again, strict=True))
        assert not all(np.array_equal(a.chunk, b.chunk) for a, b in zip(first, other, strict=True))

    def test_a_learner_drives_and_the_expert_labels(self) -> None:
        decisions = self.play(3, DemonstratorOptions(expert="fake:1", learner="fake:0", beta=0.0, perturb=0.0))
        driven = [decision for decision in decisions if decision.notes[DRIVER] == "learner"]
        assert len(driven) > 20
        assert not any(np.array_equal(decision.chunk[0], decision.notes[LABEL]) for decision in driven)
        assert all(decision.cost.candidates >= 1 for decision in decisions)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (DemonstratorOptions(expert="fake:1", perturb=-0.1), "perturb must be 0 or more"),
            (DemonstratorOptions(expert="fake:1", perturb=float("nan")), "perturb must be 0 or more"),
            (DemonstratorOptions(expert="fake:1", learner="fake:0", beta=1.5), "beta must be"),
        ],
    )
    def test_impossible_options(self, given: DemonstratorOptions, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            build_demonstrator(given, FakeEnv())

    def test_the_gripper_is_never_disturbed(self) -> None:
        scale = disturbance_scale(ACTION, 0.5)
        assert (scale[:3] == 0.5).all()
        assert (scale[3:6] < 0.5).all()
        assert scale[6] == 0
