"""The same records from a Ray cluster, also when a node of it is lost."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from thinktwice.errors import ConfigError, ConventionError, MissingDependency, UsageError
from thinktwice.rollouts import RunConfig, open_run, run
from thinktwice.rollouts.config import make_plan
from thinktwice.rollouts.engine import PoolOptions, load_engine
from thinktwice.rollouts.engines.cluster import connected
from thinktwice.rollouts.schedule import Ended

type Config = Callable[..., RunConfig]
type Lines = Callable[[Path], list[str]]

REFLEX = {"agent": "reflex", "agent_options": {"policy": "fake:0.55"}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of three nodes, each with processes of its own: a head that plays nothing, and two of two CPUs."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 100 * 2**20, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            found.add_node(num_cpus=2, **small)
        yield found
    finally:
        found.shutdown()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by one process of this machine."""
    out = tmp_path_factory.mktemp("alone") / "run"
    run(RunConfig(world="fake", out=out, tasks="0,2", episodes=4, workers=1, report=False, **REFLEX))
    return out


def traces(folder: Path) -> dict[str, str]:
    """The traces that can be read, by what they say was executed."""
    found = open_run(folder)
    return {record.key: found.trace(record.key).digest() for record in found.episodes}


@pytest.mark.slow
def test_a_cluster_makes_the_same_records(
    cluster: Any, alone: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    """With the policy in an actor of its own, which dies once; the attempt that asked it is none the worse."""
    dies = {"agent": "reflex", "agent_options": {"policy": f"fake:0.55?kill=5&once={tmp_path / 'died'}"}}
    settings = {"engine": "ray", "address": cluster.address, "batching": "on"}
    summary = run(config(tmp_path / "run", workers=3, **settings, **dies))
    assert (tmp_path / "died").exists()
    assert summary.overall.errors == 0
    assert lines(tmp_path / "run") == lines(alone)
    assert traces(tmp_path / "run") == traces(alone)
    endings = Counter(attempt.ending for attempt in open_run(tmp_path / "run").attempts)
    assert endings["finished"] == 8


@pytest.mark.long
def test_an_error_of_the_call_stops_the_run(cluster: Any, config: Config, tmp_path: Path) -> None:
    settings = {"engine": "ray", "address": cluster.address, "workers": 1}
    with pytest.raises(ConventionError, match="wheel"):
        run(config(tmp_path / "run", agent="reflex", agent_options={"policy": "fake:foreign"}, **settings))
    assert not (tmp_path / "run" / "run.yaml").exists()


@pytest.mark.slow
def test_a_node_that_is_lost_loses_no_episode(
    cluster: Any, alone: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    """Its workers die while they play; their episodes are played again on what is left of the cluster."""
    slow = {"slow": "all", "delay": 1.5}
    plan = make_plan(config(tmp_path, engine="ray", address=cluster.address, workers=4, world_options=slow, **REFLEX))
    options = PoolOptions(
        world=plan.world,
        agent=plan.config.agent,
        agent_options=plan.config.agent_options,
        folder=tmp_path,
        workers=4,
        threads=1,
        timeout=120.0,
        build_timeout=120.0,
        max_tries=3,
        address=cluster.address,
    )
    ended: list[Ended] = []
    with closing(load_engine("ray")(plan.episodes, options)) as events:
        for event in events:
            if isinstance(event, Ended):
                if not ended:
                    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
                ended.append(event)
    records = [event.record for event in ended if event.record is not None]
    assert sorted(record.to_line() for record in records) == lines(alone)
    lost = [event.attempt for event in ended if event.attempt.ending == "died"]
    assert lost
    assert "the worker actor was lost" in str(lost[0].error)
    assert len(ended) == len(plan.episodes) + len(lost)
    assert {path.stem for path in (tmp_path / "traces").glob("*.npz")} == {record.key for record in records}


def test_without_ray_the_command_that_installs_it_is_named(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"\.\[ray\]"):
        run(config(tmp_path / "run", engine="ray", workers=1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "ray", "workers": 0}, "--engine ray needs --workers N"),
        ({"address": "auto", "workers": 1}, "--address auto .* --engine is local. Add --engine ray"),
    ],
)
def test_what_the_engine_is_not_told_is_asked_for(
    settings: dict[str, Any], message: str, config: Config, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        make_plan(config(tmp_path, **settings))


@pytest.mark.slow
def test_an_address_where_nothing_listens_is_a_mistake_in_the_call() -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")
    with pytest.raises(UsageError, match=r"no Ray cluster at 127\.0\.0\.1:9"), connected("127.0.0.1:9"):
        pass
