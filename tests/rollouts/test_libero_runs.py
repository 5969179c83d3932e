"""With the real simulator: an episode is the same in a fresh process as after another one."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from thinktwice.rollouts import RunConfig, open_run, run


@pytest.mark.sim
def test_a_resumed_libero_run_ends_in_the_identical_table(lines: Callable[[Path], list[str]], tmp_path: Path) -> None:
    whole = RunConfig(
        world="libero_object",
        out=tmp_path / "whole",
        tasks="0",
        episodes=2,
        workers=1,
        agent_options={"policy": "expert"},
        world_options={"cameras": []},
        report=False,
    )
    summary = run(whole)
    assert (summary.overall.judged, summary.overall.errors) == (2, 0)
    # The second episode followed the first in one process; now it is played alone in a new one.
    part = tmp_path / "part"
    shutil.copytree(tmp_path / "whole", part)
    first, _ = (part / "episodes.jsonl").read_text().splitlines(keepends=True)
    (part / "episodes.jsonl").write_text(first)
    run(dataclasses.replace(whole, out=part, resume=True))
    assert lines(part) == lines(tmp_path / "whole")
    assert len({attempt.worker for attempt in open_run(part).attempts}) == 2
