"""The command itself, in a process of its own, with rollouts that ask it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thinktwice.errors import UsageError
from thinktwice.rollouts import RunConfig, run
from thinktwice.scripts import cli, serve


@contextlib.contextmanager
def command(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """The address that it prints, and the lines that it printed; all of them after the block."""
    lines: list[str] = []
    # A shell lets what it starts in the background ignore Ctrl-C, and the tests may be started so.
    heedful = ["env", "--default-signal=INT", sys.executable]
    process = subprocess.Popen(
        [*heedful, "-m", "thinktwice", "serve", *arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("try "):
                break
        listening = [re.search(r"ws://\S+", line) for line in lines if line.startswith("listening")]
        assert listening, lines
        assert listening[0]
        yield listening[0][0], lines
        process.send_signal(signal.SIGINT)
        lines += [line.rstrip() for line in process.communicate(timeout=60)[0].splitlines()]
        assert process.returncode == 0, lines
    finally:
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()


def records(out: Path, policy: str, *, workers: int) -> list[str]:
    options = {"world": "fake", "tasks": "0,2", "episodes": 2, "seed": 4, "report": False}
    run(RunConfig(out=out, workers=workers, agent_options={"policy": policy}, **options))
    return sorted((out / "episodes.jsonl").read_text().splitlines())


@pytest.mark.slow
def test_a_run_at_a_server_gives_the_records_of_one_in_process(tmp_path: Path) -> None:
    wanted = records(tmp_path / "local", "fake:0.5", workers=1)
    with command("--world", "fake", "--policy", "fake:0.5") as (url, lines):
        assert records(tmp_path / "served", f"openpi:{url}", workers=2) == wanted
    assert "warming up: fake starts for a first observation" in lines
    assert "expects   images.front  uint8[32, 32, 3], RGB, upright" in lines
    assert "answers   actions  float32[T, 2]: velocity 2 (0.05 m, delta, world frame)" in lines
    assert "rate      20 actions per second" in lines
    sessions = [line for line in lines if line.startswith("session ")]
    # One that asked what the server wants to see, and one for each worker.
    assert len(sessions) == 3
    assert sum(int(line.split("  ")[2].split()[0]) for line in sessions) == sum(
        int(re.search(r'"decisions": (\d+)', line)[1]) for line in wanted
    )
    assert lines[-1] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0", "--world", "fake", "--policy", "random"], "--token-file"),
        (["--world", "fakes"], "Did you mean 'fake'"),
        (["--world", "fake", "--agent", "reflexx"], "Did you mean 'reflex'"),
        (["--world", "fake", "--policy", "fakke"], "Did you mean 'fake'"),
        (["--world", "fake"], "needs a policy"),
        (["--world", "fake", "--policy", "random", "--token-file", "/nowhere/token"], "cannot be read"),
        (
            ["--world", "fake", "--policy", "random", "--port", "65536"],
            "from 1 to 65535, or 0 for a free one, got 65536",
        ),
        (["--world", "libero_object", "--policy", "expert"], "expert is privileged"),
        (["--world", "fake", "--policy", "openpi:ws://127.0.0.1:1"], "no policy server answers"),
        (["--world", "fake", "--policy", "openpi:ws://127.0.0.1:65536"], "must be from 1 to 65535, got"),
        (["--world", "fake", "--policy", "openpi:ws://127.0.0.1:PORT"], "must be from 1 to 65535, got"),
        (["--world", "fake", "--policy", "random", "--keys", "openpi-libero"], "cannot act in fake"),
    ],
)
def test_what_cannot_be_served_is_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_agents_and_worlds_bring_their_options() -> None:
    arguments = ["--world=libero_goal", "--agent", "attc", "--policy", "random", "--gate", "always", "--height", "64"]
    args, world_options, agent_options = serve.parse([*arguments, "--no-warmup"])
    assert (args.world, args.agent, args.warmup, args.port) == ("libero_goal", "attc", False, 8000)
    assert (world_options.height, agent_options.gate) == (64, "always")


def test_the_help_shows_the_options_of_the_named_world_and_agent(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["serve", "--world", "fake", "--agent", "attc", "--help"])
    shown = capsys.readouterr().out
    for words in ("server options", "world-fake options", "agent-attc options", "--warmup, --no-warmup", "--stay "):
        assert words in shown


def test_a_server_is_not_served_again(hosted: Callable[..., Any], serving: Callable[..., Any]) -> None:
    with serving(hosted()) as server, pytest.raises(UsageError, match="on a server already"):
        serve.build_host(*serve.parse(["--world", "fake", "--policy", f"openpi:{server.url}"]))
