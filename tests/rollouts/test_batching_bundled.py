"""The flow policy shared by workers: bit for bit the records of a worker that holds it itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from thinktwice.envs.fakes import FakeEnv
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.rollouts import RunConfig, open_run, run
from thinktwice.rollouts.config import make_plan
from thinktwice.rollouts.engine import PoolOptions
from thinktwice.rollouts.pool import play_all
from thinktwice.rollouts.schedule import Ended

SMALL = {"chunk_size": 8, "n_action_steps": 4}

type Lines = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def in_the_fake_world(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    """A run of several episodes, and of passes with two observations."""
    words = ["go", "to", "goal", "0", "1", "2", "3"]
    folder = tmp_path_factory.mktemp("checkpoint")
    save_flow(folder, FakeEnv().conventions, **SMALL, vocabulary=words, rotation_start=None)
    # Deliberation asks for all that the policy offers: proposals, more candidates, and its velocity.
    agent = {"gate": "velocity", "threshold": 0.05, "candidates": 4, "execute": 4}
    return RunConfig(
        world="fake",
        out=folder / "alone",
        tasks="0,2",
        episodes=2,
        workers=1,
        report=False,
        agent="attc",
        agent_options={"policy": f"bundled:{folder}?batch=2&device=cpu", **agent},
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [3, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 2))])
def test_the_records_are_those_of_workers_that_hold_the_policy(
    workers: int, in_the_fake_world: RunConfig, lines: Lines, tmp_path: Path
) -> None:
    alone = in_the_fake_world.out
    if not alone.exists():
        run(in_the_fake_world)
    shared = {**vars(in_the_fake_world), "out": tmp_path, "workers": workers, "batching": "on"}
    plan = make_plan(RunConfig(**shared))
    options = PoolOptions(
        world=plan.world,
        agent=plan.config.agent,
        agent_options=plan.config.agent_options,
        folder=tmp_path,
        workers=workers,
        threads=1,
        timeout=300.0,
        build_timeout=300.0,
        max_tries=1,
        shared=plan.shared,
    )
    played: list[Ended] = []
    with closing(play_all(plan.episodes, options)) as events:
        for event in events:
            if isinstance(event, Ended):
                loaded = Path(f"/proc/{event.attempt.worker}/maps").read_text()
                assert "libtorch" not in loaded
                played.append(event)
    assert sorted(event.record.to_line() for event in played if event.record) == lines(alone)
    assert any(event.record.deliberated for event in played if event.record)


@pytest.mark.sim
@pytest.mark.long
def test_libero_plays_the_same_over_a_shared_policy(
    save_flow: Callable[..., Path], lines: Lines, tmp_path: Path
) -> None:
    conventions = libero_conventions(("agentview", "wrist"), height=24, width=24, rendering="fast")
    folder = save_flow(tmp_path / "checkpoint", conventions, **SMALL)
    for name, settings in {"alone": {"workers": 1}, "shared": {"workers": 2, "batching": "on"}}.items():
        summary = run(
            RunConfig(
                world="libero_object",
                out=tmp_path / name,
                tasks="0,3",
                episodes=1,
                report=False,
                world_options={"max_steps": 24},
                agent_options={"policy": f"bundled:{folder}?batch=2&device=cpu"},
                **settings,
            )
        )
        assert summary.overall.judged == 2
    assert lines(tmp_path / "shared") == lines(tmp_path / "alone")
    assert all(record.steps == 24 for record in open_run(tmp_path / "shared").episodes)
