"""Runs of the fake world, kept small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinktwice.rollouts import RunConfig, Summary, run

type FakeRun = Callable[..., Summary]


def fake_config(out: Path, **settings: Any) -> RunConfig:
    given = {"world": "fake", "tasks": "0,2", "episodes": 4, "agent": "fake", "report": False}
    given["agent_options"] = {"skill": 0.55}
    return RunConfig(out=out, **(given | settings))


def lines_of(folder: Path) -> list[str]:
    """The finished episodes' lines, whatever order they ended in."""
    return sorted((folder / "episodes.jsonl").read_text().splitlines())


@pytest.fixture
def config() -> Callable[..., RunConfig]:
    return fake_config


@pytest.fixture
def lines() -> Callable[[Path], list[str]]:
    return lines_of


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run by one worker; tests read it and never write it."""
    out = tmp_path_factory.mktemp("reference") / "run"
    run(fake_config(out))
    return out
