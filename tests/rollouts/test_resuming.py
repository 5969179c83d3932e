"""A run that is killed at any moment continues to the identical table, and nothing is ever written over."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from thinktwice.errors import ConfigError, RecordError
from thinktwice.rollouts import EpisodeRecord, RunConfig, open_run, run
from thinktwice.rollouts.records import read_lines
from thinktwice.rollouts.writing import claim, differences

type Config = Callable[..., RunConfig]
type Lines = Callable[[Path], list[str]]

ARGUMENTS = [
    "fake",
    "--agent",
    "fake",
    "--skill",
    "0.55",
    "--tasks",
    "0,2",
    "--episodes",
    "4",
    "--slow",
    "all",
    "--no-report",
]


def drive(out: Path, *more: str) -> subprocess.Popen[bytes]:
    # A shell lets what it starts in the background ignore Ctrl-C, and the tests may be started so.
    heedful = ["env", "--default-signal=INT", sys.executable]
    command = [*heedful, "-m", "thinktwice", "rollout", *ARGUMENTS, "--out", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def recorded(out: Path) -> int:
    file = out / "episodes.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def kill(driver: subprocess.Popen[bytes]) -> None:
    workers = children_of(driver.pid)
    driver.kill()
    driver.communicate()
    assert wait_until(lambda: all(is_gone(worker) for worker in workers), 20.0), "a worker outlived its driver"


def finish(out: Path, delay: str) -> None:
    driver = drive(out, "--delay", delay, "--resume")
    shown = driver.communicate(timeout=120)[0].decode()
    assert driver.returncode == 0, shown


@pytest.mark.slow
def test_a_killed_driver_leaves_a_run_that_continues(reference: Path, lines: Lines, tmp_path: Path) -> None:
    out = tmp_path / "run"
    driver = drive(out, "--delay", "0.2", "--workers", "2")
    assert wait_until(lambda: recorded(out) >= 3)
    kill(driver)
    found = open_run(out)
    assert 3 <= len(found.episodes) < 8
    assert not found.finished
    before = lines(out)
    finish(out, "0.2")
    assert lines(out) == lines(reference)
    assert set(before) <= set(lines(out))


@pytest.mark.slow
def test_ten_kills_at_random_moments_change_nothing(reference: Path, lines: Lines, tmp_path: Path) -> None:
    out, moments = tmp_path / "run", random.Random(3)
    for index in range(10):
        driver = drive(out, "--delay", "0.3", *(["--resume"] if out.exists() else []))
        # From the very start over the building of workers to the middle of writing.
        time.sleep(moments.uniform(0.0, 2.5) if index % 2 else 0.0)
        if not index % 2:
            done = recorded(out)
            wait_until(lambda done=done, driver=driver: recorded(out) > done or driver.poll() is not None, 30.0)
            time.sleep(moments.uniform(0.0, 0.3))
        kill(driver) if driver.poll() is None else driver.communicate()
    finish(out, "0.3")
    assert lines(out) == lines(reference)
    assert len(list((out / "traces").glob("*.npz"))) == 8
    assert not list(out.glob("**/.partial-*"))


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_says_how_to_continue(tmp_path: Path) -> None:
    out = tmp_path / "run"
    driver = drive(out, "--delay", "0.5")
    assert wait_until(lambda: recorded(out) >= 1)
    workers = children_of(driver.pid)
    driver.send_signal(signal.SIGINT)
    shown = driver.communicate(timeout=30)[0].decode()
    assert driver.returncode == 130
    assert f"thinktwice rollout --resume --out {out}" in shown
    assert "Traceback" not in shown
    assert all(is_gone(worker) for worker in workers)
    assert 1 <= len(open_run(out).episodes) < 8


@contextmanager
def copied(reference: Path, to: Path) -> Iterator[Path]:
    subprocess.run(["cp", "-r", str(reference), str(to)], check=True)
    yield to


@pytest.fixture
def finished(reference: Path, tmp_path: Path) -> Iterator[Path]:
    with copied(reference, tmp_path / "copy") as out:
        yield out


@pytest.mark.slow
def test_a_torn_last_line_is_dropped_with_a_notice_and_played_again(
    finished: Path, reference: Path, config: Config, lines: Lines
) -> None:
    for name in ("episodes.jsonl", "attempts.jsonl"):
        content = (finished / name).read_bytes()
        (finished / name).write_bytes(content[:-20])
    found = open_run(finished)
    assert len(found.episodes) == 7
    assert len(found.notices) == 2
    assert "torn last line" in found.notices[0]
    summary = run(config(finished, resume=True))
    assert summary.finished
    assert lines(finished) == lines(reference)
    assert not open_run(finished).notices


def test_a_line_torn_at_every_byte_is_never_misread(finished: Path, lines: Lines) -> None:
    file = finished / "episodes.jsonl"
    whole = file.read_bytes()
    complete = whole.rstrip(b"\n").rfind(b"\n") + 1
    kept = sorted(whole[:complete].decode().splitlines())
    for cut in range(complete + 1, len(whole)):
        file.write_bytes(whole[:cut])
        records, notice = read_lines(file, EpisodeRecord.from_line)
        assert sorted(record.to_line() for record in records) == kept
        assert notice is not None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [lines[0][:50], *lines[1:]], "line 1 is damaged"),
        (lambda lines: [lines[0], "", *lines[1:]], "line 2 is damaged"),
        (lambda lines: [*lines[:2], lines[2].replace('"steps": ', '"steps": "x'), *lines[3:]], "line 3 is damaged"),
        (lambda lines: [lines[0].replace('"init_state": 0', '"init_state": 1'), *lines[1:]], "line 1 is damaged"),
        (lambda lines: [lines[0].replace('"status": "', '"status": "un'), *lines[1:]], "line 1 is damaged"),
        (lambda lines: [*lines, lines[1]], "line 9: .* recorded twice"),
        (lambda lines: [*lines, "\x00" * 30], "line 9 is damaged"),
    ],
)
def test_any_other_damage_is_an_error_that_names_the_line(
    damage: Callable[[list[str]], list[str]], message: str, finished: Path, config: Config
) -> None:
    file = finished / "episodes.jsonl"
    file.write_text("\n".join(damage(file.read_text().splitlines())) + "\n")
    with pytest.raises(RecordError, match=message):
        open_run(finished)
    before = file.read_bytes()
    with pytest.raises(RecordError, match=message):
        run(config(finished, resume=True))
    assert file.read_bytes() == before


def test_a_finished_run_is_never_written_over(finished: Path, config: Config) -> None:
    before = (finished / "episodes.jsonl").read_bytes()
    with pytest.raises(RecordError, match="--resume, or give another --out"):
        run(config(finished))
    assert (finished / "episodes.jsonl").read_bytes() == before


def test_resuming_a_finished_run_only_shows_it(finished: Path, config: Config) -> None:
    attempts = (finished / "attempts.jsonl").read_bytes()
    assert run(config(finished, resume=True)).overall.played == 8
    assert (finished / "attempts.jsonl").read_bytes() == attempts


@pytest.mark.slow
def test_errors_are_played_again_when_that_is_asked_for(
    reference: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    out, faults = tmp_path / "run", {"crash": "0:1,2:3", "once": str(tmp_path)}
    assert run(config(out, world_options=faults)).overall.errors == 2
    assert run(config(out, world_options=faults, resume=True)).overall.errors == 2
    assert run(config(out, world_options=faults, resume=True, retry_errors=True)).overall.errors == 0
    assert lines(out) == lines(reference)
    endings = [attempt.ending for attempt in open_run(out).attempts]
    assert (endings.count("exception"), endings.count("finished")) == (2, 8)


def test_a_new_run_has_no_errors_to_play_again(config: Config, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--retry-errors \(retry_errors\) needs --resume"):
        run(config(tmp_path / "run", retry_errors=True))


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"seed": 1}, "config.seed: 0, 1"),
        ({"tasks": "0"}, "config.tasks"),
        ({"threads": 2}, "config.threads: 1, 2"),
        ({"agent_options": {"skill": 0.6}}, "config.agent_options.skill: 0.55, 0.6"),
        ({"world_options": {"cap": 41}}, "world.cap: 40, 41"),
    ],
)
def test_a_run_is_not_resumed_into_something_else(
    settings: dict[str, object], difference: str, finished: Path, config: Config
) -> None:
    with pytest.raises(RecordError, match=difference):
        run(config(finished, resume=True, **settings))


def test_operational_settings_may_change_on_resume(finished: Path, config: Config) -> None:
    changed = config(finished, resume=True, workers=3, timeout=5.0, max_tries=1, build_timeout=5.0)
    assert run(changed).finished


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", 99, "run format 99; this thinktwice reads format 1"),
        ("format", None, "run format None"),
        ("thinktwice", "0.0.1", "thinktwice: '0.0.1'"),
    ],
)
def test_a_folder_of_another_version_is_refused(
    field: str, value: object, message: str, finished: Path, config: Config
) -> None:
    manifest = yaml.safe_load((finished / "run.yaml").read_text())
    manifest[field] = value
    (finished / "run.yaml").write_text(yaml.safe_dump(manifest))
    with pytest.raises(RecordError, match=message):
        run(config(finished, resume=True))


def test_another_agent_under_the_same_options_is_noticed_when_a_worker_is_ready(finished: Path, config: Config) -> None:
    """Such as weights that changed under their path."""
    manifest = yaml.safe_load((finished / "run.yaml").read_text())
    manifest["agent"]["policy"]["skill"] = 0.9
    (finished / "run.yaml").write_text(yaml.safe_dump(manifest))
    lines = (finished / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (finished / "episodes.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(RecordError, match=r"agent.policy.skill: 0.9, 0.55"):
        run(config(finished, resume=True))
    assert len((finished / "episodes.jsonl").read_bytes().splitlines()) == 7


@pytest.mark.parametrize("content", ["", "- a list\n", "format: [1\n", "format: 1\n"])
def test_a_damaged_manifest_is_an_error(content: str, finished: Path) -> None:
    (finished / "run.yaml").write_text(content)
    with pytest.raises(RecordError, match=r"run\.yaml|run format"):
        open_run(finished)


def test_two_drivers_cannot_write_one_run(finished: Path, config: Config) -> None:
    with claim(finished, resume=True), pytest.raises(RecordError, match="another process is writing"):
        run(config(finished, resume=True))
    assert run(config(finished, resume=True)).finished


def test_there_must_be_something_to_resume(config: Config, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no run to resume"):
        run(config(tmp_path / "nothing", resume=True))
    assert not (tmp_path / "nothing").exists()


def test_a_folder_with_something_else_in_it_is_refused(config: Config, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RecordError, match=r"thesis\.tex"):
        run(config(tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_is_an_error_before_anything_starts(config: Config, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot be written"):
        run(config(tmp_path / "file" / "run"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_an_error(config: Config, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RecordError, match="cannot be written"):
            run(config(tmp_path / "run"))
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_the_rest_continues_later(
    reference: Path, config: Config, lines: Lines, tmp_path: Path
) -> None:
    """A limit on file sizes stands for the full disk: the write comes back short and then fails."""
    out = tmp_path / "run"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(RecordError, match="cannot be written"):
            run(config(out))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    assert len(open_run(out).episodes) < 8
    run(config(out, resume=True))
    assert lines(out) == lines(reference)


def test_differences_name_every_leaf() -> None:
    there = {"a": {"b": 1, "c": [1, 2]}, "d": "x"}
    now = {"a": {"b": 2, "c": [1, 2]}, "e": None, "d": "x"}
    assert differences(there, now) == ["a.b: 1, 2"]
    assert differences({"a": [0] * 100}, {"a": [0] * 99 + [1]}) == ["a[99]: 0, 1"]
